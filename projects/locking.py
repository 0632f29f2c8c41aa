"""The lock under which a project's changes that exclude each other run."""

from projects.models import Project


def lock_project(project_id: int) -> Project:
    """Lock a project until the end of the caller's transaction, and return it as it is stored now.

    Not its key: rows that refer to the project, such as claims and submissions, are stored meanwhile. Raises
    Project.DoesNotExist.
    """
    return Project.objects.select_for_update(no_key=True).get(pk=project_id)
