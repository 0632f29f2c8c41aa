"""`python -m annotation.demo`: ask the shipped model what it says to the demo dialogues, and write candidates.json.

Dialogues that have as many sets of candidates as they need keep them; --all asks for every one anew.
"""

import json
import sys
from dataclasses import replace

from annotation.demo.reading import CANDIDATES, Script, other_candidates, scripts
from generation.backends.replies import child_seed
from generation.demo_model.corpus.reading import HERE as CORPUS
from generation.protocol import Backend, BackendError, Message, ReplyRequest, load_backend

COUNT = 9  # two more than are shown: one may be what the script says anyway
ATTEMPTS = 8


def questions(script: Script, seed: int) -> list[ReplyRequest]:
    """One for every turn after the opening, with what was said before it."""
    said = tuple(Message("AB"[place % 2], line.text) for place, line in enumerate(script.lines))
    return [
        ReplyRequest(script.key, said[:place], "AB"[place % 2], child_seed(seed, place), COUNT)
        for place in range(1, len(said))
    ]


def different(backend: Backend, asked: ReplyRequest) -> list[str]:
    """COUNT different texts; after a farewell the model says little else, so every attempt is warmer than the last."""
    texts: dict[str, None] = {}
    for attempt in range(ATTEMPTS):
        sampling = replace(asked.sampling, temperature=1 + attempt / 4)
        [made] = backend.generate([replace(asked, seed=child_seed(asked.seed, attempt), sampling=sampling)])
        if isinstance(made, BackendError):
            raise made
        texts |= dict.fromkeys(reply.text for reply in made.replies)
        if len(texts) >= COUNT:
            break
    return list(texts)[:COUNT]


def main() -> int:
    backend = load_backend("generation.backends.hf.HFBackend", {"model": str(CORPUS.parent / "model")})
    known = {} if "--all" in sys.argv or not CANDIDATES.exists() else other_candidates()
    answers = {}
    for number, script in enumerate(scripts()):
        if len(known.get(script.key, [])) == len(script.lines) - 1:
            answers[script.key] = known[script.key]
            continue
        try:
            answers[script.key] = [different(backend, asked) for asked in questions(script, number)]
        except BackendError as error:
            sys.stderr.write(f"{script.key}: {error.cause} {error.remedy}\n")
            return 1
    text = json.dumps(answers, ensure_ascii=False, indent=0)
    CANDIDATES.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
