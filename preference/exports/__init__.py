"""The shapes in which data leaves: one module per format, chosen by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.errors import Invalid
from preference.exports import diamante, judgements, sft
from preference.exports.selection import Selection

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """rows: streams the rows of a selection; memory does not grow with it. version: of the shape, in the manifest."""

    name: str
    description: str | Promise
    version: str
    rows: Callable[[Selection], Iterator[Row]]


FORMATS: dict[str, ExportFormat] = {
    one.name: one
    for one in [
        ExportFormat(
            "diamante", gettext_lazy("Dialogues with the candidates and the action of every utterance"), "1", diamante.rows
        ),
        ExportFormat("sft", gettext_lazy("Prompt and completion, conversational, as TRL's SFTTrainer takes it"), "1", sft.rows),
        ExportFormat("judgements", gettext_lazy("One row per action and per expert's verdict"), "1", judgements.rows),
    ]
}


def format_named(name: str) -> ExportFormat:
    if name not in FORMATS:
        raise Invalid(
            _("There is no export format “%(name)s”.") % {"name": name},
            _("Choose one of: %(names)s.") % {"names": ", ".join(FORMATS)},
            field="format",
        )
    return FORMATS[name]
