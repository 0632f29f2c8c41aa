"""`python -m preference.training.evaluators`: see command.py."""

import sys

from preference.training.evaluators.command import main

if __name__ == "__main__":
    sys.exit(main())
