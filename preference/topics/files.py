"""Where a tagging run writes; the topics are stored with the dialogues afterwards."""

from pathlib import Path

from preference.registry.files import models_root
from preference.topics.models import TaggingRun


def folder_of_tagging(run: TaggingRun) -> Path:
    return models_root() / "tagging" / str(run.pk)
