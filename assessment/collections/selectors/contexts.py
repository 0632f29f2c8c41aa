"""Chooses the contexts and openings that systems are given."""

from collections.abc import Iterator
from random import Random
from typing import Final

from django.db.models import QuerySet

from dialogues.models import Dialogue, DialogueState, Origin, Split, Utterance
from projects.models import Project

Context = list[list[str]]  # [speaker, text]
LOOKED_AT: Final = 20_000  # dialogues of the source, the newest; enough to draw hundreds of contexts from
LONGEST: Final = 40  # utterances of a context
BATCH: Final = 200


def source_dialogues(source: Project) -> QuerySet[Dialogue]:
    """Finished dialogues with a reply; those of the test split if the source has any, as in Diamante §4.2.1."""
    rows = Dialogue.objects.filter(project=source, state=DialogueState.FINISHED, utterance_count__gte=2)
    rows = rows.exclude(origin=Origin.CHATTED).order_by("-pk")
    held_out = rows.filter(split=Split.TEST)
    return held_out if held_out.exists() else rows


def draw_contexts(source: Project, count: int, seed: int) -> list[tuple[Context, str]]:
    """Contexts and the human reply to each, of different dialogues. Fewer than `count` if the source has fewer."""
    rng = Random(seed)
    drawn: list[tuple[Context, str]] = []
    for utterances in _shuffled_dialogues(source, rng, count):
        place = rng.randrange(1, len(utterances))
        context = utterances[max(0, place - LONGEST) : place]
        drawn.append(([[speaker, text] for speaker, text in context], utterances[place][1]))
    return drawn


def draw_openings(source: Project, count: int, seed: int) -> list[Context]:
    """First utterances of different dialogues, no text twice."""
    rng = Random(seed)
    found: dict[str, Context] = {}
    for utterances in _shuffled_dialogues(source, rng, count * 2):
        found.setdefault(utterances[0][1], [[utterances[0][0], utterances[0][1]]])
    return list(found.values())[:count]


def _shuffled_dialogues(source: Project, rng: Random, count: int) -> Iterator[list[tuple[str, str]]]:
    """Utterances of random dialogues, as (speaker, text); blank ones are left out."""
    keys = list(source_dialogues(source).values_list("pk", flat=True)[:LOOKED_AT])
    rng.shuffle(keys)
    keys = keys[:count]
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        texts: dict[int, list[tuple[str, str]]] = {key: [] for key in batch}
        rows = Utterance.objects.filter(dialogue__in=batch).order_by("dialogue_id", "position")
        for dialogue, speaker, text in rows.values_list("dialogue_id", "speaker", "text"):
            if text.strip():
                texts[dialogue].append((speaker, text))
        yield from (utterances for utterances in texts.values() if len(utterances) >= 2)
