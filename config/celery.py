"""The Celery application.

Workers take the queues `default` (jobs), `gpu` (candidates), `chat` (calls of systems), `webhooks` and `training` (long
jobs).
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("lapidary")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# Rooms: the tasks of annotation.tasks are in annotation/tasks/tasks.py.
app.autodiscover_tasks(["annotation.tasks", "assessment.sessions", "assessment.systems"])
