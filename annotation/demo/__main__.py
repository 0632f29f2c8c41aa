"""`python -m annotation.demo`: generate candidates for the demo dialogues with the shipped model, into candidates.json.

Keeps the candidates of dialogues that have enough sets; --all generates all of them again.
"""

import json
import sys
from dataclasses import replace

from annotation.demo.dialogue_scripts import CANDIDATES, Script, load_candidates, load_scripts
from generation.backends.replies import child_seed
from generation.demo_model.corpus.reading import HERE as CORPUS
from generation.protocol import Backend, BackendError, Message, ReplyRequest, load_backend

COUNT = 9  # two more than are shown, because one may equal the text of the script
ATTEMPTS = 8


def reply_requests(script: Script, seed: int) -> list[ReplyRequest]:
    """One request for every turn after the opening, with the messages before it."""
    messages = tuple(Message("AB"[place % 2], line.text) for place, line in enumerate(script.lines))
    return [
        ReplyRequest(script.key, messages[:place], "AB"[place % 2], child_seed(seed, place), COUNT)
        for place in range(1, len(messages))
    ]


def distinct_replies(backend: Backend, request: ReplyRequest) -> list[str]:
    """Generate COUNT different texts. Each attempt is warmer: after a farewell the model says little else."""
    texts: dict[str, None] = {}
    for attempt in range(ATTEMPTS):
        sampling = replace(request.sampling, temperature=1 + attempt / 4)
        [result] = backend.generate(
            [replace(request, seed=child_seed(request.seed, attempt), sampling=sampling)]
        )
        if isinstance(result, BackendError):
            raise result
        texts |= dict.fromkeys(reply.text for reply in result.replies)
        if len(texts) >= COUNT:
            break
    return list(texts)[:COUNT]


def main() -> int:
    backend = load_backend("generation.backends.hf.HFBackend", {"model": str(CORPUS.parent / "model")})
    known = {} if "--all" in sys.argv or not CANDIDATES.exists() else load_candidates()
    answers = {}
    for number, script in enumerate(load_scripts()):
        if len(known.get(script.key, [])) == len(script.lines) - 1:
            answers[script.key] = known[script.key]
            continue
        try:
            answers[script.key] = [
                distinct_replies(backend, request) for request in reply_requests(script, number)
            ]
        except BackendError as error:
            sys.stderr.write(f"{script.key}: {error.cause} {error.remedy}\n")
            return 1
    text = json.dumps(answers, ensure_ascii=False, indent=0)
    CANDIDATES.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
