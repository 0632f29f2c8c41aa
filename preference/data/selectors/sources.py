"""What an export of a project reads: its dialogues, or the conversations of a study."""

from preference.data.selectors.selection import Filters, Preview, Selection, preview, select
from preference.data.selectors.study import StudySelection, preview_study, select_study
from projects.models import Project, Protocol


def select_source(project: Project, filters: Filters) -> Selection | StudySelection:
    """What the filters let through at this moment."""
    if project.protocol == Protocol.ASSESSMENT:
        return select_study(project, filters)
    return select(project, filters)


def preview_source(project: Project, filters: Filters, format: str = "") -> Preview:
    """What an export with these filters would take. format: some withhold dialogues."""
    if project.protocol == Protocol.ASSESSMENT:
        return preview_study(project, filters, format)
    return preview(project, filters, format)
