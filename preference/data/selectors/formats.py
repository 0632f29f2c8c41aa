"""Which export formats hold what a project makes."""

from annotation.labelling.schema.questions import Scope
from annotation.labelling.selectors.schemas import current_schema, load_schema
from preference.data.models.exports import FormatName
from projects.models import Project, Protocol

BOTH = (Protocol.AUTHORING, Protocol.LABELLING)
PROTOCOLS: dict[FormatName, tuple[Protocol, ...]] = {
    FormatName.DIAMANTE: (Protocol.AUTHORING,),
    FormatName.QUADRUPLES: (Protocol.AUTHORING,),
    FormatName.SFT: (Protocol.AUTHORING,),
    FormatName.PREFERENCE: (Protocol.AUTHORING,),
    FormatName.REWARD: (Protocol.AUTHORING,),
    FormatName.KTO: (Protocol.AUTHORING,),
    FormatName.DIALEVAL: (Protocol.LABELLING,),
    FormatName.DIQAD: (Protocol.LABELLING,),
    FormatName.JUDGEMENTS: BOTH,
}
# Those that a frozen data set makes too; the others need what only the project has.
FROZEN = (
    FormatName.DIAMANTE,
    FormatName.QUADRUPLES,
    FormatName.SFT,
    FormatName.PREFERENCE,
    FormatName.REWARD,
    FormatName.KTO,
)


def formats_of_protocol(protocol: str) -> list[FormatName]:
    """In the order in which they are offered."""
    return [shape for shape, protocols in PROTOCOLS.items() if protocol in protocols]


def formats_for(project: Project) -> list[FormatName]:
    """Of a project's protocol, and of its questions: without nuggets no dialeval, without quality no diqad."""
    shapes = formats_of_protocol(project.protocol)
    if project.protocol != Protocol.LABELLING:
        return shapes
    row = current_schema(project)
    schema = load_schema(row) if row else None
    asked = {
        FormatName.DIALEVAL: schema is not None and any(one.runs for one in schema.of_scope(Scope.UTTERANCE)),
        FormatName.DIQAD: schema is not None and "quality" in schema.by_key,
    }
    return [shape for shape in shapes if asked.get(shape, True)]
