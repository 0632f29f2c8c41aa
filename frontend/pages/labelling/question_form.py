"""A form with a dialogue and the questions of a schema, as in the workbench; static/js/onboarding/admission.js runs it.

Gold dialogues, admission tests and disputes use it.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation.labelling.models.labels import Schema
from annotation.labelling.selectors.workbench import utterances_in
from common.refusals import Invalid
from dialogues.models import Dialogue


def question_form_data(
    schema: Schema, dialogue: Dialogue, answers: Mapping[str, Any] | None = None, *, is_open: bool = True
) -> dict[str, Any]:
    """The initial data of the script. is_open: whether the answers can still be changed."""
    return {
        "schema": schema.content,
        "utterances": [serialize_time(row) for row in utterances_in(dialogue.pk)],
        "lang": dialogue.language,
        "answers": answers,
        "isOpen": is_open,
        "kept": f"dialogue-{dialogue.pk}",
    }


def serialize_time(row: dict[str, Any]) -> dict[str, Any]:
    """An utterance with its time as ISO 8601."""
    time = row["time"]
    return row | {"time": time.isoformat() if hasattr(time, "isoformat") else time}


def posted_answers(request: HttpRequest) -> dict[str, Any]:
    """The answers that the script put into the form. Raises Invalid if they are not a JSON object."""
    try:
        answers = json.loads(request.POST.get("answers", ""))
    except (ValueError, RecursionError) as error:
        raise Invalid(_("These answers cannot be read."), _("Reload the page and try again.")) from error
    if not isinstance(answers, dict):
        raise Invalid(_("These answers cannot be read."), _("Reload the page and try again."))
    return answers
