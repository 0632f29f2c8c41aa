"""Which export formats hold what a project makes."""

from annotation.labelling.schema.questions import Scope
from annotation.labelling.selectors.schemas import current_schema, load_schema
from preference.data.models.exports import Shape
from projects.models import Project, Protocol

BOTH = (Protocol.AUTHORING, Protocol.LABELLING)
PROTOCOLS: dict[Shape, tuple[Protocol, ...]] = {
    Shape.DIAMANTE: (Protocol.AUTHORING,),
    Shape.QUADRUPLES: (Protocol.AUTHORING,),
    Shape.SFT: (Protocol.AUTHORING,),
    Shape.PREFERENCE: (Protocol.AUTHORING,),
    Shape.REWARD: (Protocol.AUTHORING,),
    Shape.KTO: (Protocol.AUTHORING,),
    Shape.DIALEVAL: (Protocol.LABELLING,),
    Shape.DIQAD: (Protocol.LABELLING,),
    Shape.JUDGEMENTS: BOTH,
}
# Those that a frozen data set makes too; the others need what only the project has.
FROZEN = (Shape.DIAMANTE, Shape.QUADRUPLES, Shape.SFT, Shape.PREFERENCE, Shape.REWARD, Shape.KTO)


def shapes_of(protocol: str) -> list[Shape]:
    """In the order in which they are offered."""
    return [shape for shape, protocols in PROTOCOLS.items() if protocol in protocols]


def shapes_for(project: Project) -> list[Shape]:
    """Of a project's protocol, and of its questions: without nuggets no dialeval, without quality no diqad."""
    shapes = shapes_of(project.protocol)
    if project.protocol != Protocol.LABELLING:
        return shapes
    row = current_schema(project)
    schema = load_schema(row) if row else None
    asked = {
        Shape.DIALEVAL: schema is not None and any(one.runs for one in schema.of_scope(Scope.UTTERANCE)),
        Shape.DIQAD: schema is not None and "quality" in schema.by_key,
    }
    return [shape for shape in shapes if asked.get(shape, True)]
