"""Admission tests (Diamante, Appendix B.2): gold dialogues, taking the test, admitting by hand.

Answers of a test are no submissions: they are in no export, no agreement and no final label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import LabellingSettings, Schema
from annotation.labelling.schema.answers import Answers, check_answers, compared_paths, differing_paths
from annotation.labelling.selectors.gold import live_gold
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import speakers_in
from annotation.labelling.services.planning import queue_place
from annotation.labelling.services.resolution import notify_final_label
from annotation.labelling.services.schemas import mark_used
from annotation.onboarding.models import (
    TRY_MOVES,
    Admission,
    AdmissionItem,
    AdmissionTest,
    AdmissionTry,
    TryState,
    Unit,
)
from annotation.onboarding.selectors.admission import items_of, standing_of, test_of
from annotation.tasks.models.rounds import Batch
from annotation.tasks.models.work import HELD, Assignment, Task
from annotation.tasks.services.assignment import came_free
from common.refusals import Invalid, NotAllowed, NotFound, Refusal
from dialogues.models import Dialogue, DialogueState
from projects.models import Membership, Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.transitions import move, record

MAX_EXPLANATION = 10_000
MAX_REMARKS = 500
CHANGEABLE = ("is_on", "pass_percent", "unit", "tries", "items", "feedback")


def check_trainer(trainer: User, project: Project) -> None:
    if Capability.DECIDE not in capabilities_of(trainer, project):
        raise NotAllowed(_("Only trainers do this."), _("Ask the project's manager for the role “Trainer”."))
    if project.protocol != Protocol.LABELLING:
        raise Refusal("wrong_protocol", _("Only labelling projects have admission tests."))


@transaction.atomic
def update_test(*, trainer: User, project: Project, changes: Mapping[str, Any]) -> AdmissionTest:
    """Change the test. Who was admitted stays so: only `new_edition` takes that away."""
    check_trainer(trainer, project)
    test = _locked_test(project)
    changed = [name for name in CHANGEABLE if name in changes and getattr(test, name) != changes[name]]
    for name in changed:
        setattr(test, name, changes[name])
    try:
        test.full_clean(exclude=["project"])
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise Invalid(" ".join(texts), field=field) from error
    if test.is_on and not live_gold(project).exists():
        raise Refusal(
            "no_gold",
            _("A test needs at least one gold dialogue."),
            _("Add a dialogue with its right answers first."),
        )
    if changed:
        test.save()
        told = {name: getattr(test, name) for name in changed}
        record(test, kind="admission_test", project=project, actor=trainer, data=told)
    return test


@transaction.atomic
def new_edition(*, trainer: User, project: Project, edition: int) -> AdmissionTest:
    """Everybody has to pass again. edition: the one that it follows, so that a second click changes nothing."""
    check_trainer(trainer, project)
    test = _locked_test(project)
    if test.edition == edition:
        test.edition += 1
        test.save(update_fields=["edition"])
        AdmissionTry.objects.filter(project=project, state=TryState.RUNNING).update(
            state=TryState.FAILED, ended_at=timezone.now()
        )
        record(test, kind="new_edition", project=project, actor=trainer, data={"edition": test.edition})
    return test


def _locked_test(project: Project) -> AdmissionTest:
    AdmissionTest.objects.get_or_create(project=project)
    return AdmissionTest.objects.select_for_update().get(project=project)


# ---- gold dialogues --------------------------------------------------------------------------------------------------


@transaction.atomic
def make_gold(
    *,
    trainer: User,
    project: Project,
    dialogue_id: int,
    answers: Mapping[str, Any],
    explanation: str,
    remarks: Mapping[str, str] | None = None,
) -> GoldDialogue:
    """Give a dialogue its right answers, or other ones; its task is withheld while it is gold.

    Raises Refusal: invalid (details["problems"]), in_work (somebody labels it now), no_schema.
    """
    check_trainer(trainer, project)
    # Without its key, to which a claim or a submission refers when it commits, with the task that is waited for here.
    locked = Dialogue.objects.select_for_update(no_key=True)
    dialogue = locked.filter(pk=dialogue_id, project=project).first()
    if dialogue is None or dialogue.state != DialogueState.FINISHED:
        raise NotFound(_("There is no such dialogue in this project."), _("Choose another one."))
    row, known = _checked_gold(project, dialogue, answers)
    words = _checked_words(explanation, remarks or {})
    mark_used(row)
    gold = GoldDialogue.objects.filter(dialogue=dialogue, retired_at=None).first()
    values = {"schema": row, "answers": known, **words}
    if gold is None:
        task, withheld = _withhold(project, dialogue)
        gold = GoldDialogue.objects.create(
            project=project, dialogue=dialogue, task=task, withheld=withheld, made_by=trainer, **values
        )
        record(gold, kind="gold_made", project=project, actor=trainer, data={"dialogue": dialogue.pk})
        return gold
    if any(getattr(gold, name) != value for name, value in values.items()):
        before = {"answers": gold.answers, "explanation": gold.explanation}
        GoldDialogue.objects.filter(pk=gold.pk).update(**values)
        gold.refresh_from_db()
        record(gold, kind="gold_changed", project=project, actor=trainer, data={"before": before})
    return gold


def _checked_gold(project: Project, dialogue: Dialogue, answers: Mapping[str, Any]) -> tuple[Schema, Answers]:
    settings = LabellingSettings.objects.select_related("schema").get(project=project)
    if settings.schema is None:
        raise Refusal("no_schema", _("This project has no questions yet."), _("Write them first."))
    return settings.schema, _checked(settings.schema, dialogue.pk, answers)


def _checked(row: Schema, dialogue_id: int, answers: Mapping[str, Any]) -> Answers:
    known, problems = check_answers(load_schema(row), answers, speakers_in(dialogue_id), complete=True)
    if problems:
        named = [{"path": one.path, "code": one.code, "message": one.message} for one in problems[:50]]
        raise Invalid(f"{problems[0].path}: {problems[0].message}", field="answers", problems=named)
    return known


def _checked_words(explanation: str, remarks: Mapping[str, str]) -> dict[str, Any]:
    kept = {str(path)[:120]: text.replace("\0", "").strip() for path, text in remarks.items()}
    kept = {path: text for path, text in kept.items() if text}
    explanation = explanation.replace("\0", "").strip()
    if len(explanation) > MAX_EXPLANATION or any(len(text) > MAX_EXPLANATION for text in kept.values()):
        raise Invalid(
            _("An explanation has at most %(n)d characters.") % {"n": MAX_EXPLANATION}, field="explanation"
        )
    if len(kept) > MAX_REMARKS:
        raise Invalid(_("At most %(n)d answers can be explained.") % {"n": MAX_REMARKS}, field="remarks")
    return {"explanation": explanation, "remarks": kept}


def _withhold(project: Project, dialogue: Dialogue) -> tuple[Task, int]:
    """Take the free slots of the dialogue's task; without a task, make one that nobody can take."""
    task = Task.objects.select_for_update().filter(dialogue=dialogue).order_by("-pk").first()
    if task is None:
        settings = LabellingSettings.objects.get(project=project)
        task = Task.objects.create(
            project=project,
            dialogue=dialogue,
            overlap=settings.overlap,
            open_slots=0,
            place=queue_place(settings, dialogue.pk),
        )
        return task, settings.overlap
    if Assignment.objects.filter(task=task, state__in=HELD).exists():
        raise Refusal(
            "in_work",
            _("Somebody is labelling this dialogue now."),
            _("Wait until it is finished or given back, or choose another one."),
        )
    withheld = task.open_slots
    if withheld and task.round_id is not None:  # nobody labels it now, and its batch does not wait for it
        Batch.objects.filter(rounds=task.round_id).update(size=F("size") - 1)
        notify_final_label(task.round_id)
        task.round = None
    task.open_slots = 0
    task.save(update_fields=["open_slots", "round"])
    return task, withheld


@transaction.atomic
def retire_gold(*, trainer: User, project: Project, dialogue_id: int) -> None:
    """The dialogue is gold no more; what was withheld of its task can be claimed again. Safe to repeat."""
    check_trainer(trainer, project)
    test = _locked_test(project)
    gold = (
        GoldDialogue.objects.select_for_update(of=("self",))
        .filter(project=project, dialogue=dialogue_id, retired_at=None)
        .first()
    )
    if gold is None:
        return
    if test.is_on and live_gold(project).count() == 1:
        raise Refusal(
            "last_gold",
            _("This is the last gold dialogue of a test that is on."),
            _("Add another one first, or turn the test off."),
        )
    GoldDialogue.objects.filter(pk=gold.pk).update(retired_at=timezone.now(), withheld=0)
    if gold.task_id and gold.withheld:
        Task.objects.filter(pk=gold.task_id).update(open_slots=F("open_slots") + gold.withheld)
        came_free(project)
    record(gold, kind="gold_retired", project=project, actor=trainer, data={"dialogue": dialogue_id})


# ---- taking the test -------------------------------------------------------------------------------------------------


@transaction.atomic
def start_try(*, annotator: User, project: Project, try_id: UUID) -> AdmissionTry:
    """Begin a try with its own draw; a running one is returned instead. The same try_id returns the first.

    Raises Refusal: id_in_use, not_tested, admitted, no_tries, or NotAllowed.
    """
    if Capability.ANNOTATE not in capabilities_of(annotator, project):
        raise NotAllowed(
            _("You are not an annotator of this project."),
            _("Ask its manager to give you the role “Annotator”."),
        )
    # Two tabs of one person come one after the other.
    Membership.objects.select_for_update().filter(user=annotator, project=project).first()
    if earlier := AdmissionTry.objects.filter(pk=try_id).first():
        if (earlier.annotator_id, earlier.project_id) != (annotator.pk, project.pk):
            raise Refusal("id_in_use", _("This id belongs to another try."), _("Send it with a new one."))
        return earlier
    standing = standing_of(annotator, project)
    if standing.running:
        return standing.running
    if refusal := _no_try(standing.is_admitted, standing.left, standing.test.is_on):
        raise refusal
    seed = try_id.int % 2**62
    attempt = AdmissionTry.objects.create(
        id=try_id, project=project, annotator=annotator, edition=standing.test.edition, seed=seed
    )
    drawn = draw(list(live_gold(project).order_by("id")), standing.test.items, seed)
    AdmissionItem.objects.bulk_create(
        AdmissionItem(attempt=attempt, gold=gold, place=place) for place, gold in enumerate(drawn)
    )
    return attempt


def _no_try(is_admitted: bool, left: int, is_on: bool) -> Refusal | None:
    if not is_on:
        return Refusal("not_tested", _("This project has no admission test."), _("Go to your queue."))
    if is_admitted:
        return Refusal("admitted", _("You have passed this test."), _("Go to your queue."))
    if not left:
        return Refusal("no_tries", _("You have no try left."), _("Ask a trainer to grant you another one."))
    return None


def draw(gold: Sequence[GoldDialogue], items: int | None, seed: int) -> list[GoldDialogue]:
    """The dialogues of a try in their order: the same for the same seed."""
    return Random(seed).sample(gold, min(items or len(gold), len(gold)))


@transaction.atomic
def answer_item(*, annotator: User, try_id: UUID, place: int, answers: Mapping[str, Any]) -> AdmissionItem:
    """Store the answers to one dialogue of a try, once, and grade them; the last one ends the try.

    Answered before: the first answers stay, since the right ones may have been shown since.
    """
    attempt = AdmissionTry.objects.select_for_update().filter(pk=try_id, annotator=annotator).first()
    item = items_of(attempt).filter(place=place).first() if attempt else None
    if attempt is None or item is None:
        raise NotFound(_("There is no such try of yours."), _("Open the test from your queue."))
    if item.answered_at is not None:
        return item
    if attempt.state != TryState.RUNNING:
        raise Refusal("try_over", _("This try is over."), _("Open the test from your queue."))
    graded = grade(item.gold, _checked(item.gold.schema, item.gold.dialogue_id, answers))
    item.answers, item.gold_answers = graded.answers, item.gold.answers
    item.wrong, item.compared = graded.wrong, graded.compared
    item.answered_at = timezone.now()
    item.save()
    if not items_of(attempt).filter(answered_at=None).exists():
        _end(attempt)
    return item


@dataclass(frozen=True, slots=True)
class Graded:
    answers: Answers
    wrong: list[str]
    compared: int


def grade(gold: GoldDialogue, answers: Answers) -> Graded:
    """Compare with the right answers: every compared question that either of the two answers."""
    schema = load_schema(gold.schema)
    wrong = differing_paths(schema, gold.answers, answers)
    paths = compared_paths(schema, speakers_in(gold.dialogue_id))
    asked = [path for path in paths if value_at(gold.answers, path) is not None or path in wrong]
    return Graded(answers, wrong, len(asked))


def value_at(answers: Mapping[str, Any], path: str) -> Any:
    """The answer at "quality" or "3/nugget"; None where there is none."""
    position, _slash, key = path.rpartition("/")
    part = answers.get("utterances", {}).get(position, {}) if position else answers.get("dialogue", {})
    return part.get(key)


def score(items: Sequence[tuple[int, int]], unit: str) -> float:
    """Percent right of [(wrong, compared)]; 100 where nothing is compared."""
    if unit == Unit.DIALOGUES:
        right, asked = sum(1 for wrong, _n in items if not wrong), len(items)
    else:
        asked = sum(n for _wrong, n in items)
        right = asked - sum(wrong for wrong, _n in items)
    return 100 * right / asked if asked else 100.0


def _end(attempt: AdmissionTry) -> None:
    test = test_of(attempt.project)
    percent = score([(len(item.wrong), item.compared) for item in items_of(attempt)], test.unit)
    passed = percent >= test.pass_percent
    now = timezone.now()
    move(
        attempt,
        to=TryState.PASSED if passed else TryState.FAILED,
        moves=TRY_MOVES,
        project=attempt.project,
        actor=attempt.annotator,
        kind="admission_try",
        percent=percent,
        ended_at=now,
    )
    if passed:
        row = _standing_row(attempt.project, attempt.annotator, attempt.edition)
        Admission.objects.filter(pk=row.pk, admitted_at=None).update(admitted_at=now)


# ---- by hand ---------------------------------------------------------------------------------------------------------


def _standing_row(project: Project, annotator: User, edition: int) -> Admission:
    row, _made = Admission.objects.get_or_create(project=project, annotator=annotator, edition=edition)
    return row


@transaction.atomic
def grant_try(*, trainer: User, project: Project, annotator: User, granted: int) -> Admission:
    """One try more. granted: how many extra tries the trainer saw, so that a second click gives none."""
    check_trainer(trainer, project)
    test = _locked_test(project)
    row = _standing_row(project, annotator, test.edition)
    won = Admission.objects.filter(pk=row.pk, extra_tries=granted).update(extra_tries=granted + 1)
    row.refresh_from_db()
    if won:
        record(row, kind="try_granted", project=project, actor=trainer, data={"to": annotator.username})
    return row


@transaction.atomic
def admit(*, trainer: User, project: Project, annotator: User, reason: str) -> Admission:
    """Let a person work without passing the test, saying why. Safe to repeat."""
    check_trainer(trainer, project)
    reason = reason.replace("\0", "").strip()[:MAX_EXPLANATION]
    if not reason:
        raise Invalid(_("Say in a word why this person needs no test."), field="reason")
    row = _standing_row(project, annotator, _locked_test(project).edition)
    unset = Q(pk=row.pk, admitted_at=None)
    values = {"admitted_at": timezone.now(), "admitted_by": trainer, "reason": reason}
    if Admission.objects.filter(unset).update(**values):
        told = {"to": annotator.username}
        record(row, kind="admitted", project=project, actor=trainer, reason=reason, data=told)
    row.refresh_from_db()
    return row
