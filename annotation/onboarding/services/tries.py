"""Taking the admission test (Diamante, Appendix B.2).

Answers in a test are not submissions: no export, agreement or final label uses them.
"""

import secrets
from collections.abc import Mapping, Sequence, Set
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.schema.answers import Answers, compared_paths, differing_paths
from annotation.labelling.schema.paths import answer_at
from annotation.labelling.selectors.gold import live_gold
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import speakers_in
from annotation.labelling.services.shown_labels import record_shown_dialogues
from annotation.onboarding.models import TRY_MOVES, AdmissionItem, AdmissionTry, TryState, Unit
from annotation.onboarding.selectors.admission import (
    AdmissionStatus,
    admission_status,
    admission_test_for,
    own_try,
    try_items,
)
from annotation.onboarding.selectors.gold import known_gold
from annotation.onboarding.services.admissions import admit_by_try
from annotation.onboarding.services.answers import check_complete_answers
from annotation.tasks.selectors.languages import task_languages
from common.idempotency import check_repeat
from common.refusals import NotAllowed, NotFound, Refusal
from projects.models import Membership, Project
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.transitions import move


@transaction.atomic
def start_try(*, annotator: User, project: Project, try_id: UUID) -> AdmissionTry:
    """Begin a try with its own draw, or return the running one. The same try_id again returns the first.

    Raises NotAllowed, Refusal: id_in_use, not_tested, admitted, no_tries.
    """
    if Capability.ANNOTATE not in capabilities_of(annotator, project):
        raise NotAllowed(
            _("You are not an annotator of this project."),
            _("Ask its manager to give you the role “Annotator”."),
        )
    # Two tabs of one person wait for each other.
    Membership.objects.select_for_update().filter(user=annotator, project=project).first()
    if stored := AdmissionTry.objects.filter(pk=try_id).first():
        check_repeat(stored, annotator_id=annotator.pk, project_id=project.pk)
        return stored
    status = admission_status(annotator, project)
    if status.running:
        return status.running
    _check_may_try(status)
    seed = secrets.randbits(62)
    attempt = AdmissionTry.objects.create(
        id=try_id, project=project, annotator=annotator, edition=status.test.edition, seed=seed
    )
    known, gold = known_gold(annotator, project), _readable_gold(annotator, project)
    drawn = draw_gold(gold, status.test.items, seed, known=known)
    AdmissionItem.objects.bulk_create(
        AdmissionItem(attempt=attempt, gold=gold, place=place) for place, gold in enumerate(drawn)
    )
    return attempt


def _readable_gold(annotator: User, project: Project) -> Sequence[GoldDialogue]:
    """Gold dialogues in the languages that the annotator reads; all if there are none."""
    rows = live_gold(project).annotate(language=F("task__language")).order_by("id")
    gold, languages = list(rows), task_languages(annotator.reading_languages, project)
    readable = [one for one in gold if languages is None or (one.language or "") in languages]
    return readable or gold


def _check_may_try(status: AdmissionStatus) -> None:
    if not status.test.is_on:
        raise Refusal("not_tested", _("This project has no admission test."), _("Go to your queue."))
    if status.is_admitted:
        raise Refusal("admitted", _("You have passed this test."), _("Go to your queue."))
    if not status.left:
        raise Refusal(
            "no_tries", _("You have no attempts left."), _("Ask a trainer to grant you another one.")
        )


def draw_gold(
    gold: Sequence[GoldDialogue], items: int | None, seed: int, known: Set[int] = frozenset()
) -> list[GoldDialogue]:
    """The dialogues of a try in their order, the same for the same seed. items: how many; None: all.

    known: gold that is drawn only if the rest is too few.
    """
    random = Random(seed)
    shuffled = random.sample(gold, len(gold))
    drawn = sorted(shuffled, key=lambda one: one.pk in known)[: items or len(gold)]
    return random.sample(drawn, len(drawn))


@transaction.atomic
def answer_item(*, annotator: User, try_id: UUID, place: int, answers: Mapping[str, Any]) -> AdmissionItem:
    """Store and grade the answers to one dialogue of a try. The last dialogue ends the try.

    The first answers stay, because the right ones may have been shown since.
    Raises NotFound, Invalid, Refusal: try_over.
    """
    own_try(annotator, try_id)
    attempt = AdmissionTry.objects.select_for_update().get(pk=try_id)
    item = try_items(attempt).filter(place=place).first()
    if item is None:
        raise NotFound(_("You have no such attempt."), _("Open the test from your queue."))
    if item.answered_at is not None:
        return item
    if attempt.state != TryState.RUNNING:
        raise Refusal("try_over", _("This attempt is over."), _("Open the test from your queue."))
    item.answers = check_complete_answers(item.gold.schema, item.gold.dialogue_id, answers)
    item.gold_answers = item.gold.answers
    item.wrong, item.compared = grade(item.gold, item.answers)
    item.answered_at = timezone.now()
    item.save()
    # The right answers are shown now or when the try ends.
    record_shown_dialogues(person=annotator, dialogues=[item.gold.dialogue_id])
    if not try_items(attempt).filter(answered_at=None).exists():
        _end_try(attempt)
    return item


class Grade(NamedTuple):
    """wrong: the paths of wrong answers. compared: how many answers were compared."""

    wrong: list[str]
    compared: int


def grade(gold: GoldDialogue, answers: Answers) -> Grade:
    """Compare with the right answers, in every compared question that either of the two answers."""
    schema = load_schema(gold.schema)
    wrong = differing_paths(schema, gold.answers, answers)
    paths = compared_paths(schema, speakers_in(gold.dialogue_id))
    answered = [path for path in paths if answer_at(gold.answers, path) is not None or path in wrong]
    return Grade(wrong, len(answered))


def score(items: Sequence[tuple[int, int]], unit: str) -> float:
    """Percent right. items: (wrong answers, compared answers) by dialogue; 100 if nothing is compared."""
    if unit == Unit.DIALOGUES:
        right, total = sum(1 for wrong, _compared in items if not wrong), len(items)
    else:
        total = sum(compared for _wrong, compared in items)
        right = total - sum(wrong for wrong, _compared in items)
    return 100 * right / total if total else 100.0


def _end_try(attempt: AdmissionTry) -> None:
    test = admission_test_for(attempt.project)
    percent = score([(len(item.wrong), item.compared) for item in try_items(attempt)], test.unit)
    passed = percent >= test.pass_percent
    move(
        attempt,
        to=TryState.PASSED if passed else TryState.FAILED,
        moves=TRY_MOVES,
        project=attempt.project,
        actor=attempt.annotator,
        kind="admission_try",
        percent=percent,
        ended_at=timezone.now(),
    )
    if passed:
        admit_by_try(attempt)
