"""Gold dialogues: dialogues with known right answers, which only the admission test uses."""

from collections.abc import Mapping
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import LabellingSettings, Schema
from annotation.labelling.selectors.gold import live_gold
from annotation.labelling.services.planning import queue_place
from annotation.labelling.services.resolution import notify_final_label
from annotation.labelling.services.schemas import mark_used
from annotation.onboarding.services.admission_tests import check_trainer, lock_admission_test
from annotation.onboarding.services.answers import check_complete_answers
from annotation.tasks.models.rounds import Batch
from annotation.tasks.models.work import HELD, Assignment, Task
from annotation.tasks.services.assignment import reset_claim_cursors
from common.languages import primary_language
from common.refusals import Invalid, NotFound, Refusal
from dialogues.models import Dialogue, DialogueState
from projects.models import Project
from projects.transitions import record

MAX_EXPLANATION = 10_000  # characters
MAX_REMARKS = 500
MAX_PATH = 120  # characters of the path of an answer


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
    """Store or change the right answers of a dialogue. Nobody is given its task while it is gold.

    remarks: explanations by the path of an answer. Raises NotAllowed, NotFound, Invalid (with `problems`), Refusal:
    wrong_protocol, no_schema, in_work (somebody is labelling it).
    """
    check_trainer(trainer, project)
    dialogue = _lock_dialogue(project, dialogue_id)
    schema = _project_schema(project)
    values = {
        "schema": schema,
        "answers": check_complete_answers(schema, dialogue.pk, answers),
        **_checked_texts(explanation, remarks or {}),
    }
    mark_used(schema)
    gold = GoldDialogue.objects.filter(dialogue=dialogue, retired_at=None).first()
    if gold is None:
        return _create_gold(trainer, project, dialogue, values)
    if any(getattr(gold, name) != value for name, value in values.items()):
        before = {"answers": gold.answers, "explanation": gold.explanation}
        GoldDialogue.objects.filter(pk=gold.pk).update(**values)
        gold.refresh_from_db()
        record(gold, kind="gold_changed", project=project, actor=trainer, data={"before": before})
    return gold


def _lock_dialogue(project: Project, dialogue_id: int) -> Dialogue:
    # Not the key: a claim or a submission holds the task and refers to the dialogue when it commits.
    locked = Dialogue.objects.select_for_update(no_key=True)
    dialogue = locked.filter(pk=dialogue_id, project=project).first()
    if dialogue is None or dialogue.state != DialogueState.FINISHED:
        raise NotFound(_("There is no such dialogue in this project."), _("Choose another one."))
    return dialogue


def _project_schema(project: Project) -> Schema:
    settings = LabellingSettings.objects.select_related("schema").get(project=project)
    if settings.schema is None:
        raise Refusal("no_schema", _("This project has no questions yet."), _("Write them first."))
    return settings.schema


def _checked_texts(explanation: str, remarks: Mapping[str, str]) -> dict[str, Any]:
    cleaned = {str(path)[:MAX_PATH]: _clean(text) for path, text in remarks.items()}
    cleaned = {path: text for path, text in cleaned.items() if text}
    explanation = _clean(explanation)
    if any(len(text) > MAX_EXPLANATION for text in (explanation, *cleaned.values())):
        raise Invalid(
            _("An explanation has at most %(n)s characters.") % {"n": intcomma(MAX_EXPLANATION)},
            field="explanation",
        )
    if len(cleaned) > MAX_REMARKS:
        raise Invalid(
            _("At most %(n)s answers can be explained.") % {"n": intcomma(MAX_REMARKS)}, field="remarks"
        )
    return {"explanation": explanation, "remarks": cleaned}


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()  # PostgreSQL refuses NUL


def _create_gold(
    trainer: User, project: Project, dialogue: Dialogue, values: Mapping[str, Any]
) -> GoldDialogue:
    task, withheld = _withhold_task(project, dialogue)
    gold = GoldDialogue.objects.create(
        project=project, dialogue=dialogue, task=task, withheld=withheld, made_by=trainer, **values
    )
    record(gold, kind="gold_made", project=project, actor=trainer, data={"dialogue": dialogue.pk})
    return gold


def _withhold_task(project: Project, dialogue: Dialogue) -> tuple[Task, int]:
    """Close the open slots of the dialogue's task and return how many; without a task, make a closed one."""
    task = Task.objects.select_for_update().filter(dialogue=dialogue).order_by("-pk").first()
    if task is None:
        return _create_closed_task(project, dialogue)
    if Assignment.objects.filter(task=task, state__in=HELD).exists():
        raise Refusal(
            "in_work",
            _("Somebody is labelling this dialogue now."),
            _("Wait until it is finished or given back, or choose another one."),
        )
    withheld = task.open_slots
    if withheld and task.round_id is not None:  # its batch must not wait for a dialogue that nobody labels
        Batch.objects.filter(rounds=task.round_id).update(size=F("size") - 1)
        notify_final_label(task.round_id)
        task.round = None
    task.open_slots = 0
    task.save(update_fields=["open_slots", "round"])
    return task, withheld


def _create_closed_task(project: Project, dialogue: Dialogue) -> tuple[Task, int]:
    settings = LabellingSettings.objects.get(project=project)
    task = Task.objects.create(
        project=project,
        dialogue=dialogue,
        overlap=settings.overlap,
        open_slots=0,
        language=primary_language(dialogue.language),
        place=queue_place(settings, dialogue.pk),
    )
    return task, settings.overlap


@transaction.atomic
def retire_gold(*, trainer: User, project: Project, dialogue_id: int) -> None:
    """Give the dialogue back to annotators; it is no longer gold. Safe to repeat.

    Raises NotAllowed, Refusal: wrong_protocol, last_gold (of a test that is on).
    """
    check_trainer(trainer, project)
    test = lock_admission_test(project)
    locked = GoldDialogue.objects.select_for_update(of=("self",))
    gold = locked.filter(project=project, dialogue=dialogue_id, retired_at=None).first()
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
        reset_claim_cursors(project)
    record(gold, kind="gold_retired", project=project, actor=trainer, data={"dialogue": dialogue_id})
