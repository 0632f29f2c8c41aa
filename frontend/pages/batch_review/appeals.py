"""Corrections by controllers: what annotators learn from them, who disputes one, and how a trainer settles that."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Case, Value, When
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, Judgement, SampleItem
from annotation.batch_review.selectors.access import appeals_for, corrections_by_item, disputable_item_for
from annotation.batch_review.selectors.annotator_accuracy import (
    AnswerOutcome,
    JudgedAnswer,
    answer_outcomes,
    judged_answers,
    judged_items_of,
    returned_rounds_of,
)
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from annotation.labelling.schema.questions import Question
from annotation.labelling.selectors.schemas import load_schema, newest_version
from annotation.labelling.selectors.settings import labelling_project
from common.refusals import NotFound, Refusal
from frontend.charts import plots
from frontend.charts.answer import Answer, Cell, as_file
from frontend.pages import signed_in
from frontend.pages.batch_review.batch_boards import mark, percent
from frontend.ui.labels import words_of
from frontend.ui.paging import keyset_page, number_in
from measures.proportion import Proportion, proportion
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

SHOWN = 30
CAME_BACK = 5  # the newest returned batches, with why


@dataclass(frozen=True, slots=True)
class Refused:
    """What somebody wrote about a correction, and why it is not stored."""

    words: str
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Correction:
    """A label beside what the controller found right, in words; empty where every compared answer is checked.

    request_id: of the appeal that may be raised against it. refused: what is to be seen again. is_to_settle: by who
    looks at it.
    """

    item: SampleItem
    label: str
    right: str
    reason: str
    appeal: Appeal | None
    request_id: UUID
    refused: Refused | None = None
    is_to_settle: bool = False


def correction_of(
    item: SampleItem,
    judged: Judgement,
    appeal: Appeal | None,
    *,
    refused: Refused | None = None,
    decides: bool = False,
) -> Correction:
    label, right = in_words(item, item.final.answers), in_words(item, judged.answers)
    is_to_settle = decides and appeal is not None and appeal.state == AppealState.OPEN
    return Correction(item, label, right, judged.reason, appeal, uuid4(), refused, is_to_settle)


def in_words(item: SampleItem, answers: Any) -> str:
    """The answer to the checked question as people read it."""
    key = item.sample.question
    question = load_schema(item.final.schema).by_key.get(key)
    return words_of(question, answers["dialogue"].get(key)) if question else ""


def appeals_on(items: Iterable[SampleItem]) -> dict[int, Appeal]:
    """The one appeal of each item, settled or not."""
    rows = Appeal.objects.filter(item__in=[item.pk for item in items])
    return {one.item_id: one for one in rows}


# ---- appeals ---------------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def appeals(request: HttpRequest, slug: str) -> HttpResponse:
    """Disputed corrections, the open ones first: a trainer's to settle; annotators see their own."""
    user = signed_in(request)
    return _render_appeals(request, user, labelling_project(user, slug))


def _render_appeals(
    request: HttpRequest,
    user: User,
    project: Project,
    item: SampleItem | None = None,
    refused: Refused | None = None,
) -> HttpResponse:
    """refused: on the correction of the item, which comes first then."""
    open_first = Case(When(state=AppealState.OPEN, then=Value(0)), default=Value(1))
    rows = appeals_for(user, project).select_related("item__final__schema", "item__sample__round__batch")
    paginator = Paginator(rows.order_by(open_first, "-raised_at", "pk"), SHOWN)
    page = paginator.get_page(number_in(request.GET.get("page")) or 1)
    shown: list[tuple[SampleItem, Appeal | None]] = [(one.item, one) for one in page.object_list]
    if item is not None:
        shown = [(item, appeals_on([item]).get(item.pk)), *(one for one in shown if one[0] != item)]
    said = corrections_by_item(one.pk for one, _appeal in shown)
    decides = Capability.DECIDE in capabilities_of(user, project)
    context = {
        "project": project,
        "title": _("Appeals"),
        "page": page,
        "cases": [
            correction_of(
                one, said[one.pk], appeal, refused=refused if one == item else None, decides=decides
            )
            for one, appeal in shown
            if one.pk in said
        ],
        "from_own": request.POST.get("own", ""),
    }
    status = refused.refusal.status if refused else 200
    return render(request, "batch_review/batches/appeals.html", context, status=status)


@require_POST
@login_required
def settle(request: HttpRequest, slug: str, pk: UUID) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    disputed = appeals_for(user, project).filter(pk=pk).first()
    if disputed is None:
        raise NotFound(_("There is no such appeal."), _("Go back to the list."))
    upheld, settlement = request.POST.get("upheld") == "1", request.POST.get("settlement", "")
    try:
        settle_appeal(trainer=user, appeal_id=pk, upheld=upheld, settlement=settlement)
    except Refusal as refusal:
        return _render_appeals(request, user, project, disputed.item, Refused(settlement, refusal))
    messages.success(request, _("Settled; the accuracy of its batch follows."))
    return redirect("appeals", slug)


@require_POST
@login_required
def appeal(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Dispute a correction, from one's own accuracy or, as a trainer, from the batch."""
    user = signed_in(request)
    item = disputable_item_for(user, pk)
    project, reason = item.sample.round.project, request.POST.get("reason", "")
    try:
        raise_appeal(by=user, item_id=item.pk, appeal_id=request_id(request), reason=reason)
    except Refusal as refusal:
        return _render_appeals(request, user, project, item, Refused(reason, refusal))
    messages.success(request, _("A trainer looks at it."))
    return redirect("accuracy" if request.POST.get("own") else "appeals", project.slug)


def request_id(request: HttpRequest) -> UUID:
    try:
        return UUID(request.POST.get("request_id", ""))
    except ValueError:
        return uuid4()


# ---- one's own accuracy ----------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def accuracy(request: HttpRequest, slug: str) -> HttpResponse:
    """How the person's own answers did in samples, by class, with what was corrected; nobody's name is in it."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    counted, is_cut = answer_outcomes(user, project)
    wrong = [one.item for one in counted if not one.was_right]
    shows_all = not wrong or request.GET.get("show") == "all"
    work = judged_items_of(user, project)
    page = keyset_page(work if shows_all else work.filter(pk__in=wrong), request.GET.get("before"), SHOWN)
    said = appeals_on(page.rows)
    context = {
        "project": project,
        "title": _("My accuracy"),
        "page": page,
        "cases": [(one, _example(one, said)) for one in judged_answers(user, page.rows)],
        "came_back": returned_rounds_of(user, project)[:CAME_BACK],
        "overall": _share([one.was_right for one in counted]),
        "is_cut": is_cut,
        "wrong": len(wrong),
        "shows_all": shows_all,
        "answer": _by_class(project, counted),
    }
    return render(request, "batch_review/batches/accuracy.html", context)


@login_required
@require_safe
def accuracy_file(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    """One's own accuracy as CSV or SVG."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    counted, _is_cut = answer_outcomes(user, project)
    answer = _by_class(project, counted)
    if name != answer.name:
        raise Http404
    return as_file(answer, f"{slug}-accuracy", suffix)


def _example(one: JudgedAnswer, said: dict[int, Appeal]) -> Correction:
    own, right = in_words(one.item, one.own), in_words(one.item, one.right)
    return Correction(one.item, own, right, one.reason, said.get(one.item.pk), uuid4())


def _by_class(project: Project, counted: Sequence[AnswerOutcome]) -> Answer:
    """Over all, and by what the person answered, in words; only over all where every compared answer is checked."""
    row = newest_version(project)
    known = load_schema(row).by_key if row else {}
    verdicts: dict[tuple[str, str], list[bool]] = {}
    for one in sorted((one for one in counted if one.question), key=lambda one: (one.question, one.own)):
        verdicts.setdefault((one.question, one.own), []).append(one.was_right)
    names = [_("All"), *(class_name(known.get(question), own) for question, own in verdicts)]
    parts = [_share([one.was_right for one in counted]), *(_share(rights) for rights in verdicts.values())]
    question, n = _("How often are my answers right?"), len(counted)
    note = ngettext("n = %(n)d judged answer", "n = %(n)d judged answers", n) % {"n": n}
    head = [_("You answered"), _("right"), _("judged"), "%", _("95 % from"), _("95 % to")]
    rows: list[list[Cell]] = [
        [name, part.count, part.n, *(percent(value) for value in (part.share, part.low, part.high))]
        for name, part in zip(names, parts, strict=True)
    ]
    marks = [mark(name, part) for name, part in zip(names, parts, strict=True)]
    svg = plots.estimates(names, marks, x=_("right (%)"), description=question)
    return Answer("classes", question, f"{note} · {_('lines: 95 % intervals')}", head, rows, svg)


def _share(rights: Sequence[bool]) -> Proportion:
    return proportion(sum(rights), len(rights))


def class_name(question: Question | None, name: str) -> str:
    """A class as people read it: "2 · high"; its name, where the question is gone."""
    option = next((one for one in question.options if str(one.value) == name), None) if question else None
    return words_of(question, option.value) if question and option else name


urlpatterns = [
    path("p/<slug:slug>/appeals/", appeals, name="appeals"),
    path("p/<slug:slug>/appeals/<uuid:pk>/", settle, name="appeal_settle"),
    path("p/<slug:slug>/accuracy/", accuracy, name="accuracy"),
    path("p/<slug:slug>/accuracy/<slug:name>.<str:suffix>", accuracy_file, name="accuracy_file"),
    path("p/<slug:slug>/samples/<int:pk>/appeal/", appeal, name="appeal"),
]
