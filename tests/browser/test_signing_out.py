"""Signing out with work that is not stored, without a connection, and from pages of before another sign-in."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from annotation.labelling.models.labels import Submission
from projects.invitations.invitees import Invitee
from projects.invitations.links import invitation_url
from projects.invitations.services import invite_by_link
from projects.models import Membership, Project, Role
from tests.browser.conftest import ROUTED, SignedIn, take_over
from tests.browser.labelling import LabelBench, annotator, planned, stored
from tests.browser.test_invitations import path_of

Eventually = Callable[[Callable[[], bool], str], None]
PASSWORD = "a-long-enough-password"
FAILING_DISK = """() => {
  IDBDatabase.prototype.transaction = () => { throw new DOMException("", "QuotaExceededError") };
}"""


def sign_out(page: Page) -> None:
    page.locator(".user-button").click()
    page.locator("#user-menu").get_by_role("button", name="Sign out").click()


def asked(page: Page) -> Locator:
    dialog = page.locator("#sign-out")
    expect(dialog).to_be_visible()
    return dialog


def sign_in(page: Page, person: User) -> None:
    page.goto("/accounts/login/")
    page.fill("[name=login]", person.username)
    page.fill("[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/login/" not in url)


def sign_in_again_elsewhere(page: Page, person: User) -> None:
    """In another tab: the same browser gets another session and another token."""
    site = page.evaluate("location.origin")
    take_over(page.context, person, site)
    token = Client(enforce_csrf_checks=True).get("/accounts/login/").cookies[settings.CSRF_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.CSRF_COOKIE_NAME, "value": token, "url": site}])


def unsent(mara: User, signs_in: SignedIn) -> tuple[User, LabelBench]:
    project = planned("diqad", mara, count=3)
    ann = annotator("ann", project)
    ann.set_password(PASSWORD)
    ann.save()
    bench = LabelBench.open(signs_in(ann, **ROUTED), project)
    bench.press("n").with_ahead()
    bench.page.route("**/submissions/", lambda route: route.fulfill(status=502))
    bench.press("2").submit()
    expect(bench.badge).to_have_text("1 waiting to send")
    return ann, bench


def test_unsent_work_is_named_before_signing_out_and_waits_for_its_owner(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    ann, bench = unsent(mara, signs_in)
    page = bench.page
    bob = User.objects.create_user("bob", "bob@example.org", PASSWORD)
    sign_out(page)
    dialog = asked(page)
    expect(dialog).to_contain_text("1 piece of your work has not reached the server yet.")
    expect(dialog).to_contain_text("for ann only")
    expect(dialog.get_by_role("button", name="Stay signed in")).to_be_focused()
    bench.press("Enter")
    expect(dialog).to_be_hidden()
    assert page.request.get("/api/v1/me/").ok
    sign_out(page)
    asked(page).get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/**")
    page.unroute("**/submissions/")
    sign_in(page, bob)
    page.wait_for_load_state("networkidle")
    expect(bench.badge).to_be_hidden()
    assert not Submission.objects.exists()
    sign_out(page)
    page.wait_for_url("**/accounts/login/**")  # nothing of bob's waits
    sign_in(page, ann)
    eventually(lambda: len(stored(ann)) == 1, "the submission, as ann's")


def test_what_arrives_in_the_meantime_needs_no_question(mara: User, signs_in: SignedIn) -> None:
    _ann, bench = unsent(mara, signs_in)
    bench.page.unroute("**/submissions/")
    bench.page.locator("#sign-out").evaluate(
        "dialog => { dialog.dataset.sendingMs = 30_000 }"
    )  # a busy machine
    sign_out(bench.page)
    bench.page.wait_for_url("**/accounts/login/**")
    assert Submission.objects.count() == 1


def test_signing_out_without_a_connection_waits_for_it(mara: User, signs_in: SignedIn) -> None:
    project = planned("diqad", mara, count=2)
    bench = LabelBench.open(signs_in(annotator("ann", project)), project).kept_for_offline()
    bench.page.context.set_offline(True)
    sign_out(bench.page)
    dialog = asked(bench.page)
    expect(dialog).to_contain_text("Signing out needs a connection")
    expect(dialog.get_by_role("button", name="Sign out")).to_be_hidden()
    assert bench.page.evaluate("caches.keys()") == ["lapidary"]  # the page still reloads
    bench.page.context.set_offline(False)
    dialog.get_by_role("button", name="Sign out").click()
    bench.page.wait_for_url("**/accounts/login/**")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_answers_badly_is_asked_to_sign_out_all_the_same(
    mara: User, signs_in: SignedIn, status: int
) -> None:
    page = signs_in(mara, **ROUTED)
    page.goto("/")
    page.route("**/api/v1/me/", lambda route: route.fulfill(status=status))
    sign_out(page)
    page.wait_for_url("**/accounts/login/**")


def test_without_an_answer_signing_out_says_so_and_can_be_tried_again(mara: User, signs_in: SignedIn) -> None:
    page = signs_in(mara, **ROUTED)
    page.goto("/")
    page.route("**/api/v1/me/", lambda route: route.abort())
    sign_out(page)
    dialog = asked(page)
    expect(dialog).to_contain_text("Signing out needs a connection")
    dialog.get_by_role("button", name="Stay signed in").click()
    page.unroute("**/api/v1/me/")
    sign_out(page)
    page.wait_for_url("**/accounts/login/**")


def test_a_disk_that_fails_keeps_nobody_signed_in(mara: User, signs_in: SignedIn) -> None:
    page = signs_in(mara)
    page.goto("/")
    page.evaluate(FAILING_DISK)
    sign_out(page)
    page.wait_for_url("**/accounts/login/**")


def test_a_page_from_before_the_same_person_signed_in_again_still_works(
    mara: User, signs_in: SignedIn
) -> None:
    page = signs_in(mara)
    page.goto("/")
    sign_in_again_elsewhere(page, mara)
    page.locator(".lang-switch").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    page.locator(".lang-switch").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    sign_in_again_elsewhere(page, mara)
    sign_out(page)
    page.wait_for_url("**/accounts/login/**")


def test_a_page_of_somebody_else_stores_nothing_and_says_why(mara: User, signs_in: SignedIn) -> None:
    bob = User.objects.create_user("bob", "bob@example.org", PASSWORD)
    page = signs_in(mara)
    page.goto("/account/?from=here")
    sign_in_again_elsewhere(page, bob)
    page.locator(".lang-switch").click()
    expect(page.get_by_role("heading", name="This page is out of date")).to_be_visible()
    bob.refresh_from_db()
    assert bob.language == ""
    page.get_by_role("link", name="Reload the page").click()
    page.wait_for_url("**/account/?from=here")
    expect(page.locator("#user-menu")).to_contain_text("bob")


@pytest.mark.parametrize("way", ["notice", "badge"])
def test_a_page_says_who_has_signed_in_instead_and_leads_back(
    way: str, mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = planned("diqad", mara, count=1)
    ann = annotator("ann", project)
    ann.set_password(PASSWORD)
    ann.save()
    bob = User.objects.create_user("bob", "bob@example.org", PASSWORD)
    bench = LabelBench.open(signs_in(ann), project)
    page, shown = bench.page, bench.shown
    sign_in_again_elsewhere(page, bob)
    bench.press("n", "2").submit()
    expect(bench.notices).to_contain_text("You are signed in as bob now. Sign in as ann to send what waits.")
    expect(bench.badge).to_have_text("Sign in to send 1")
    if way == "notice":
        bench.notices.get_by_role("button", name="Sign in as ann").click()
    else:
        bench.badge.click()
    page.locator("main").get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/**")
    page.fill("[name=login]", "ann")
    page.fill("[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/p/{project.slug}/label/**")
    eventually(lambda: len(stored(ann)) == 1, "what waited")
    assert stored(ann)[0].assignment_id == shown


@pytest.mark.parametrize("area", ["imports", "schema"])
def test_a_form_that_is_not_sent_says_who_has_signed_in_instead(
    area: str, mara: User, signs_in: SignedIn, tmp_path: Path
) -> None:
    project = planned("diqad", mara, count=1)
    bob = User.objects.create_user("bob", "bob@example.org", PASSWORD)
    page = signs_in(mara)
    page.goto(f"/p/{project.slug}/{area}/")
    sign_in_again_elsewhere(page, bob)
    if area == "imports":
        file = tmp_path / "chats.jsonl"
        file.write_text('{"messages": [{"role": "user", "content": "Hi"}]}\n')
        page.locator("input[type=file]").set_input_files(file)
        page.locator("#import [type=submit]").click()
        shown = page.locator("[data-problem]")
    else:
        page.get_by_role("button", name="Add a question").click()
        shown = page.locator("main")
    expect(shown).to_contain_text("You are signed in as bob now.")
    expect(shown.get_by_role("button", name="Sign in as mara")).to_be_visible()


@pytest.mark.parametrize("in_the_meantime", ["bob signs in", "bob signs in and out"])
def test_an_invitation_is_accepted_by_whoever_opened_it_only(
    mara: User, project: Project, signs_in: SignedIn, in_the_meantime: str
) -> None:
    bob = User.objects.create_user("bob", "bob@example.org", PASSWORD)
    (invitation,) = invite_by_link(
        project=project, actor=mara, request_id=uuid4(), people=[Invitee((Role.ANNOTATOR,), "Nora")]
    )
    page = signs_in(None)
    page.goto(path_of(invitation_url(invitation)))
    page.get_by_label("Sign-in name").fill("nora")
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password, again").fill(PASSWORD)
    sign_in_again_elsewhere(page, bob)
    if in_the_meantime == "bob signs in and out":
        page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.get_by_role("button", name="Create the account and join").click()
    if in_the_meantime == "bob signs in":
        expect(page.get_by_role("heading", name="This page is out of date")).to_be_visible()
        assert not Membership.objects.filter(user=bob).exists()
        page.get_by_role("link", name="Reload the page").click()
        expect(page.locator("#user-menu")).to_contain_text("bob")
    else:
        page.wait_for_url(f"**/p/{project.slug}/")
        assert Membership.objects.filter(user__username="nora", project=project).exists()


@pytest.mark.parametrize("javascript", [True, False])
def test_signing_out_from_a_page_of_somebody_else_asks_again(
    mara: User, signs_in: SignedIn, javascript: bool
) -> None:
    bob = User.objects.create_user("bob", "bob@example.org", PASSWORD)
    page = signs_in(mara, java_script_enabled=javascript)
    page.goto("/accounts/logout/")
    sign_in_again_elsewhere(page, bob)
    page.locator("main").get_by_role("button", name="Sign out").click()
    if not javascript:
        expect(page.get_by_role("heading", name="This page is out of date")).to_be_visible()
        page.get_by_role("link", name="Sign out").click()
    expect(page.locator("#user-menu")).to_contain_text("bob")
    page.locator("main").get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/**")
