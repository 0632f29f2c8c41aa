"""Confirming that one has read the guidelines."""

from django.db import transaction

from accounts.models import User
from annotation.onboarding.models import GuidelinesRead
from annotation.onboarding.selectors.guidelines import guidelines_version
from projects.models import Project


@transaction.atomic
def acknowledge_guidelines(*, user: User, project: Project, version: int) -> GuidelinesRead:
    """version: the one that the person saw; later ones stay unread. Safe to repeat, in any order."""
    row, _created = GuidelinesRead.objects.select_for_update().get_or_create(
        project=project, user=user, defaults={"version": 1}
    )
    seen = min(version, guidelines_version(project))
    if seen > row.version:
        row.version = seen
        row.save(update_fields=["version"])
    return row
