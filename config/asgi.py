"""ASGI entry point, served by uvicorn."""

import os
import warnings
from typing import cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django_application = get_asgi_application()

# WhiteNoise's files are small and read at once; what is large is sent step by step (accounts/rest/streams.py).
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

from config.body_limit import App, BodyLimit  # noqa: E402 - needs the applications to be loaded

application = BodyLimit(cast(App, django_application))
