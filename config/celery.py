"""The Celery application. Workers take the queues `default` (jobs), `gpu` (candidates) and `training` (long jobs)."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("lapidary")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["annotation.tasks"])  # a room: its tasks are in annotation/tasks/tasks.py
app.autodiscover_tasks(["assessment.sessions"])
