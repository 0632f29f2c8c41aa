"""ASGI entry point, served by uvicorn."""

import os
from typing import cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django_application = get_asgi_application()

from config.body_limit import App, BodyLimit  # noqa: E402 - needs the applications to be loaded

application = BodyLimit(cast(App, django_application))
