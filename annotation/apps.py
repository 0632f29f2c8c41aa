from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from accounts.models import User
    from common.refusals import Refusal
    from dialogues.models import Dialogue
    from dialogues.parsing.parsed_dialogue import ParsedDialogue
    from dialogues.parsing.row_errors import RowError
    from projects.models import Project
    from projects.roles import Capability


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = _("Annotation")

    def ready(self) -> None:
        """Connect the rooms: a lower one asks, a higher one answers."""
        from annotation.deletion.selectors import AFFECTED, COUNTERS, SUBJECTS
        from annotation.labelling.selectors.visibility import HIDDEN_LABELS
        from annotation.labelling.services.resolution import AFTER_FINAL_LABEL
        from annotation.tasks.selectors.untouched import KEPT_DIALOGUES
        from annotation.tasks.services.claiming import ADMISSION_CHECKS
        from dialogues.services import deleting
        from dialogues.services.languages import BEFORE_LANGUAGE_SET
        from dialogues.services.storing import BEFORE_STORE, PROJECT_CHECKS
        from dialogues.services.undoing import KEPT_IF, LOCKS
        from jobs.registry import register
        from projects.roles import Capability

        work = "annotation.labelling.services.statistics.run_statistics_job"
        register("agreement", work, needs=Capability.READ_STATISTICS)
        work = "annotation.labelling.services.replanning.run_resolve_job"
        register("resolve_tasks", work, needs=Capability.CONFIGURE)
        KEPT_IF.update(KEPT_DIALOGUES)
        LOCKS.append(lock_work)
        deleting.COUNTERS.update(COUNTERS)
        deleting.AFFECTED.update(AFFECTED)
        deleting.SUBJECTS.extend(SUBJECTS)
        deleting.BEFORE_DELETE.append(forget_work)
        PROJECT_CHECKS.append(check_import)
        BEFORE_STORE.append(follow_import)
        BEFORE_LANGUAGE_SET.append(follow_language)
        ADMISSION_CHECKS.append(check_admission)
        AFTER_FINAL_LABEL.append(seal_round)
        HIDDEN_LABELS.append(hide_labels)


# Each function imports its service when it is called: a process loads only what it uses.


def follow_language(project: "Project", dialogues: "QuerySet[Dialogue]", language: str) -> None:
    """Tasks have the language of their dialogue."""
    from annotation.labelling.services.planning import follow_language

    follow_language(project, dialogues, language)


def check_import(project: "Project", parsed: "ParsedDialogue") -> "RowError | None":
    """Say why the annotations of an imported dialogue do not fit the project; None if they do."""
    from annotation.labelling.services.imported_labels import annotation_error

    return annotation_error(project, parsed)


def follow_import(project: "Project", new: "Sequence[tuple[Dialogue, ParsedDialogue]]") -> None:
    """Store the labels of imported dialogues that have annotations; make tasks of the others."""
    from annotation.labelling.services.imported_labels import store_labels
    from annotation.labelling.services.planning import plan_imported_dialogues

    plan_imported_dialogues(project, store_labels(project, new))


def check_admission(annotator: "User", project: "Project") -> "Refusal | None":
    """Refuse people who have not passed the project's admission test."""
    from annotation.onboarding.selectors.admission import admission_needed

    return admission_needed(annotator, project)


def lock_work(dialogues: "Sequence[int]") -> None:
    """Lock what people do with dialogues that are about to be removed."""
    from annotation.deletion import services

    services.lock_work(dialogues)


def forget_work(dialogues: "Sequence[int]") -> None:
    """Remove what people did with dialogues that are deleted."""
    from annotation.deletion import services

    services.forget_work(dialogues)


def seal_round(*, round_id: int) -> None:
    """Seal the round of a batch when its last dialogue has a final label."""
    from annotation.batch_review.services.sealing import seal_when_complete

    seal_when_complete(round_id=round_id)


def hide_labels(reader: "User", project: "Project", granted: "Set[Capability]") -> "QuerySet[Any]":
    """Hide the labels that the reader may have to judge blind."""
    from annotation.batch_review.selectors.visibility import blind_items_for

    return blind_items_for(reader, project, granted)
