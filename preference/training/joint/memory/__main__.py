"""`python -m preference.training.joint.memory`: see command.py."""

import sys

from preference.training.joint.memory.command import main

if __name__ == "__main__":
    sys.exit(main())
