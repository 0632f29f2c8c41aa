"""The replies of a project as rows for an evaluator.

    {"id": "812", "dialogue": 77, "history": ["Hi!"], "response": "Hello.", "reference": "…"}      a reply
    {"id": "812/3", …}                                                       a candidate that was displayed for it

id: of the utterance, and the candidate's place in its set. In labelling, "speakers" names who said the utterances of
the history and the response, as snapshots for assessors do.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from dialogues.models import Utterance
from preference.data.selectors.random_replies import SYSTEM as INSTRUCTION
from preference.data.selectors.selection import Filters, select
from preference.data.selectors.study import SYSTEM
from preference.evaluators.models import Target
from projects.models import Project, Protocol

Row = dict[str, Any]
# Finished dialogues, whatever experts think of them; vetoed ones stay out.
EVERYTHING: Final = Filters(include_unreviewed=True)
TARGETS: Final = {
    Protocol.AUTHORING: (Target.REPLIES, Target.CANDIDATES),
    Protocol.LABELLING: (Target.REPLIES, Target.UTTERANCES),
    Protocol.ASSESSMENT: (Target.REPLIES,),
}


def targets_of(project: Project) -> tuple[Target, ...]:
    """What can be scored in the project; the usual choice first."""
    return TARGETS[Protocol(project.protocol)]


def reply_rows(project: Project, target: str) -> Iterator[Row]:
    """The rows of a target, dialogue by dialogue.

    Replies are, in authoring, every utterance after the first; in labelling, the last utterance of a dialogue, because
    people judged the dialogue as a whole; in an assessment, what the systems wrote. A candidate's reference is the
    reply that was sent; a reply's is `reference` in the metadata of its utterance.
    """
    selection = select(project, EVERYTHING)
    for page in selection.pages():
        spoken = selection.utterances(page)
        for dialogue in page:
            yield from _rows_of_dialogue(spoken.get(dialogue.pk, []), Protocol(project.protocol), target)


def _rows_of_dialogue(utterances: Sequence[Utterance], protocol: Protocol, target: str) -> Iterator[Row]:
    texts = [utterance.text for utterance in utterances]
    speakers = [utterance.speaker for utterance in utterances]
    for place in _scored_places(utterances, protocol, target):
        utterance = utterances[place]
        row: Row = {"id": str(utterance.pk), "dialogue": utterance.dialogue_id, "history": texts[:place]}
        reference = utterance.metadata.get("reference")
        known = {"reference": reference} if isinstance(reference, str) else {}
        said = {"speakers": speakers[: place + 1]} if protocol == Protocol.LABELLING else {}
        yield {**row, "response": utterance.text, **known, **said}
        if target == Target.CANDIDATES and utterance.candidate_set:
            for number, candidate in enumerate(utterance.candidate_set.candidates):
                yield {
                    **row,
                    "id": f"{utterance.pk}/{number}",
                    "response": candidate["text"],
                    "reference": utterance.text,
                }


def _scored_places(utterances: Sequence[Utterance], protocol: Protocol, target: str) -> Sequence[int]:
    places = range(1, len(utterances))
    if protocol == Protocol.LABELLING and target == Target.REPLIES:
        return places[-1:]
    if protocol == Protocol.ASSESSMENT:
        return [place for place in places if utterances[place].speaker == SYSTEM]
    return [place for place in places if utterances[place].speaker.lower() != INSTRUCTION]
