"""`python -m preference.training.joint.comparison`: see command.py."""

import sys

from preference.training.joint.comparison.command import main

if __name__ == "__main__":
    sys.exit(main())
