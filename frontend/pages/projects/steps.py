"""A next step and a missing setup, as the start page and the overview show them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NextStep:
    """label: of the button. why: a sentence with the number that makes it urgent. note: the same in a word or two.

    is_due: something waits, or there is something to look at (is_standing). is_waiting: it waits for this person, who
    has begun it or whose role it needs. is_idle: work for which nothing waits, so that there is no button.
    """

    title: str
    why: str
    label: str
    url: str
    icon: str
    key: str = ""
    note: str = ""
    is_due: bool = True
    is_waiting: bool = False
    is_idle: bool = False
    is_standing: bool = False


@dataclass(frozen=True, slots=True)
class MissingSetup:
    """Something that the project needs before people can work well."""

    text: str
    label: str
    url: str
