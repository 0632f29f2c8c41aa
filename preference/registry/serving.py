"""Where a generation worker finds a trained model."""

from pathlib import Path

from generation.models import Generator
from preference.registry.files import folder_of_model
from preference.registry.models import RegisteredModel


def folder_for_worker(generator: Generator) -> Path | None:
    """The folder of its trained model on this host; None unless its options name that folder, on whichever host.

    Raises Refusal as folder_of_model.
    """
    model = RegisteredModel.objects.filter(generator=generator).exclude(folder="").first()
    if model is None or not str(generator.options.get("model", "")).endswith(f"/{model.folder}"):
        return None
    return folder_of_model(model)
