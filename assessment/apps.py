from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from generation.models import CandidateRequest
    from projects.models import Project


class AssessmentConfig(AppConfig):
    name = "assessment"
    verbose_name = _("Assessment")

    def ready(self) -> None:
        """Connect the rooms: a lower one asks, a higher one answers."""
        from annotation.project_setup.copying import SETTINGS_COPIERS
        from annotation.project_setup.presets.registry import PRESETS
        from annotation.project_setup.services import SETTINGS_CREATORS
        from assessment.deletion.services import copies_of, count_conversations, forget_conversations
        from assessment.report.services.rating_import import RatingStorage
        from assessment.setup.preset import LIVE_ASSESSMENT
        from dialogues.services import deleting
        from dialogues.services.storing import STORAGES
        from generation.worker import AFTER_ANSWER
        from jobs.registry import register
        from projects.models import Protocol
        from projects.roles import Capability

        deleting.COUNTERS["conversations"] = count_conversations
        deleting.COPIES.append(copies_of)
        deleting.BEFORE_DELETE.append(forget_conversations)
        PRESETS["live-assessment"] = LIVE_ASSESSMENT
        SETTINGS_CREATORS[Protocol.ASSESSMENT] = create_settings
        SETTINGS_COPIERS[Protocol.ASSESSMENT] = copy_settings
        STORAGES["assessment"] = RatingStorage
        AFTER_ANSWER.append(collect_answers)
        work = "assessment.collections.services.collecting.run_collection_job"
        register("collection", work, needs=Capability.CONFIGURE)


def create_settings(project: "Project") -> None:
    """Create the settings of a new assessment project."""
    from assessment.setup import services

    services.create_settings(project)


def copy_settings(source: "Project", made: "Project") -> None:
    """Copy the settings of an assessment project; its systems and runs stay with it."""
    from annotation.project_setup.copying import copy_row
    from assessment.setup.models import AssessmentSettings

    copy_row(source.assessment, AssessmentSettings, made)


def collect_answers(requests: "Sequence[CandidateRequest]") -> None:
    """Store replies of systems that are models of this server."""
    from assessment.sessions.services import generated

    generated.collect_answers(requests)
