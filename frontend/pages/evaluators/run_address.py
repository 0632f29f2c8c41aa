"""The address of a scoring run, and the run that an address names."""

from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from preference.evaluators.models import ScoringRun
from preference.evaluators.selectors.scoring import scoring_run_for

RUN_URL: Final = "p/<slug:slug>/evaluators/scores/<uuid:run_id>/"


def run_in(user: User, slug: str, run_id: UUID) -> ScoringRun:
    """Raises NotFound unless the run is of this project and the person may train in it."""
    run = scoring_run_for(user, run_id)
    if run.project.slug != slug:
        raise NotFound(_("There are no such scores in this project."), _("Look them up in the list."))
    return run
