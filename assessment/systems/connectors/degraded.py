"""The connector `degraded`: a random reply of the corpus, distorted (Ji et al., 2022, §4.1).

It ignores the conversation. Participants who rate it as high as ordinary systems did not rate with care.
"""

from collections.abc import Collection
from random import Random
from typing import Final

from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.selectors.corpus import CorpusText, dialogue_texts, draw_dialogues, draw_reply
from generation.protocol import BackendError
from measures.degradation import count_words, distort, replaced_words

LONGEST: Final = 500  # characters; other systems chat, too, and a longer reply would give it away


class DegradedConnector:
    """corpus: key of the project whose dialogues it takes its words from."""

    def __init__(self, corpus: int) -> None:
        self._corpus = corpus

    def open(self, conversation: Conversation, deadline: float) -> str:
        return ""

    def reply(self, question: Question) -> SystemReply:
        """The seed decides everything. The trace names the source, the replaced span and where its words are from."""
        rng, current = Random(question.seed), question.conversation.dialogue_id
        source = self._draw_source(rng, current)
        donor = self._draw_donor(rng, {current, source.dialogue}, replaced_words(count_words(source.text)))
        made = distort(source.text, donor.text, rng)
        trace = {
            "source_dialogue": source.dialogue,
            "source_position": source.position,
            "source_text": source.text,
            "donor_dialogue": donor.dialogue,
            "donor_position": donor.position,
            "start": made.start,
            "count": made.count,
            "removed": made.removed,
            "inserted": made.inserted,
        }
        return SystemReply(made.text, trace)

    def close(self, handle: str, deadline: float) -> None:
        """Nothing is held."""

    def _draw_source(self, rng: Random, current: int) -> CorpusText:
        source = draw_reply(self._corpus, rng, excluded={current}, longest=LONGEST)
        if source is None:
            raise corpus_too_small()
        return source

    def _draw_donor(self, rng: Random, excluded: Collection[int], words: int) -> CorpusText:
        """An utterance with enough words, or a whole dialogue if none of its utterances has."""
        for dialogue, _count in draw_dialogues(self._corpus, rng, excluded):
            texts = dialogue_texts(dialogue)
            long_enough = [row for row in texts if count_words(row[1]) >= words]
            if long_enough:
                position, text = rng.choice(long_enough)
                return CorpusText(dialogue, position, text)
            together = " ".join(text for _position, text in texts)
            if count_words(together) >= words:
                return CorpusText(dialogue, None, together)
        raise corpus_too_small()


def corpus_too_small() -> BackendError:
    return BackendError(
        "The corpus has too few dialogues to take replies and words from.",
        "Import dialogues into the corpus, or choose another one.",
    )
