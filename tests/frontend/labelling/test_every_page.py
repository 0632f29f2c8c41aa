"""No page or API address fails for a labelling project, which has no authoring settings."""

from collections.abc import Iterator

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from projects.models import Project, Role
from tests.annotation.conftest import Joins


def addresses(resolver: URLResolver, before: str = "") -> Iterator[str]:
    """The addresses whose only parameter is a project."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, before + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            address = before + str(pattern.pattern)
            if address.count("<") == 1 and "<slug:slug>" in address:
                yield "/" + address.replace("<slug:slug>", "{slug}")


def test_no_address_fails_for_a_project_without_authoring(
    client: Client, joins: Joins, quality: Project
) -> None:
    client.force_login(joins("olga", quality, *Role))
    client.raise_request_exception = False
    answers = {
        address: client.get(address.format(slug=quality.slug)).status_code
        for address in sorted(set(addresses(get_resolver())))
    }
    assert len(answers) > 20
    assert not {address: status for address, status in answers.items() if status >= 500}
