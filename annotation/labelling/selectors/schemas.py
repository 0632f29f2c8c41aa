"""The versions of a project's list of questions."""

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from annotation.labelling.models.labels import LabellingSettings, Schema, Submission
from annotation.labelling.schema.questions import QuestionSchema
from annotation.labelling.schema.reading import read_schema
from common.refusals import NotFound
from projects.models import Project

CACHE_SIZE = 64
NEWEST_VERSION = 2**31 - 1  # the largest version number that the database can hold
# By checksum, which identifies the content whatever row holds it.
_CACHE: dict[str, QuestionSchema] = {}


def load_schema(row: Schema) -> QuestionSchema:
    """Parse the questions of a version; cached per process."""
    if (schema := _CACHE.get(row.sha256)) is None:
        schema = _CACHE[row.sha256] = read_schema(row.content)
        if len(_CACHE) > CACHE_SIZE:
            _CACHE.pop(next(iter(_CACHE)), None)
    return schema


def schema_versions(project: Project) -> QuerySet[Schema]:
    """Newest first, with the author and `answered`: the number of live submissions for the version."""
    live = Submission.objects.filter(schema=OuterRef("pk"), superseded_at=None).order_by()
    counts = live.values("schema").annotate(n=Count("pk")).values("n")
    rows = Schema.objects.filter(project=project).select_related("created_by")
    return rows.annotate(answered=Coalesce(Subquery(counts), 0)).order_by("-version")


def count_answers(row: Schema) -> int:
    """The number of live submissions for this version."""
    return Submission.objects.filter(schema=row, superseded_at=None).count()


def get_schema_version(project: Project, version: int) -> Schema:
    row = Schema.objects.filter(project=project, version=version).select_related("created_by").first()
    if row is None:
        raise NotFound(
            _("This project has no schema version %(n)d.") % {"n": version},
            _("Choose a version from the list."),
        )
    return row


def newest_version(project: Project) -> Schema | None:
    return Schema.objects.filter(project=project).select_related("created_by").order_by("-version").first()


def current_schema(project: Project) -> Schema | None:
    """The version that new work uses."""
    settings = LabellingSettings.objects.filter(project=project).select_related("schema__created_by").first()
    return settings.schema if settings else None
