"""Which export formats hold what a project makes."""

from preference.models import Shape
from projects.models import Project, Protocol

BOTH = (Protocol.AUTHORING, Protocol.LABELLING)
PROTOCOLS: dict[Shape, tuple[Protocol, ...]] = {
    Shape.DIAMANTE: (Protocol.AUTHORING,),
    Shape.SFT: (Protocol.AUTHORING,),
    Shape.DIALEVAL: (Protocol.LABELLING,),
    Shape.DIQAD: (Protocol.LABELLING,),
    Shape.JUDGEMENTS: BOTH,
}


def shapes_of(protocol: str) -> list[Shape]:
    """In the order in which they are offered."""
    return [shape for shape, protocols in PROTOCOLS.items() if protocol in protocols]


def shapes_for(project: Project) -> list[Shape]:
    """Of a project's protocol."""
    return shapes_of(project.protocol)
