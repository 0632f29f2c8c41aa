"""What `manage.py seed_demo` puts into the demo project: dialogues written for it, and candidates of the demo model."""
