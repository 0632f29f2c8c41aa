"""How long each kind of leftover stays: the defaults, RETENTION, and the options of `clean`."""

from collections.abc import Mapping
from typing import Final

from django.conf import settings

NEVER: Final = "never"
# Days. Snapshots, models, dialogues, labels and events have no age: they are never deleted.
DEFAULTS: Final = {
    "sessions": 0,
    "uploads": 14,
    "exports": 90,
    "requests": 30,
    "deliveries": 30,
    "scratch": 30,
    "checkpoints": 30,
    "leftovers": 7,
    "removed": 7,
}
ABOUT: Final = {
    "sessions": "sign-in sessions, so many days after they expired",
    "uploads": "files of imports that were cut off, failed or were cancelled; models that nobody registered",
    "exports": "files of finished exports; their manifest and events stay",
    "requests": "candidates requested ahead of time that nobody waited for and no model wrote",
    "deliveries": "deliveries of webhooks that arrived or failed, and removed webhooks",
    "scratch": "working files of evaluations, scorings and tagging runs that failed or were cancelled",
    "checkpoints": "checkpoints of trainings that failed or were cancelled, which then begin again",
    "leftovers": "folders of exports and unfinished snapshots that no row names",
    "removed": "files of removed models and trainings that an object store has still, since it was away then",
}


def chosen_ages(overrides: Mapping[str, str]) -> dict[str, int | None]:
    """Days by kind, None for never: the defaults, changed by RETENTION and then by `overrides`.

    Raises ValueError that names the unknown kind or the wrong number.
    """
    chosen: dict[str, int | None] = dict(DEFAULTS)
    for kind, days in {**settings.RETENTION, **overrides}.items():
        if kind not in DEFAULTS:
            raise ValueError(f"“{kind}” is not a kind of leftover. Choose among: {', '.join(DEFAULTS)}.")
        if days != NEVER and not (days.isascii() and days.isdecimal() and len(days) <= 5):
            raise ValueError(f"{kind}={days} is not understood. Write a number of days, or never.")
        chosen[kind] = None if days == NEVER else int(days)
    return chosen
