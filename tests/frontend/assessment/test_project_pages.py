"""Every page that a member can open in an assessment project works, or says that it is not for such a project."""

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from accounts.models import User
from assessment.sessions.models.participants import Assignment
from frontend.templatetags.projects import TABS
from projects.models import Membership, Project, Protocol, Role
from tests.assessment.steps import complete

NAMES = sorted(
    {
        one.name
        for one in get_resolver("frontend.urls").url_patterns
        if isinstance(one, URLPattern) and one.name and str(one.pattern).startswith("p/<slug:slug>/")
        if str(one.pattern).count("<") == 1
    }
)


@pytest.fixture
def olga(study: Project) -> User:
    """Has every role."""
    person = User.objects.create(username="olga")
    Membership.objects.create(project=study, user=person, roles=list(Role))
    return person


@pytest.mark.parametrize("name", NAMES)
def test_no_page_breaks(client: Client, olga: User, study: Project, name: str) -> None:
    client.force_login(olga)
    client.raise_request_exception = False
    response = client.get(reverse(name, args=[study.slug]))
    assert response.status_code < 500, name


@pytest.mark.parametrize("name", NAMES)
def test_no_form_breaks(client: Client, olga: User, study: Project, name: str) -> None:
    client.force_login(olga)
    client.raise_request_exception = False
    response = client.post(reverse(name, args=[study.slug]))
    assert response.status_code < 500, name


@pytest.mark.parametrize("tab", [tab.name for tab in TABS if Protocol.ASSESSMENT in tab.protocols])
def test_every_tab_opens_before_and_after_a_participant(
    client: Client, olga: User, study: Project, anns: Assignment, tab: str
) -> None:
    client.force_login(olga)
    assert client.get(reverse(tab, args=[study.slug]), follow=True).status_code == 200
    complete(anns, "Fine.")
    assert client.get(reverse(tab, args=[study.slug]), follow=True).status_code == 200
    assert client.get("/").status_code == 200
