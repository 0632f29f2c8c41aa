"""Draws texts from the dialogues of a corpus. Every draw is a few queries by key, however large the corpus is."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from django.db.models import OuterRef, QuerySet

from dialogues.models import Dialogue, DialogueState, Origin, Utterance

TRIES: Final = 12  # dialogues that are looked at for one text
GUESSES: Final = 48  # keys that are drawn at once; a corpus that was imported in one go has hardly any gaps
MAX_UTTERANCES: Final = 200  # of one dialogue


@dataclass(frozen=True, slots=True)
class CorpusText:
    """position: None for all utterances of the dialogue together."""

    dialogue: int
    position: int | None
    text: str


def corpus_dialogues(corpus: int | OuterRef) -> QuerySet[Dialogue]:
    """The finished dialogues of a project, without chats of participants: what they wrote is shown to nobody else."""
    finished = Dialogue.objects.filter(project=corpus, state=DialogueState.FINISHED)
    return finished.filter(origin__in=[Origin.IMPORTED, Origin.AUTHORED], utterance_count__gt=0)


def draw_dialogues(corpus: int, rng: Random, excluded: Collection[int]) -> Iterator[tuple[int, int]]:
    """(key, number of utterances) of random dialogues, the same one perhaps twice; at most TRIES."""
    ends = _ends(corpus)
    if ends is None:
        return
    for _ in range(TRIES):
        if drawn := _draw_dialogue(corpus, *ends, rng, excluded):
            yield drawn


def _ends(corpus: int) -> tuple[int, int] | None:
    keys = corpus_dialogues(corpus).values_list("pk", flat=True)
    first, last = keys.order_by("pk").first(), keys.order_by("-pk").first()
    return (first, last) if first is not None and last is not None else None


def _draw_dialogue(
    corpus: int, first: int, last: int, rng: Random, excluded: Collection[int]
) -> tuple[int, int] | None:
    """Keys are guessed until one exists, so that every dialogue is equally likely; beside a large gap, the next one."""
    guesses = [rng.randint(first, last) for _ in range(GUESSES)]
    rows = corpus_dialogues(corpus).exclude(pk__in=excluded).values_list("pk", "utterance_count")
    counts = dict(rows.filter(pk__in=guesses))
    if found := next((key for key in guesses if key in counts), None):
        return found, counts[found]
    return rows.filter(pk__gte=guesses[0]).order_by("pk").first() or rows.order_by("pk").first()


def draw_reply(corpus: int, rng: Random, *, excluded: Collection[int], longest: int) -> CorpusText | None:
    """A random reply (any utterance but the opening) of at most `longest` characters."""
    for dialogue, count in draw_dialogues(corpus, rng, excluded):
        position = rng.randrange(min(1, count - 1), count)
        row = Utterance.objects.filter(dialogue=dialogue, position=position).values_list("text", flat=True)
        text = (row.first() or "").strip()
        if 0 < len(text) <= longest:
            return CorpusText(dialogue, position, text)
    return None


def dialogue_texts(dialogue: int) -> list[tuple[int, str]]:
    """Positions and texts of a dialogue."""
    rows = Utterance.objects.filter(dialogue=dialogue, position__lt=MAX_UTTERANCES).order_by("position")
    return list(rows.values_list("position", "text"))
