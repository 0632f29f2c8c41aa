"""`python -I jobs/worker_probe.py`: the health check of a worker's container. Exit code 0 if a worker here is alive.

It runs twice a minute in every worker, so it imports psycopg alone: starting Django takes a second of processor time,
and on a busy machine longer than a check may take.
"""

import os
import socket
import sys
from typing import Final

import psycopg

ALIVE_SECONDS: Final = 15  # as jobs.selectors.ALIVE_FOR
# Names are HOST-PROCESS; gpu-2-77 belongs to gpu-2, not to gpu.
HEARTBEAT: Final = """
SELECT 1 FROM jobs_worker
WHERE regexp_replace(name, '-[0-9]+$', '') = %s AND seen_at >= now() - make_interval(secs => %s) LIMIT 1
"""


def why_not_alive(database_url: str, host: str) -> str:
    """Empty if a worker of this host has sent a heartbeat in the last seconds."""
    try:
        with psycopg.connect(database_url, connect_timeout=10) as database:
            row = database.execute(HEARTBEAT, (host, ALIVE_SECONDS)).fetchone()
    except psycopg.Error as error:
        return str(error)
    return "" if row else "No worker of this machine has sent a heartbeat in the last seconds."


if __name__ == "__main__":
    sys.exit(why_not_alive(os.environ["DATABASE_URL"], socket.gethostname()) or 0)
