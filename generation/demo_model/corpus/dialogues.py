"""Composes dialogues from the material: an opening, exchanges in both directions, changes of topic, a closing."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from generation.demo_model.corpus.general import OTHER
from generation.demo_model.corpus.reading import (
    Answers,
    Lines,
    Material,
    Mood,
    Question,
    Scenario,
    Topic,
    material,
)
from generation.demo_model.corpus.wording import fill, join, vary_opening
from generation.demo_model.corpus.written import draw_written

Turn = tuple[str, str]


class Dialogue(NamedTuple):
    """kind: of the opening, if it was written by hand; otherwise `general.OTHER`."""

    language: str
    turns: list[Turn]
    kind: str


SPEAKERS = ("A", "B")
# Utterances of a dialogue, about: it may end in the middle of an exchange or with a leave-taking.
LENGTHS = (2, 4, 6, 8, 10, 12, 14, 16, 18)
WEIGHTS = (16, 12, 8, 5, 4, 3, 3, 3, 2)
SHORT_WEIGHTS = (44, 16, 8, 4, 3, 2, 2, 2, 1)
# Greetings: only at the start of a dialogue.
SMALL_TALK = "generic small talk"
# Shares of openings: of the generic topic, a question of the topic, only a keyword of the topic.
GENERIC, ASKED, KEYWORD = 0.30, 0.16, 0.05


class Writer:
    """Writes one dialogue; holds whose turn it is and what was used already."""

    def __init__(self, source: Material, rng: random.Random) -> None:
        self.source, self.rng = source, rng
        self.turns: list[Turn] = []
        self.used: set[str] = set()
        self.topic = source.topics[0]
        self.scenario: Scenario | None = None
        self.owner = 0

    def pick(self, lines: Lines) -> str:
        """A line not used in this dialogue yet, if there is one; slots filled."""
        fresh = [line for line in lines if line not in self.used] or list(lines)
        line = self.rng.choice(fresh)
        self.used.add(line)
        return fill(line, self.source, self.rng)

    def say(self, *parts: str) -> None:
        self.turns.append((SPEAKERS[len(self.turns) % 2], join(list(parts), self.source.language)))

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def typed(self, opening: str, mood: Mood) -> str:
        """An opening as some person might type it."""
        return vary_opening(opening, mood, self.source, self.rng)

    def phrase(self, name: str) -> str:
        return self.pick(self.source.phrases[name])

    def react(self, answers: Answers) -> str:
        """A reaction to one of `answers`; `*mood` stands for the general reactions of that mood."""
        lines: list[str] = []
        for line in answers.reactions:
            lines += self.source.moods[line[1:]].reactions if line.startswith("*") else [line]
        return self.pick(tuple(lines))

    @property
    def owns(self) -> bool:
        """Whether the one who speaks next brought the scenario up."""
        return len(self.turns) % 2 == self.owner

    def question(self, *, mutual_only: bool = False) -> Question | None:
        """The next unused question: of the scenario first (only its owner is asked those), then of the topic."""
        own = [] if mutual_only or self.owns or self.scenario is None else self.scenario.questions
        for pool in (own, self.topic.mutual):
            free = [q for q in pool if q.phrasings[0] not in self.used]
            if free:
                question = self.rng.choice(free)
                self.used.add(question.phrasings[0])
                return question
        return None

    def ask(self, question: Question | None) -> str:
        return self.pick(question.phrasings) if question else ""

    def start(self, topic: Topic, scenario: Scenario | None, lead: str = "") -> Question | None:
        """Says an opening and its first reply; returns the question that the reply asks."""
        self.topic, self.scenario, self.owner = topic, scenario, len(self.turns) % 2
        if scenario is None:
            return self.start_with_question(lead)
        mood = self.source.moods[scenario.mood]
        self.say(lead, self.typed(self.pick(scenario.openings), mood))
        return self.first_reply(scenario)

    def start_with_keyword(self, topic: Topic) -> Question | None:
        """The opening only names something of the topic; the reply asks a question about the topic."""
        self.topic, self.scenario = topic, None
        opening = self.phrase("keyword").replace("%k", self.rng.choice(topic.keywords))
        self.say(self.typed(opening, self.source.moods["ok"]))
        question = self.question(mutual_only=True)
        self.say(self.phrase("keyword_reply"), self.ask(question))
        return question

    def start_with_question(self, lead: str) -> Question | None:
        """The opening is a question to the partner, who answers and asks it back or asks another."""
        question = self.question(mutual_only=True)
        if question is None:
            return None
        self.say(lead, self.typed(self.pick(question.phrasings), self.source.moods["ask"]))
        return self.answer(question)

    def first_reply(self, scenario: Scenario) -> Question | None:
        mood = self.source.moods[scenario.mood]
        prefix = self.pick(mood.prefixes) if mood.prefixes and self.chance(0.5) else ""
        form = self.rng.random()
        if form < 0.08 and mood.questions:
            question: Question | None = self.rng.choice(mood.questions)
        else:
            question = self.question() if form < 0.80 else None
        bare = question is not None and (form < 0.08 or form > 0.60)
        self.say(prefix, "" if bare else self.pick(scenario.replies), self.ask(question))
        return question

    def answer(self, question: Question) -> Question | None:
        """Says the answer; the reaction follows at once, or the question is asked back first."""
        answers = self.rng.choice(question.answers)
        text = self.pick(answers.texts)
        if question.mutual and self.chance(0.4):
            self.say(text, self.phrase("back"))
            return self.answer_back(question)
        if question.mutual and self.chance(0.2):
            follow = self.question(mutual_only=True)
            self.say(text, self.ask(follow))
            return follow
        self.say(text)
        return self.follow(self.react(answers))

    def answer_back(self, question: Question) -> Question | None:
        """The asker gives an own answer to the question; the other one reacts."""
        answers = self.rng.choice(question.answers)
        text = self.pick(answers.texts)
        if self.chance(0.45):
            follow = self.question(mutual_only=self.chance(0.5))
            self.say(text, self.ask(follow))
            return follow
        self.say(text)
        return self.follow(self.react(answers))

    def follow(self, text: str) -> Question | None:
        """Says `text`, mostly with the next question."""
        question = self.question() if self.chance(0.75) else None
        self.say(text, self.ask(question))
        return question

    def go_on(self, *, fresh: bool) -> Question | None:
        """The last utterance asked nothing: thanks (if it was the first reply) or agreement, then a question."""
        thanks: Lines = ()
        if fresh and self.owns and self.scenario:
            thanks = self.source.moods[self.scenario.mood].thanks
        text = self.pick(thanks) if thanks else self.phrase("agree") if self.chance(0.5) else ""
        question = self.question(mutual_only=self.chance(0.5)) if self.chance(0.75) or not text else None
        if question is None and not text:
            text = self.phrase("agree")
        self.say(text, self.ask(question))
        return question

    def change_topic(self) -> Question | None:
        """Brings up something else: a question of another topic or a new opening."""
        topic, scenario = choose(self.source, self.rng)
        if self.chance(0.35) and topic.name != SMALL_TALK:
            return self.start(topic, scenario, self.phrase("switch"))
        others = [topic for topic in self.source.topics if topic.mutual and topic.name != SMALL_TALK]
        return self.start(self.rng.choice(others), None, self.phrase("switch"))

    def close(self) -> None:
        """Two or three utterances of leave-taking."""
        self.say(self.phrase("leaving"))
        self.say(self.phrase("goodbye"))
        if self.chance(0.4):
            self.say(self.phrase("last"))


def choose(source: Material, rng: random.Random) -> tuple[Topic, Scenario | None]:
    """A topic and scenario to start with; None as scenario means a question of the topic."""
    generic = [topic for topic in source.topics if topic.name.startswith("generic")]
    special = [topic for topic in source.topics if not topic.name.startswith("generic")]
    topic = rng.choice(generic if rng.random() < GENERIC else special)
    if topic.mutual and (not topic.scenarios or rng.random() < ASKED):
        return topic, None
    # Openings, not scenarios, are equally likely: a scenario with many of them needs more practice.
    weights = [len(scenario.openings) ** 0.5 for scenario in topic.scenarios]
    return topic, rng.choices(topic.scenarios, weights)[0]


def write_dialogue(language: str, rng: random.Random, *, short: bool = False) -> list[Turn]:
    """One dialogue: (speaker, text) pairs, alternating, A first. `short`: mostly an opening and one reply."""
    length = rng.choices(LENGTHS, SHORT_WEIGHTS if short else WEIGHTS)[0]
    return compose(Writer(material(language), rng), length)


def compose(writer: Writer, length: int) -> list[Turn]:
    """Has the writer write about `length` utterances."""
    topic, scenario = choose(writer.source, writer.rng)
    if topic.keywords and writer.chance(KEYWORD):
        question = writer.start_with_keyword(topic)
    else:
        question = writer.start(topic, scenario)
    fresh, quiet = True, 0
    while len(writer.turns) < length:
        if question is not None:
            question, quiet, fresh = writer.answer(question), 0, False
        elif quiet == 0 and writer.chance(0.65):
            question, quiet, fresh = writer.go_on(fresh=fresh), 1, False
        else:
            question, quiet, fresh = writer.change_topic(), 0, True
    if question is None and writer.chance(0.5):
        writer.close()
    return writer.turns


def write_dialogues(
    seed: int, heldout: frozenset[str] = frozenset(), *, short: bool = False, written: float = 0.0
) -> Iterator[Dialogue]:
    """Endless dialogues, the languages in turn; equal seeds give equal dialogues.

    written: the share of dialogues that were written by hand.
    """
    rng = random.Random(seed)
    while True:
        for language in ("en", "zh"):
            kind = OTHER
            if written and rng.random() < written:
                texts, kind = draw_written(language, rng)
                turns = [(SPEAKERS[at % 2], text) for at, text in enumerate(texts)]
            else:
                turns = write_dialogue(language, rng, short=short)
            if not heldout.intersection(text for _, text in turns):
                yield Dialogue(language, turns, kind)
