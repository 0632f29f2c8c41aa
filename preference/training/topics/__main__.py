"""`python -m preference.training.topics`: see command.py."""

from preference.training.common.command import exit_process, let_threads_sleep
from preference.training.topics.command import main

if __name__ == "__main__":
    let_threads_sleep()
    exit_process(main())
