"""Who tries every operation, and what their roles allow."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models import User
from projects.models import Membership, Project, Role
from projects.roles import CAPABILITIES, Capability
from projects.services import remove_member

ANONYMOUS = "anonymous"
OUTSIDER = "outsider"
LEAVER = "leaver"
ANNOTATOR = "annotator"
COLLEAGUE = "colleague"
CONTROLLER = "controller"
TRAINER = "trainer"
ENGINEER = "engineer"
MANAGER = "manager"
SUPERUSER = "superuser"
READER = "reader"

OWN = "own"  # the key of what differs from person to person

# The colleague is a second annotator: the things of the first one are not theirs.
ROLES: Mapping[str, tuple[Role, ...]] = {
    ANONYMOUS: (),
    OUTSIDER: (),
    LEAVER: (),
    ANNOTATOR: (Role.ANNOTATOR,),
    COLLEAGUE: (Role.ANNOTATOR,),
    CONTROLLER: (Role.CONTROLLER,),
    TRAINER: (Role.TRAINER,),
    ENGINEER: (Role.ENGINEER,),
    MANAGER: (Role.MANAGER,),
    SUPERUSER: (Role.MANAGER,),  # without a membership
    READER: tuple(Role),
}
STRANGERS = (OUTSIDER, LEAVER)


def capabilities(identity: str) -> frozenset[Capability]:
    return frozenset[Capability]().union(*(CAPABILITIES[role] for role in ROLES[identity]))


@dataclass(frozen=True, slots=True)
class People:
    """By identity, without anonymous. Names, display names and addresses occur in no text of the pages."""

    by_identity: Mapping[str, User]

    def __getitem__(self, identity: str) -> User:
        return self.by_identity[identity]

    def join(self, project: Project) -> None:
        """Everybody with their roles; the leaver as an annotator, until `leave`."""
        memberships = {identity: roles for identity, roles in ROLES.items() if identity != SUPERUSER}
        memberships[LEAVER] = (Role.ANNOTATOR,)
        for identity, roles in memberships.items():
            if roles:
                Membership.objects.update_or_create(
                    project=project, user=self[identity], defaults={"roles": list(roles)}
                )

    def leave(self, project: Project, identity: str) -> None:
        remove_member(project=project, actor=None, user=self[identity])


def create_people() -> People:
    rows = {
        identity: User(
            username=f"x-{identity}",
            display_name=f"Quinn {identity.title()}",
            email=f"{identity}@people.example",
            is_superuser=identity == SUPERUSER,
            is_staff=identity == SUPERUSER,
        )
        for identity in ROLES
        if identity != ANONYMOUS
    }
    User.objects.bulk_create(rows.values())
    return People(rows)
