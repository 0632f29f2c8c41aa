"""Which export formats fit a project."""

from annotation.labelling.schema.questions import Scope
from annotation.labelling.selectors.schemas import current_schema, load_schema
from preference.data.models.exports import FormatName
from projects.models import Project, Protocol

PROTOCOLS: dict[FormatName, tuple[Protocol, ...]] = {
    FormatName.ASSESSMENT: (Protocol.ASSESSMENT,),
    FormatName.DIAMANTE: (Protocol.AUTHORING,),
    FormatName.QUADRUPLES: (Protocol.AUTHORING,),
    FormatName.SFT: (Protocol.AUTHORING, Protocol.ASSESSMENT),
    FormatName.PREFERENCE: (Protocol.AUTHORING, Protocol.ASSESSMENT),
    FormatName.REWARD: (Protocol.AUTHORING,),
    FormatName.KTO: (Protocol.AUTHORING,),
    FormatName.DIALEVAL: (Protocol.LABELLING,),
    FormatName.DIQAD: (Protocol.LABELLING,),
    FormatName.JUDGEMENTS: (Protocol.AUTHORING, Protocol.LABELLING, Protocol.ASSESSMENT),
}
# Formats that a snapshot can make too; the others need data that only the project has.
FROZEN = (
    FormatName.DIAMANTE,
    FormatName.QUADRUPLES,
    FormatName.SFT,
    FormatName.PREFERENCE,
    FormatName.REWARD,
    FormatName.KTO,
)


def formats_of_protocol(protocol: str) -> list[FormatName]:
    """The formats of a protocol, in the order they are offered."""
    return [name for name, protocols in PROTOCOLS.items() if protocol in protocols]


def formats_for(project: Project) -> list[FormatName]:
    """Formats that fit the protocol and the questions: dialeval needs nuggets, diqad a quality question."""
    formats = formats_of_protocol(project.protocol)
    if project.protocol != Protocol.LABELLING:
        return formats
    row = current_schema(project)
    schema = load_schema(row) if row else None
    is_answerable = {
        FormatName.DIALEVAL: schema is not None
        and any(question.runs for question in schema.of_scope(Scope.UTTERANCE)),
        FormatName.DIQAD: schema is not None and "quality" in schema.by_key,
    }
    return [name for name in formats if is_answerable.get(name, True)]
