"""Prints the environment that a process of ours gets."""

import os
import sys

sys.stdout.write(str(dict(os.environ)))
