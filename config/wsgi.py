"""The WSGI application, served by gunicorn (config/gunicorn.py)."""

import os

from django.core.wsgi import get_wsgi_application

from config.database_timeouts import mark_web_process

mark_web_process()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
