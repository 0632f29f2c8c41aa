"""`python -m preference.training.meta`: see command.py."""

import sys

from preference.training.meta.command import main

if __name__ == "__main__":
    sys.exit(main())
