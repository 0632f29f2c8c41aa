"""What each role may do in a project. One table, read by pages and API alike."""

from collections.abc import Mapping
from enum import StrEnum

from projects.models import Role


class Capability(StrEnum):
    SEE = "see"  # the project, its guidelines, one's own work
    ANNOTATE = "annotate"  # claim and submit work
    REVIEW = "review"  # judge others' finished work
    DECIDE = "decide"  # settle what annotators disagree on
    READ_DIALOGUES = "read_dialogues"  # any dialogue of the project
    READ_STATISTICS = "read_statistics"
    IMPORT = "import"
    EXPORT = "export"
    PUBLISH = "publish"  # push snapshots to a Hub
    TRAIN = "train"  # train models, compare and promote them
    CONFIGURE = "configure"  # settings, guidelines, planned dialogues, generator
    MANAGE_MEMBERS = "manage_members"


C = Capability
CAPABILITIES: Mapping[str, frozenset[Capability]] = {
    Role.ANNOTATOR: frozenset({C.SEE, C.ANNOTATE}),
    Role.CONTROLLER: frozenset({C.SEE, C.REVIEW, C.READ_DIALOGUES}),
    Role.TRAINER: frozenset({C.SEE, C.REVIEW, C.DECIDE, C.READ_DIALOGUES, C.READ_STATISTICS, C.CONFIGURE}),
    Role.ENGINEER: frozenset(
        {C.SEE, C.READ_DIALOGUES, C.READ_STATISTICS, C.IMPORT, C.EXPORT, C.PUBLISH, C.TRAIN, C.CONFIGURE}
    ),
    Role.MANAGER: frozenset(C) - {C.ANNOTATE, C.REVIEW, C.DECIDE},
}


def roles_with(capability: Capability) -> list[str]:
    """The roles that grant a capability."""
    return [role for role, granted in CAPABILITIES.items() if capability in granted]
