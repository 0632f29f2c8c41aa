"""The settings that every protocol has."""

from typing import cast

from django.utils.translation import gettext as _

from annotation.tasks.models.work import WorkSettings
from common.refusals import Refusal
from projects.models import Project, Protocol


def work_settings(project: Project) -> WorkSettings:
    """The settings of the project's protocol; no query if they were fetched with the project.

    Raises Refusal wrong_protocol for a protocol without tasks.
    """
    if project.protocol not in (Protocol.AUTHORING, Protocol.LABELLING):
        raise Refusal(
            "wrong_protocol",
            _("This project has no dialogues to write or to label."),
            _("Look at its overview to see what you can do there."),
        )
    settings = project.labelling if project.protocol == Protocol.LABELLING else project.authoring
    return cast(WorkSettings, settings)
