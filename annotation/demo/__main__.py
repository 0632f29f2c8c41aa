"""`python -m annotation.demo`: ask the shipped model what it says to the demo dialogues, and write candidates.json.

Dialogues that have as many sets of candidates as they need keep them; --all asks for every one anew.
"""

import json
import sys

from annotation.demo.reading import CANDIDATES, Script, other_candidates, scripts
from generation.backends.replies import child_seed
from generation.demo_model.corpus.reading import HERE as CORPUS
from generation.protocol import BackendError, Message, ReplyRequest, load_backend

COUNT = 9  # two more than are shown: one may be what the script says anyway


def questions(script: Script, seed: int) -> list[ReplyRequest]:
    """One for every turn after the opening, with what was said before it."""
    said = tuple(Message("AB"[place % 2], line.text) for place, line in enumerate(script.lines))
    return [
        ReplyRequest(script.key, said[:place], "AB"[place % 2], child_seed(seed, place), COUNT)
        for place in range(1, len(said))
    ]


def main() -> int:
    backend = load_backend("generation.backends.hf.HFBackend", {"model": str(CORPUS.parent / "model")})
    known = {} if "--all" in sys.argv or not CANDIDATES.exists() else other_candidates()
    answers = {}
    for number, script in enumerate(scripts()):
        if len(known.get(script.key, [])) == len(script.lines) - 1:
            answers[script.key] = known[script.key]
            continue
        made = backend.generate(questions(script, number))
        if failed := [one for one in made if isinstance(one, BackendError)]:
            sys.stderr.write(f"{script.key}: {failed[0].cause} {failed[0].remedy}\n")
            return 1
        answers[script.key] = [
            [reply.text for reply in one.replies] for one in made if not isinstance(one, BackendError)
        ]
    text = json.dumps(answers, ensure_ascii=False, indent=0)
    CANDIDATES.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
