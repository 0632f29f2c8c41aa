"""What `manage.py seed_demo` puts into the demo projects: written dialogues, and candidates of the demo model."""
