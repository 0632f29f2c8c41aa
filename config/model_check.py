"""`python -m config.model_check BACKEND OPTIONS`: whether a model can be used, as one line of JSON. Loads torch."""

from __future__ import annotations

import json
import sys

from generation.protocol import BackendError, load_backend


def check(backend: str, options: dict[str, object]) -> dict[str, str]:
    try:
        loaded = load_backend(backend, options)
        loaded.check()
        return {"version": loaded.version}
    except BackendError as error:
        return {"cause": error.cause, "remedy": error.remedy}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(check(sys.argv[1], json.loads(sys.argv[2]))) + "\n")
