"""`python -IS config/probe.py URL`: the container's health check. Asks with the public host name, which is allowed.

It runs every few seconds, so it imports nothing but the standard library: the package `config` imports Celery.
"""

from __future__ import annotations

import os
import sys
import urllib.request
from urllib.parse import urlsplit


def answers(url: str) -> bool:
    public = urlsplit(os.environ.get("PUBLIC_URL", "http://localhost"))
    headers = {"Host": public.netloc, "X-Forwarded-Proto": public.scheme}
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=4) as response:  # noqa: S310
            return bool(response.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(0 if answers(sys.argv[1]) else 1)
