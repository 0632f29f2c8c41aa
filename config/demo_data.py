"""`python -m config.demo_data`: migrate and seed in one process; prints the logins on standard output."""

from __future__ import annotations

import os

import django
from django.core.management import call_command


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    call_command("migrate", interactive=False, verbosity=0)
    call_command("seed_demo")
    call_command("seed_demo_study", bots=os.environ["DEMO_BOTS"])


if __name__ == "__main__":
    main()
