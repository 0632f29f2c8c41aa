"""`python -m preference.training.joint.evaluation`: see command.py."""

import sys

from preference.training.joint.evaluation.command import main

if __name__ == "__main__":
    sys.exit(main())
