"""The questions that are put to a language model about replies, word for word.

PairEval (section 3.2; the wording is that of the authors' released code, github.com/ddehun/PairEval) shows two
conversations and asks which response is better. One token answers: the first of " A" or " B".

    [INST] Instruction: Given two conversations and responses, which response is better for the conversation?

    Conversation A:
    Hi! How are you?
    Fine. And you?

    Response A:
    Tired, but well.

    Conversation B:
    Where is the station?

    Response B:
    I like trains.

    Which response is better for the conversation? Just answer in "Response A" or "Response B". [/INST]
    Answer: Response

DirectEval (section 4.1.2) shows one conversation and asks whether its response is good; P(" Yes") is the score. The
paper gives only the question itself, so that the frame around it is taken from the prompt above.

The utterances of a history are lines, without the names of speakers and without blank ones. [INST] and [/INST] are how
Llama-2-chat was taught to read; for another chat model the text between them can go through the tokenizer's own chat
template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from generation.backends.replies import spoken
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

INST, CHAT = "inst", "chat"
TEMPLATES = (INST, CHAT)

PAIR_INSTRUCTION = (
    "Instruction: Given two conversations and responses, which response is better for the conversation?\n\n"
    "{knowledge_1}Conversation A:\n{history_1}\n\nResponse A:\n{response_1}\n\n"
    "{knowledge_2}Conversation B:\n{history_2}\n\nResponse B:\n{response_2}\n\n"
    "Which response is better for the conversation? "
    'Just answer in "Response A" or "Response B".'
)
DIRECT_INSTRUCTION = (
    "Instruction: Given a conversation and a response, is the response good for the conversation?\n\n"
    "{knowledge_1}Conversation:\n{history_1}\n\nResponse:\n{response_1}\n\n"
    "Is the above response a good response to the given conversation? "
    'Just answer in "Yes" or "No".'
)


@dataclass(frozen=True, slots=True)
class PromptQuestion:
    """instruction: with places for the conversations. answer: how the model's answer begins.

    labels: the two texts that may continue the answer. conversations: how many the question is about.
    """

    name: str
    instruction: str
    answer: str
    labels: tuple[str, str]
    conversations: int


PAIR = PromptQuestion("pair", PAIR_INSTRUCTION, "Answer: Response", (" A", " B"), 2)
DIRECT = PromptQuestion("direct", DIRECT_INSTRUCTION, "Answer:", (" Yes", " No"), 1)
QUESTIONS = {question.name: question for question in (PAIR, DIRECT)}


@dataclass(frozen=True, slots=True)
class Conversation:
    """history: utterances before the response, oldest first. knowledge: what the speakers talk about, may be empty."""

    history: tuple[str, ...]
    response: str
    knowledge: str = ""

    def without_oldest(self, count: int) -> Conversation:
        """The same without its `count` oldest utterances."""
        return Conversation(self.history[count:], self.response, self.knowledge)


class PromptWriter:
    """Writes the text of a question, up to where the model answers."""

    def __init__(self, question: PromptQuestion, template: str = INST, tokenizer: Any = None) -> None:
        """template: INST, or CHAT for that of `tokenizer`. Raises TrainingError if the tokenizer has none."""
        self.question, self.template, self._tokenizer = question, template, tokenizer
        if template == CHAT and not getattr(tokenizer, "chat_template", None):
            raise TrainingError(
                _("The model's tokenizer has no chat template."), _("Use --template inst, or another model.")
            )

    def write(self, conversations: Sequence[Conversation]) -> str:
        """The prompt about one or two conversations, in the order of A and B. Raises TrainingError."""
        instruction = self.question.instruction.format_map(_places(conversations))
        if self.template == INST:
            return f"[INST] {instruction} [/INST]\n{self.question.answer}"
        return self._through_chat_template(instruction) + self.question.answer

    def _through_chat_template(self, instruction: str) -> str:
        """The instruction as a user's message, up to where the assistant's begins. Raises TrainingError."""
        message = [{"role": "user", "content": instruction}]
        try:
            return str(
                self._tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
            )
        except Exception as error:  # a template may raise anything
            raise TrainingError(
                _("The model's chat template refuses the question: %(reason)s.") % {"reason": error},
                _("Use --template inst."),
            ) from error


def _places(conversations: Sequence[Conversation]) -> dict[str, str]:
    """What stands at the places of an instruction; knowledge ends with a newline unless it is empty."""
    places = {}
    for number, one in enumerate(conversations, 1):
        places[f"knowledge_{number}"] = one.knowledge and one.knowledge.rstrip("\n") + "\n"
        places[f"history_{number}"] = "\n".join(filter(None, map(spoken, one.history)))
        places[f"response_{number}"] = one.response
    return places
