"""`python -m preference.training.assessor`: see command.py."""

from preference.training.assessor.command import main
from preference.training.common.command import exit_process, let_threads_sleep

if __name__ == "__main__":
    let_threads_sleep()
    exit_process(main())
