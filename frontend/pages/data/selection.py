"""What the pages of exports and of snapshots share: which dialogues to take, and the preview of that choice."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from django import forms
from django.urls import reverse
from django.utils.translation import gettext_lazy

from accounts.models import User
from dialogues.models import Split
from frontend.pages.projects.next_steps import steps_in
from frontend.pages.projects.steps import NextStep
from preference.data.selectors.selection import Filters
from preference.data.services.exports import build_filters
from projects.models import Project


class SelectionForm(forms.Form):
    """The dialogues of an export or a snapshot."""

    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    splits = forms.MultipleChoiceField(
        label=gettext_lazy("Splits"),
        choices=Split.choices,
        initial=Split.values,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose at least one split.")},
        help_text=gettext_lazy("A dialogue's split was assigned once, by a hash, and never changes."),
    )
    include_unreviewed = forms.BooleanField(
        label=gettext_lazy("Also dialogues that no expert has judged yet"),
        required=False,
        help_text=gettext_lazy("This includes imported dialogues."),
    )


def chosen_filters(choices: Mapping[str, Any]) -> Filters:
    """choices: values of a form by field; unknown splits are ignored, because a preview also gets invalid forms."""
    splits = [split for split in choices.get("splits") or [] if split in Split.values]
    unreviewed, withheld = (bool(choices.get(f"include_{name}")) for name in ("unreviewed", "withheld"))
    of_study = {name: choices[name] for name in ("run", "least_score") if choices.get(name) is not None}
    return build_filters(splits, unreviewed, withheld, **of_study)


def first_step_elsewhere(user: User, project: Project, page: str) -> NextStep | None:
    """The person's next step in the project, unless it is on this page. page: its URL name."""
    here = reverse(page, args=[project.slug])
    return next((step for step in steps_in(user, project)[:1] if step.url != here), None)


def format_command(command: str, slug: str, options: Sequence[Sequence[str]]) -> str:
    """A management command as a person would type it, with one option per line."""
    lines = [["python", "manage.py", command, slug], *options]
    return " \\\n  ".join(shlex.join(line) for line in lines)
