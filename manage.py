#!/usr/bin/env python
"""Entry point of every management command."""

import os
import signal
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from environs.exceptions import EnvError

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except (ImproperlyConfigured, EnvError) as error:
        sys.exit(str(error))
    except BrokenPipeError:
        # Whoever read the output has had enough (`… | head`); what is still buffered must not complain at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
