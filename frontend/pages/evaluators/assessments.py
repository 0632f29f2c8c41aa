"""Putting an assessor's scores to work: ordering the queue by uncertainty, batches of machine labels."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.batch_review.selectors.batch_plan import batch_plan_for
from annotation.batch_review.services.machine_labels import checked_question
from annotation.labelling.schema.questions import Question
from annotation.tasks.models.rounds import Batch
from annotation.tasks.selectors.queue import queue_order
from common.refusals import Refusal
from frontend.pages.evaluators.run_address import RUN_URL, run_in
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.labels import answer_in_words, in_language
from preference.evaluators.catalogue import run_title
from preference.evaluators.models import ScoringRun
from preference.evaluators.selectors.assessments import (
    Assessment,
    assessments_of,
    classes_of,
    has_assessments,
    preview_queue,
    untouched_assessments,
)
from preference.evaluators.services.assessments import (
    LabelChoice,
    check_has_assessments,
    label_by_machine,
    order_queue_by_uncertainty,
    undo_queue_order,
)

PEOPLE = "people"  # instead of an answer


def describe_uses(run: ScoringRun) -> Mapping[str, Any]:
    """What the run's page says about putting its scores to work; empty for other evaluators."""
    if not has_assessments(run):
        return {}
    order = queue_order(run.project)
    return {
        "queue": preview_queue(run),
        "queue_order": order,
        "is_ordered_by_run": bool(order and order.data["source"].get("run") == str(run.pk)),
        "request_id": uuid4(),
    }


@require_POST
@login_required
def order(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    user = signed_in(request)
    run = run_in(user, slug, run_id)
    try:
        n = order_queue_by_uncertainty(run=run, actor=user, order_id=posted_uuid(request, "request_id"))
    except Refusal as refusal:
        messages.error(request, str(refusal))
    else:
        words = ngettext(
            "%(n)s open dialogue is ordered, the least certain first.",
            "%(n)s open dialogues are ordered, the least certain first.",
            n,
        )
        messages.success(request, words % {"n": intcomma(n)})
    return redirect("scoring_run", slug, run.pk)


@require_POST
@login_required
def undo_order(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    user = signed_in(request)
    run = run_in(user, slug, run_id)
    undo_queue_order(run=run, actor=user, request_id=posted_uuid(request, "request_id"))
    messages.success(request, _("The queue is back in its earlier order."))
    return redirect("scoring_run", slug, run.pk)


class MachineLabelsForm(forms.Form):
    """One field for each class of the assessor: its answer, or PEOPLE, who label those dialogues."""

    batch_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    least_probability = forms.FloatField(
        label=gettext_lazy("Probability of the class at least"),
        min_value=0,
        max_value=1,
        initial=0,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=gettext_lazy(
            "Between 0 and 1. Dialogues that the assessor is less sure about stay with people."
        ),
    )
    most = forms.IntegerField(
        label=gettext_lazy("Dialogues at most"),
        min_value=1,
        max_value=100_000,
        help_text=gettext_lazy("The dialogues that the assessor is surest about."),
    )

    def __init__(
        self, classes: Mapping[str, int], question: Question, size: int, data: QueryDict | None = None
    ) -> None:
        """classes: how many dialogues have each. size: dialogues of a batch."""
        super().__init__(data, initial={"most": size})
        values = {str(option.value): option.value for option in question.options}
        choices = [
            (PEOPLE, _("leave them to people")),
            *((text, answer_in_words(question, value)) for text, value in values.items()),
        ]
        self.values, self.classes = values, list(classes)
        fields = {name: _class_field(name, n, choices, values) for name, n in classes.items()}
        self.fields = {
            "batch_id": self.fields["batch_id"],
            **{f"class_{name}": field for name, field in fields.items()},
            **{name: self.fields[name] for name in ("least_probability", "most")},
        }

    def choice(self) -> LabelChoice:
        """From valid data."""
        answers = {name: self.cleaned_data[f"class_{name}"] for name in self.classes}
        return LabelChoice(
            {name: self.values[answer] for name, answer in answers.items() if answer != PEOPLE},
            self.cleaned_data["least_probability"],
            self.cleaned_data["most"],
        )


def _class_field(
    name: str, n: int, choices: list[tuple[str, str]], values: Mapping[str, Any]
) -> forms.ChoiceField:
    words = ngettext("Class %(name)s, %(n)s dialogue", "Class %(name)s, %(n)s dialogues", n)
    return forms.ChoiceField(
        label=words % {"name": name, "n": f"{n:,}"},
        choices=choices,
        initial=name if name in values else PEOPLE,
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def machine_labels(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    """The form for a batch of machine labels; once it is sealed, the batch."""
    user = signed_in(request)
    run = run_in(user, slug, run_id)
    try:
        check_has_assessments(run)
        question = checked_question(run.project)
    except Refusal as refusal:
        messages.error(request, str(refusal))
        return redirect("scoring_run", slug, run.pk)
    waiting = untouched_assessments(run.project, assessments_of(run))
    form = _form(run, question, waiting, request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return _render(request, run, question, waiting, form, 422 if form.is_bound else 200)
    try:
        batch = label_by_machine(
            run=run, actor=user, batch_id=form.cleaned_data["batch_id"], choice=form.choice()
        )
    except Refusal as refusal:
        form.add_error(None, str(refusal))
        return _render(request, run, question, waiting, form, refusal.status)
    words = ngettext(
        "%(n)s machine label is sealed as a batch.", "%(n)s machine labels are sealed as a batch.", batch.size
    )
    messages.success(request, words % {"n": intcomma(batch.size)})
    return redirect("batch", slug, batch.number)


def _form(
    run: ScoringRun, question: Question, waiting: list[Assessment], data: QueryDict | None
) -> MachineLabelsForm:
    counts = {name: sum(str(one.label) == name for one in waiting) for name in classes_of(run)}
    return MachineLabelsForm(counts, question, batch_plan_for(run.project).batch_size, data)


def _render(
    request: HttpRequest,
    run: ScoringRun,
    question: Question,
    waiting: list[Assessment],
    form: MachineLabelsForm,
    status: int,
) -> HttpResponse:
    context = {
        "project": run.project,
        "title": _("Machine labels"),
        "run": run,
        "run_title": run_title(run),
        "question": in_language(question.text),
        "waiting": len(waiting),
        "is_first_batch": not Batch.objects.filter(project=run.project).exists(),
        "form": form,
    }
    return render(request, "evaluators/machine_labels.html", context, status=status)


urlpatterns = [
    path(f"{RUN_URL}queue/", order, name="scoring_order_queue"),
    path(f"{RUN_URL}queue/undo/", undo_order, name="scoring_undo_order"),
    path(f"{RUN_URL}machine-labels/", machine_labels, name="scoring_machine_labels"),
]
