"""`python -IS config/probe.py URL`: the container's health check. Asks with the public host name, which is allowed.

It runs every few seconds, so it imports nothing but the standard library: the package `config` imports Celery.
"""

from __future__ import annotations

import os
import sys
import urllib.request
from urllib.parse import urlsplit

# Not through HTTP_PROXY, which a container's workers may need: a proxy does not know this address.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(url: str) -> bool:
    public = urlsplit(os.environ.get("PUBLIC_URL", "http://localhost"))
    headers = {"Host": public.netloc, "X-Forwarded-Proto": public.scheme}
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310
        with DIRECT.open(request, timeout=4) as response:
            return bool(response.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(0 if answers(sys.argv[1]) else 1)
