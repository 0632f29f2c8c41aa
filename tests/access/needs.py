"""What every operation needs, as product and roles have it; the matrix compares the answers with this table.

An operation is tried in each world whose table has a line for it. The first line that matches counts; `*` stands for
any text. A line names the capabilities of which one is enough, and the people to whom the thing belongs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from projects.roles import Capability as C  # noqa: N817
from tests.access.people import (
    ANNOTATOR,
    ANONYMOUS,
    COLLEAGUE,
    MANAGER,
    OUTSIDER,
    ROLES,
    SUPERUSER,
    capabilities,
)
from tests.access.routes import Operation


@dataclass(frozen=True, slots=True)
class Need:
    """public: also without an account. people: to whom the thing belongs, whatever their roles.

    in_project: to people outside of the project it does not exist.
    """

    any_of: frozenset[C] = frozenset()
    people: frozenset[str] = frozenset()
    public: bool = False
    in_project: bool = True

    def __or__(self, other: "Need") -> "Need":
        return Need(self.any_of | other.any_of, self.people | other.people)

    def allows(self, identity: str) -> bool:
        return self.public or identity in self.people or bool(capabilities(identity) & self.any_of)


def one_of(*any_of: C) -> Need:
    return Need(any_of=frozenset(any_of))


def only(*people: str) -> Need:
    return Need(people=frozenset(people))


def on_server(need: Need) -> Need:
    """What belongs to no project; who manages or configures another project may do it, too."""
    return (
        replace(need | only(OUTSIDER), in_project=False) if need.any_of else replace(need, in_project=False)
    )


PUBLIC = Need(public=True)
SIGNED_IN = on_server(only(*(identity for identity in ROLES if identity != ANONYMOUS)))
OPERATOR = on_server(only(SUPERUSER))
SEE, ANNOTATE, REVIEW, DECIDE = one_of(C.SEE), one_of(C.ANNOTATE), one_of(C.REVIEW), one_of(C.DECIDE)
READ, STATISTICS = one_of(C.READ_DIALOGUES), one_of(C.READ_STATISTICS)
IMPORT, EXPORT, TRAIN = one_of(C.IMPORT), one_of(C.EXPORT), one_of(C.TRAIN)
PUBLISH = one_of(C.PUBLISH)
CONFIGURE, MEMBERS = one_of(C.CONFIGURE), one_of(C.MANAGE_MEMBERS)
JOBS = IMPORT | EXPORT | CONFIGURE
BATCHES = REVIEW | STATISTICS | CONFIGURE
ANNOTATORS = only(ANNOTATOR)
BOTH_ANNOTATORS = only(ANNOTATOR, COLLEAGUE)

Table = Mapping[str, Need]

# ---- what belongs to no project --------------------------------------------------------------------------------------

ACCOUNT: Table = {
    "* api/": PUBLIC,
    "* api/schema/": PUBLIC,
    "* api/docs/": PUBLIC,
    "* jsi18n/*": PUBLIC,
    "* service-worker.js": PUBLIC,
    "* invitation/": PUBLIC,  # the link is the permission
    "* account/password-link/*": PUBLIC,  # the link is the permission
    "* account/language/": PUBLIC,
    "* account/theme/": PUBLIC,
    "* account/people/*": OPERATOR,
    "* account/tokens/{token_id}/revoke/": SIGNED_IN,  # of somebody else's token it does nothing
    "* api/v1/tokens/{pk}/": ANNOTATORS,
    "* account/*": SIGNED_IN,
    "* api/v1/me/": SIGNED_IN,
    "* api/v1/tokens/": SIGNED_IN,
    "GET api/v1/projects/": SIGNED_IN,
    "* projects/archived/": SIGNED_IN,
    "* projects/deletions/{job_id}/*": on_server(only(MANAGER, SUPERUSER)),  # whoever started it
    "* api/v1/project-deletions/{pk}/*": on_server(only(MANAGER, SUPERUSER)),
    "* ": SIGNED_IN,
}

# ---- an authoring project --------------------------------------------------------------------------------------------

AUTHORING_API: Table = {
    "GET api/v1/projects/{slug}/": SEE,
    "PATCH api/v1/projects/{slug}/": CONFIGURE,
    "* api/v1/projects/{slug}/authoring/": CONFIGURE,
    "* api/v1/projects/{slug}/members/*": MEMBERS,
    "* api/v1/projects/{slug}/rate/": MEMBERS,
    "* api/v1/projects/{slug}/invitations/": MEMBERS,
    "* api/v1/projects/{slug}/events/": MEMBERS,
    "* api/v1/projects/{slug}/copies/": MEMBERS,
    "* api/v1/projects/{slug}/deletion/": MEMBERS,
    "* api/v1/projects/{slug}/link-invitations/*": MEMBERS,
    "* api/v1/projects/{slug}/webhooks/*": MEMBERS,
    "* api/v1/projects/{slug}/models-of-others/*": MEMBERS,
    "* api/v1/generators/{slug}/sharing/*": MEMBERS,
    "* api/v1/projects/{slug}/jobs/": JOBS,
    "GET api/v1/jobs/{pk}/": JOBS,
    "POST api/v1/jobs/{pk}/*": IMPORT,  # the world's job is an import
    "* api/v1/projects/{slug}/imports/": IMPORT,
    "* api/v1/imports/{pk}/*": IMPORT,
    "* api/v1/projects/{slug}/dialogues/": READ,
    "* api/v1/projects/{slug}/candidate-sets/": READ,
    "GET api/v1/dialogues/{pk}/": READ,
    "* api/v1/dialogues/{pk}/deletion/": MEMBERS,
    "* api/v1/projects/{slug}/deleted-dialogues/": MEMBERS,
    "* api/v1/dialogues/{pk}/review/": REVIEW,
    "* api/v1/dialogues/{pk}/topic/": CONFIGURE,
    "* api/v1/projects/{slug}/reviews/": REVIEW,
    "* api/v1/candidate-requests/{pk}/*": ANNOTATORS,
    "GET api/v1/projects/{slug}/assignments/": SEE,  # one's own
    "POST api/v1/projects/{slug}/assignments/": ANNOTATE,
    "* api/v1/assignments/{pk}/*": ANNOTATORS,
    "* api/v1/projects/{slug}/plan/": CONFIGURE,
    "* api/v1/projects/{slug}/statistics/": STATISTICS,
    "* api/v1/projects/{slug}/forecast/": STATISTICS,
    "* api/v1/projects/{slug}/threads/": SEE,
    "* api/v1/threads/{pk}/messages/": READ | ANNOTATORS,
    "* api/v1/projects/{slug}/exports/*": EXPORT,
    "* api/v1/exports/{pk}/*": EXPORT,
    "* api/v1/projects/{slug}/snapshots/": EXPORT,
    "* api/v1/snapshots/{pk}/push/": PUBLISH,
    "* api/v1/snapshots/{pk}/*": EXPORT,
    "GET api/v1/projects/{slug}/hub-token/": PUBLISH,
    "* api/v1/projects/{slug}/hub-token/": MEMBERS,
    "* api/v1/projects/{slug}/training-runs/*": TRAIN,
    "* api/v1/training-runs/{pk}/*": TRAIN,
    "* api/v1/projects/{slug}/models/": TRAIN,
    "* api/v1/projects/{slug}/model-uploads/*": TRAIN,
    "* api/v1/models/{slug}/*": TRAIN,
    "* api/v1/projects/{slug}/promotions/*": TRAIN,
    "* api/v1/projects/{slug}/evaluations/*": TRAIN,
    "* api/v1/evaluations/{pk}/": TRAIN,
    "GET api/v1/projects/{slug}/topics/": READ,
    "PUT api/v1/projects/{slug}/topics/": CONFIGURE,
    "* api/v1/projects/{slug}/topics/counts/": STATISTICS,
}

AUTHORING_PAGES: Table = {
    "* p/{slug}/": SEE,
    "POST p/{slug}/guidelines/preview/": CONFIGURE,
    "* p/{slug}/guidelines/*": SEE,
    "POST p/{slug}/settings/archive/": MEMBERS,
    "* p/{slug}/settings/copy/": MEMBERS,
    "* p/{slug}/settings/hub-token/*": MEMBERS,
    "* p/{slug}/settings/webhooks/*": MEMBERS,
    "* p/{slug}/settings/delete/": MEMBERS,
    "* p/{slug}/history/": MEMBERS,
    "* p/{slug}/settings/[!l]*": CONFIGURE,
    "* p/{slug}/settings/": CONFIGURE,
    "* p/{slug}/members/*": MEMBERS,
    "* p/{slug}/people/*": MEMBERS,
    "* p/{slug}/invitations/*": MEMBERS,
    "POST p/{slug}/jobs/{job_id}/*": IMPORT,  # the world's job is an import
    "* p/{slug}/jobs/*": JOBS,
    "* p/{slug}/queue/": ANNOTATE,
    "* p/{slug}/queue/next/": ANNOTATE,
    "* p/{slug}/queue/read/*": SEE,  # of one's own dialogues
    "* p/{slug}/a/{assignment_id}/*": ANNOTATORS,
    "* p/{slug}/review/*": REVIEW,
    "* p/{slug}/threads/": SEE,
    "* p/{slug}/threads/{dialogue_id}/": READ | ANNOTATORS,
    "* p/{slug}/threads/{thread_id}/faq/": DECIDE,
    "* p/{slug}/dialogues/{dialogue_id}/topic/": CONFIGURE,
    "* p/{slug}/dialogues/deleted/": MEMBERS,
    "* p/{slug}/dialogues/{dialogue_id}/delete/": MEMBERS,
    "* p/{slug}/dialogues/*": READ,
    "GET p/{slug}/statistics/*": STATISTICS,
    "* p/{slug}/imports/*": IMPORT,
    "* p/{slug}/exports/*": EXPORT,
    "* p/{slug}/snapshots/{snapshot_id}/push/": PUBLISH,
    "* p/{slug}/snapshots/*": EXPORT,
    "* p/{slug}/trainings/*": TRAIN,
    "* p/{slug}/models/{name}/offer/": MEMBERS,
    "* p/{slug}/models/{name}/stop-sharing/": MEMBERS,
    "* p/{slug}/models/{name}/accept/": MEMBERS,
    "* p/{slug}/models/{name}/decline/": MEMBERS,
    "* p/{slug}/models/*": TRAIN,
    "* p/{slug}/comparison/*": TRAIN,
    "* p/{slug}/promotions/*": TRAIN,
    "* p/{slug}/evaluations/*": TRAIN,
}

# ---- a labelling project ---------------------------------------------------------------------------------------------

LABELLING_API: Table = {
    "* api/v1/projects/{slug}/agreement/": STATISTICS,
    "* api/v1/projects/{slug}/uch/": STATISTICS,
    "POST api/v1/projects/{slug}/batches/": CONFIGURE,
    "GET api/v1/projects/{slug}/batches/plan/": BATCHES,
    "PATCH api/v1/projects/{slug}/batches/plan/": CONFIGURE,
    "* api/v1/projects/{slug}/batches/boards/": STATISTICS,
    "* api/v1/projects/{slug}/rounds/": BATCHES,
    "* api/v1/projects/{slug}/appeals/": SEE,
    "* api/v1/projects/{slug}/judged/": ANNOTATE,
    "GET api/v1/rounds/{pk}/": BATCHES,
    "* api/v1/rounds/{pk}/seal/": CONFIGURE,
    "* api/v1/rounds/{pk}/unseal/": CONFIGURE,
    "* api/v1/rounds/{pk}/group/": CONFIGURE,
    "GET api/v1/rounds/{pk}/sample/": BATCHES,
    "* api/v1/rounds/{pk}/*": REVIEW,
    "POST api/v1/sample-items/{pk}/appeals/": ANNOTATORS | DECIDE,
    "* api/v1/sample-items/{pk}/*": REVIEW,
    "* api/v1/appeals/{pk}/settlement/": DECIDE,
    "* api/v1/projects/{slug}/labelling/claim/": ANNOTATE,
    "* api/v1/projects/{slug}/labelling/mine/": SEE,
    "* api/v1/projects/{slug}/labelling/": CONFIGURE,
    "GET api/v1/projects/{slug}/labels/": EXPORT,
    "* api/v1/projects/{slug}/labelling/plan/": CONFIGURE,
    "* api/v1/projects/{slug}/labelling/replans/*": CONFIGURE,
    "* api/v1/projects/{slug}/confirmations/": SEE,  # one's own
    "* api/v1/projects/{slug}/disputes/": DECIDE,
    "* api/v1/labelling/{pk}/*": ANNOTATORS,
    "* api/v1/disputes/{pk}/*": DECIDE,
    "GET api/v1/projects/{slug}/schemas/current/": SEE,
    "GET api/v1/projects/{slug}/schemas/{version}/": SEE,
    "* api/v1/projects/{slug}/schemas/*": CONFIGURE,
    "* api/v1/projects/{slug}/threads/": SEE,
    "* api/v1/threads/{pk}/messages/": READ | ANNOTATORS,
    "* api/v1/projects/{slug}/admission/": ANNOTATE,
    "* api/v1/admission/{pk}/*": ANNOTATORS,
    "GET api/v1/dialogues/{pk}/": READ,
    "* api/v1/projects/{slug}/scoring-runs/": TRAIN,
    "* api/v1/scoring-runs/{pk}/*": TRAIN,
    "* api/v1/projects/{slug}/meta-evaluations/": TRAIN,
    "* api/v1/meta-evaluations/{pk}/": TRAIN,
    "* api/v1/projects/{slug}/tagging-runs/": TRAIN,
    "* api/v1/tagging-runs/{pk}/*": TRAIN,
}

LABELLING_PAGES: Table = {
    "* p/{slug}/": SEE,
    "GET p/{slug}/schema/presets/*": CONFIGURE,
    "GET p/{slug}/schema/*": SEE,
    "POST p/{slug}/schema/*": CONFIGURE,
    "* p/{slug}/settings/labelling/": CONFIGURE,
    "* p/{slug}/settings/labelling/replan/*": CONFIGURE,
    "* p/{slug}/queue/": ANNOTATE,
    "* p/{slug}/label/": ANNOTATE,
    "* p/{slug}/label/{assignment_id}/": ANNOTATORS,
    "* p/{slug}/batches/cut/": CONFIGURE,
    "* p/{slug}/batches/plan/": CONFIGURE,
    "* p/{slug}/batches/boards/*": STATISTICS,
    "* p/{slug}/batches/{number}/sample/": REVIEW,
    "* p/{slug}/batches/*": BATCHES,
    "* p/{slug}/rounds/{pk}/seal/": CONFIGURE,
    "* p/{slug}/rounds/{pk}/unseal/": CONFIGURE,
    "* p/{slug}/rounds/{pk}/group/": CONFIGURE,
    "* p/{slug}/rounds/{pk}/*": REVIEW,
    "* p/{slug}/appeals/": SEE,
    "* p/{slug}/appeals/{pk}/": DECIDE,
    "* p/{slug}/samples/{pk}/appeal/": ANNOTATORS | DECIDE,
    "* p/{slug}/accuracy/*": ANNOTATE,
    "* p/{slug}/training/*": DECIDE,
    "* p/{slug}/admission/": ANNOTATE,
    "* p/{slug}/admission/begin/": ANNOTATE,
    "* p/{slug}/admission/{try_id}/*": ANNOTATORS,
    "* p/{slug}/confirmations/": ANNOTATE,
    "* p/{slug}/disputes/*": DECIDE,
    "* p/{slug}/disagreed/": DECIDE,
    "* p/{slug}/threads/": SEE,
    "* p/{slug}/threads/{dialogue_id}/": READ | ANNOTATORS,
    "* p/{slug}/threads/{thread_id}/faq/": DECIDE,
    "* p/{slug}/dialogues/": READ,
    "GET p/{slug}/dialogues/{dialogue_id}/": READ | ANNOTATORS,
    "* p/{slug}/statistics/*": STATISTICS,
    "* p/{slug}/evaluators/*": TRAIN,
    "* p/{slug}/topics/new/": TRAIN,
    "* p/{slug}/topics/runs/*": TRAIN,
    "* p/{slug}/topics/*": STATISTICS,
}

# ---- a study ---------------------------------------------------------------------------------------------------------

STUDY: Table = {
    "* join/*": PUBLIC,  # participants have a link and a cookie, no account
    "GET api/v1/projects/{slug}/collections/*": STATISTICS,
    "POST api/v1/projects/{slug}/collections/*": CONFIGURE,
    "GET api/v1/projects/{slug}/runs/*": STATISTICS,
    "* api/v1/projects/{slug}/runs/*": CONFIGURE,
    "* api/v1/projects/{slug}/assessment-report/": STATISTICS,
    "GET api/v1/dialogues/{pk}/": READ,
    "* p/{slug}/dialogues/deleted/": MEMBERS,
    "* p/{slug}/dialogues/{dialogue_id}/delete/": MEMBERS,
    "* p/{slug}/": SEE,
    "* p/{slug}/systems/*": CONFIGURE,
    "* p/{slug}/study/*": CONFIGURE,
    "* p/{slug}/runs/{number}/take-part/": SEE,
    "* p/{slug}/take-part/": SEE,
    "* p/{slug}/runs/new/": CONFIGURE,
    "GET p/{slug}/runs/*": STATISTICS,
    "POST p/{slug}/runs/*": CONFIGURE,
    "* p/{slug}/collections/new/*": CONFIGURE,
    "GET p/{slug}/collections/*": STATISTICS,
    "POST p/{slug}/collections/*": CONFIGURE,
    "* p/{slug}/participants/": STATISTICS,
    "* p/{slug}/report/*": STATISTICS,
    "GET p/{slug}/dialogues/*": READ,
}

SERVER: Table = {
    "POST api/v1/projects/": on_server(MEMBERS),
    "* projects/new/": on_server(MEMBERS),
    "GET api/v1/generators/": on_server(CONFIGURE),
    "POST api/v1/generators/": on_server(CONFIGURE),
    "GET api/v1/generators/{slug}/": replace(CONFIGURE, in_project=False),
    "PATCH api/v1/generators/{slug}/": OPERATOR,
}

WORLDS: Mapping[str, Table] = {
    "authoring": {**ACCOUNT, **SERVER, **AUTHORING_API, **AUTHORING_PAGES},
    "labelling": {**LABELLING_API, **LABELLING_PAGES},
    "study": STUDY,
}


@dataclass(slots=True)
class Lines:
    """The lines of a table, and which of them were used."""

    table: Table
    used: set[str] = field(default_factory=set)

    def need_of(self, operation: Operation) -> Need | None:
        for line, need in self.table.items():
            method, _space, pattern = line.partition(" ")
            if method in ("*", operation.method) and fnmatchcase(operation.route, pattern):
                self.used.add(line)
                return need
        return None
