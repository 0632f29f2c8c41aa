"""Whether this host's disk of the models has room."""

import shutil
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils.translation import gettext as _

from common.refusals import Refusal

MARGIN: Final = 64 << 20  # bytes that stay free for everything else


def has_space(size: int) -> bool:
    """Whether that many bytes fit below MODELS_ROOT."""
    root = Path(settings.MODELS_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(root).free >= size + MARGIN


def check_space(size: int) -> None:
    """Raises Refusal disk_full unless that many bytes fit below MODELS_ROOT."""
    if not has_space(size):
        raise disk_full(size)


def disk_full(size: int) -> Refusal:
    """The refusal of a model that takes so many bytes."""
    return Refusal(
        "disk_full",
        _("The model takes %(size)s MB, and the disk of the models has %(free)s MB left.")
        % {"size": size >> 20, "free": shutil.disk_usage(settings.MODELS_ROOT).free >> 20},
        _("Free some disk space, for example by removing the files of old models, then start it again."),
        status=507,
        details={"path": str(settings.MODELS_ROOT)},
    )
