"""Words by which a reply tells participants which system they talk to."""

import re
from typing import Final

from assessment.systems.models import Connector, System

SHORTEST: Final = 3  # characters; of a name that is looked for unasked
LATIN: Final = "A-Za-z0-9"


def identity_words_in(system: System, text: str) -> list[str]:
    """The system's identity words, its name and its model's name, if the text contains them; case is ignored."""
    return [word for word in identity_words(system) if _contains(text, word)]


def identity_words(system: System) -> list[str]:
    """What to look for: its list, its own name, and the model's name with and without the publisher."""
    listed = [str(word).strip() for word in system.identity_words]
    if system.connector == Connector.DEGRADED:  # its words are those of the corpus
        return [word for word in listed if word]
    model = str(system.options.get("model", ""))
    if system.generator is not None:
        model = str(system.generator.options.get("model", "")) or system.generator.slug
    own = [name for name in (system.name, model, model.rpartition("/")[2]) if len(name) >= SHORTEST]
    return list(dict.fromkeys(word for word in [*listed, *own] if word))


def _contains(text: str, word: str) -> bool:
    """As a whole word, where it begins or ends with a Latin letter: "GPT" is not in "Egypt"."""
    before = rf"(?<![{LATIN}])" if re.match(f"[{LATIN}]", word) else ""
    after = rf"(?![{LATIN}])" if re.search(f"[{LATIN}]$", word) else ""
    return re.search(before + re.escape(word) + after, text, re.IGNORECASE) is not None
