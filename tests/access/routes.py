"""Every operation of the REST API and of the pages, read from the URLconf."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver

from config.api_urls import urlpatterns as api_patterns
from frontend.urls import urlpatterns as page_patterns

METHODS = ("get", "post", "put", "patch", "delete")
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, slots=True)
class Operation:
    """method: upper case. route: "p/{slug}/jobs/{job_id}/", without the slash at the beginning."""

    method: str
    route: str

    def __str__(self) -> str:
        return f"{self.method} {self.route}"

    @property
    def is_api(self) -> bool:
        return self.route.startswith("api/")

    @property
    def is_safe(self) -> bool:
        return self.method == "GET"

    def address(self, values: Mapping[str, Any]) -> str:
        """The address with the values of its parameters. Raises KeyError with the key of an unknown parameter.

        values: by the key of a parameter, by its name in braces, or by the whole route for those that differ there.
        """
        own = {**values, **values.get(self.route, {})}
        route = self.route
        for key, name in parameters_of(route):
            route = route.replace(name, str(own[key] if key in own else own[name]), 1)
        return f"/{route}"


def parameters_of(route: str) -> list[tuple[str, str]]:
    """The key and the name of each parameter: ("jobs/{job_id}", "{job_id}")."""
    found = []
    before = ""
    for segment in route.split("/"):
        found += [(f"{before}/{name}", name) for name in re.findall(r"{\w+}", segment)]
        before = segment
    return found


def operations() -> list[Operation]:
    """Of an address that two views share, Django uses the first."""
    routes: dict[str, Sequence[str]] = {}
    for prefix, patterns in (("api/", api_patterns), ("", page_patterns)):
        for route, pattern in _walk(patterns, prefix):
            routes.setdefault(route, _methods(pattern))
    return [Operation(method.upper(), route) for route, methods in routes.items() for method in methods]


def _walk(patterns: Sequence[Any], prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = prefix + PARAMETER.sub(r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        else:
            yield route, pattern


def _methods(pattern: URLPattern) -> Sequence[str]:
    """A page is a function, which refuses what it does not take with 405: the matrix leaves those out."""
    view = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
    return [name for name in METHODS if hasattr(view, name)] if view else ("get", "post")
