"""Python client of a Lapidary server.

from lapidary import Client

project = Client("https://lapidary.example", token).project("chit-chat")
for label in project.labels(follow=True):
    print(label.external_id, label.values)
"""

from lapidary.annotating import Assignment
from lapidary.client import Client
from lapidary.errors import (
    BadRequest,
    BadToken,
    Changed,
    Conflict,
    ConnectionLost,
    ExtraMissing,
    FileDamaged,
    Gone,
    IdInUse,
    LapidaryError,
    NoRoom,
    NotAllowed,
    NotFound,
    NotReady,
    Problem,
    ScopeMissing,
    ServerFailed,
    ServerTooNew,
    ServerTooOld,
    TooLarge,
    TooManyRequests,
    Unavailable,
    WorkFailed,
    WorkTakesLonger,
)
from lapidary.exports import Export, Snapshot, SnapshotChanged
from lapidary.project import Project
from lapidary.rows import (
    Candidate,
    CandidateSet,
    Dialogue,
    Label,
    Me,
    Model,
    Person,
    Promotion,
    RefusedRow,
    Utterance,
)
from lapidary.sending import NotADialogue
from lapidary.transport import Retries
from lapidary.uploads import NotAModel
from lapidary.version import __version__
from lapidary.work import Import, Job

__all__ = [
    "Assignment",
    "BadRequest",
    "BadToken",
    "Candidate",
    "CandidateSet",
    "Changed",
    "Client",
    "Conflict",
    "ConnectionLost",
    "Dialogue",
    "Export",
    "ExtraMissing",
    "FileDamaged",
    "Gone",
    "IdInUse",
    "Import",
    "Job",
    "Label",
    "LapidaryError",
    "Me",
    "Model",
    "NoRoom",
    "NotADialogue",
    "NotAModel",
    "NotAllowed",
    "NotFound",
    "NotReady",
    "Person",
    "Problem",
    "Project",
    "Promotion",
    "RefusedRow",
    "Retries",
    "ScopeMissing",
    "ServerFailed",
    "ServerTooNew",
    "ServerTooOld",
    "Snapshot",
    "SnapshotChanged",
    "TooLarge",
    "TooManyRequests",
    "Unavailable",
    "Utterance",
    "WorkFailed",
    "WorkTakesLonger",
    "__version__",
]
