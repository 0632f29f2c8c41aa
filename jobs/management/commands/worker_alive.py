"""`manage.py worker_alive`: the health check of a worker's container."""

import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jobs.selectors import live_workers


class Command(BaseCommand):
    help = "Exit code 0 if a worker of this machine is alive, otherwise 1."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        if not live_workers().filter(name__startswith=f"{socket.gethostname()}-").exists():
            raise CommandError("No worker of this machine has sent a heartbeat in the last seconds.")
