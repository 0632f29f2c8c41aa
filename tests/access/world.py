"""Three projects with one of everything that an address can name, and the people who try them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from accounts.services import create_token
from annotation.project_setup.services import create_project
from jobs.models import Job
from projects.password_links.services import make_operator_link
from tests.access.authoring_world import create_authoring_world
from tests.access.labelling_world import create_labelling_world
from tests.access.people import ANNOTATOR, COLLEAGUE, MANAGER, OUTSIDER, OWN, READER, People, create_people
from tests.access.study_world import create_study_world

# Of charts and files, which have no row.
NAMES = {
    "{suffix}": "csv",
    "{language}": "en",
    "{version}": "0",
    "presets/{name}": "diqad",
    "statistics/{name}": "table-1",
    "comparison/{name}": "p-at-1",
    "accuracy/{name}": "classes",
    "boards/{name}": "states",
    "report/{name}": "lengths",
    "report/{chart}": "metrics",
    "topics/{name}": "topics",
    "compare/{name}": "results",
    "p/{slug}/trainings/{run_id}/{name}.{suffix}": {"{run_id}/{name}": "loss"},
    "p/{slug}/evaluations/{evaluation_id}/{name}.{suffix}": {"{evaluation_id}/{name}": "ranking"},
    "p/{slug}/evaluators/scores/{run_id}/{name}.{suffix}": {"{run_id}/{name}": "all", "{suffix}": "jsonl"},
    "p/{slug}/evaluators/comparisons/{evaluation_id}/{name}.{suffix}": {
        "{evaluation_id}/{name}": "report",
        "{suffix}": "json",
    },
    "p/{slug}/people/{of}/{name}.{suffix}": {"{of}/{name}": "weeks"},
    "p/{slug}/collections/{pk}/{name}.{suffix}": {"{pk}/{name}": "report", "{suffix}": "json"},
}


@dataclass(frozen=True, slots=True)
class World:
    """values: by the name of a world, what stands in an address for each of its parameters."""

    people: People
    values: Mapping[str, Mapping[str, Any]]
    token: str

    def values_for(self, name: str, identity: str) -> Mapping[str, Any]:
        """Those of the world; where people have things of their own, theirs."""
        values = self.values[name]
        return {**values, **values.get(OWN, {}).get(identity, {})}


def create_world() -> World:
    people = create_people()
    other = create_project(slug="other", preset="diamante", actor=people[OUTSIDER], title="Other")
    token, _plain = create_token(user=people[ANNOTATOR], name="spare", scopes=["read"])
    link = make_operator_link(actor=None, user=people[COLLEAGUE], link_id=uuid4())
    gone = {"project": 0, "slug": "gone", "title": "Gone"}
    deletion = Job.objects.create(kind="delete_project", created_by=people[MANAGER], parameters=gone)
    common = {
        **NAMES,
        "deletions/{job_id}": deletion.pk,
        "project-deletions/{pk}": deletion.pk,
        "tokens/{pk}": token.pk,
        "tokens/{token_id}": token.pk,
        "password-link/{link_id}": link.url.partition("?")[0].strip("/").rpartition("/")[2],
        "people/{user_id}": people[COLLEAGUE].pk,
        "people/{of}": people[COLLEAGUE].pk,
    }
    worlds = {
        "authoring": create_authoring_world(people, other),
        "labelling": create_labelling_world(people),
        "study": create_study_world(people),
    }
    values = {name: {**common, "{slug}": project.slug, **own} for name, (project, own) in worlds.items()}
    _row, plain = create_token(user=people[READER], name="reader", scopes=["read"])
    return World(people, values, plain)
