"""Chooses the contexts and openings that systems are given."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Final

from django.db.models import QuerySet

from assessment.systems.selectors.corpus import corpus_dialogues
from dialogues.models import Dialogue, ReviewState, Split, Utterance
from projects.models import Project

Context = list[list[str]]  # [speaker, text]
LOOKED_AT: Final = 20_000  # dialogues of the source, the newest; enough to draw hundreds of contexts from
LONGEST: Final = 40  # utterances of a context
BATCH: Final = 200


def source_dialogues(source: Project, *, any_split: bool = False) -> QuerySet[Dialogue]:
    """Finished dialogues of people with a reply; those of the test split if there are any, as in Diamante §4.2.1.

    any_split: also those that models may have been trained on. Experts' vetoes count. Chats of participants are shown
    to nobody else.
    """
    rows = corpus_dialogues(source.pk).filter(utterance_count__gte=2).exclude(review_state=ReviewState.VETOED)
    held_out = rows.filter(split=Split.TEST)
    return held_out if not any_split and held_out.exists() else rows


def draw_contexts(dialogues: QuerySet[Dialogue], count: int, seed: int) -> list[tuple[Context, str]]:
    """Contexts and the human reply to each, of different dialogues. Fewer than `count` if there are fewer."""
    rng = Random(seed)
    drawn: list[tuple[Context, str]] = []
    for utterances in islice(_shuffled_dialogues(dialogues, rng), count):
        place = rng.randrange(1, len(utterances))
        context = utterances[max(0, place - LONGEST) : place]
        drawn.append(([[speaker, text] for speaker, text in context], utterances[place][1]))
    return drawn


def draw_openings(dialogues: QuerySet[Dialogue], count: int, seed: int) -> list[Context]:
    """First utterances of different dialogues, no text twice. Fewer than `count` if there are fewer."""
    drawn: dict[str, Context] = {}
    for (speaker, text), *_rest in _shuffled_dialogues(dialogues, Random(seed)):
        if len(drawn) == count:
            break
        drawn.setdefault(text, [[speaker, text]])
    return list(drawn.values())


def _shuffled_dialogues(dialogues: QuerySet[Dialogue], rng: Random) -> Iterator[list[tuple[str, str]]]:
    """Utterances of random dialogues, as (speaker, text); blank ones are left out."""
    keys = list(dialogues.order_by("-pk").values_list("pk", flat=True)[:LOOKED_AT])
    rng.shuffle(keys)
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        texts: dict[int, list[tuple[str, str]]] = {key: [] for key in batch}
        rows = Utterance.objects.filter(dialogue__in=batch).order_by("dialogue_id", "position")
        for dialogue, speaker, text in rows.values_list("dialogue_id", "speaker", "text"):
            if text.strip():
                texts[dialogue].append((speaker, text))
        yield from (utterances for utterances in texts.values() if len(utterances) >= 2)
