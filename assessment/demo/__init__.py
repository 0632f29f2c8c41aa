"""What `manage.py seed_demo_study` puts into the demo: systems to chat with, and scripted participants."""
