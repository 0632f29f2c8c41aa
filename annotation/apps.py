from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from dialogues.models import Dialogue
    from dialogues.parsing import ParsedDialogue
    from projects.models import Project


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = _("Annotation")

    def ready(self) -> None:
        """Connect the rooms: where a lower one asks a question that a higher one answers."""
        from annotation.batch_review.selectors.sample_review import judged_blind
        from annotation.batch_review.services.batches import seal_when_complete
        from annotation.labelling.selectors.visibility import HIDDEN_LABELS
        from annotation.labelling.services.imported_labels import misfit
        from annotation.labelling.services.resolution import AFTER_FINAL_LABEL
        from annotation.onboarding.selectors.admission import admission_needed
        from annotation.tasks.services.claiming import ADMISSION_CHECKS
        from dialogues.services.storing import CHECKS, STORED_WITH
        from jobs.registry import register
        from projects.roles import Capability

        work = "annotation.labelling.services.statistics.carry_out_statistics"
        register("agreement", work, needs=Capability.READ_STATISTICS)
        CHECKS.append(misfit)
        STORED_WITH.append(follow_import)
        ADMISSION_CHECKS.append(admission_needed)
        AFTER_FINAL_LABEL.append(seal_when_complete)
        HIDDEN_LABELS.append(judged_blind)


def follow_import(project: "Project", new: "Sequence[tuple[Dialogue, ParsedDialogue]]") -> None:
    """Store the labels of imported dialogues that have annotations; make tasks of the others."""
    from annotation.labelling.services.imported_labels import store_labels
    from annotation.labelling.services.planning import plan_new

    plan_new(project, store_labels(project, new))
