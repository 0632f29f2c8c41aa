"""Reading the versions of a project's list of questions."""

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from annotation.labelling.models.labels import LabellingSettings, Schema, Submission
from annotation.labelling.schema.questions import QuestionSchema
from annotation.labelling.schema.reading import read_schema
from common.refusals import NotFound
from projects.models import Project

CACHED = 64
# By the sum of the content: it says which content it is, whatever row holds it.
_KNOWN: dict[str, QuestionSchema] = {}


def load_schema(row: Schema) -> QuestionSchema:
    """The questions of a version, read once per process."""
    if (known := _KNOWN.get(row.sha256)) is None:
        known = _KNOWN[row.sha256] = read_schema(row.content)
        if len(_KNOWN) > CACHED:
            _KNOWN.pop(next(iter(_KNOWN)), None)
    return known


def schema_versions(project: Project) -> QuerySet[Schema]:
    """Newest first, with who made it and `answered`: how many submissions answer it now."""
    live = Submission.objects.filter(schema=OuterRef("pk"), superseded_at=None).order_by()
    counted = live.values("schema").annotate(n=Count("pk")).values("n")
    rows = Schema.objects.filter(project=project).select_related("created_by")
    return rows.annotate(answered=Coalesce(Subquery(counted), 0)).order_by("-version")


def count_answers(row: Schema) -> int:
    """How many submissions answer this version now."""
    return Submission.objects.filter(schema=row, superseded_at=None).count()


def get_schema_version(project: Project, version: int) -> Schema:
    row = Schema.objects.filter(project=project, version=version).select_related("created_by").first()
    if row is None:
        raise NotFound(
            _("This project has no schema version %(n)d.") % {"n": version},
            _("Choose one of those that the list shows."),
        )
    return row


def newest_version(project: Project) -> Schema | None:
    return Schema.objects.filter(project=project).select_related("created_by").order_by("-version").first()


def current_schema(project: Project) -> Schema | None:
    """The version that new work is done under."""
    settings = LabellingSettings.objects.filter(project=project).select_related("schema__created_by").first()
    return settings.schema if settings else None


NEWEST_VERSION = 2**31 - 1
