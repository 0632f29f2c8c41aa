"""The version of the REST API, which every answer names."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_only_middleware

# MAJOR.MINOR. MINOR grows when something is added; MAJOR, and the addresses, when something changes or goes.
# The Python client needs the server to have its own MAJOR and at least its own MINOR.
API_VERSION: Final = "1.1"
HEADER: Final = "Lapidary-Api-Version"


@sync_only_middleware
class ApiVersionMiddleware:
    """Names the version in every answer of the API, so that a client notices a server of another one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith("/api/"):
            response[HEADER] = API_VERSION
        return response
