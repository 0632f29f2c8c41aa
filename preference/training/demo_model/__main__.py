"""`python -m preference.training.demo_model`: see command.py."""

from preference.training.demo_model.command import main

if __name__ == "__main__":
    main()
