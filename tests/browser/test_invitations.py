"""Links in Chromium: an invitation ends in a new member, a password link in a new password."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.services import create_user
from projects.models import Invitation, Membership, Project, Role
from tests.browser.conftest import SignedIn

Eventually = Callable[[Callable[[], bool], str], None]
PASSWORD, NEW = "correct horse battery", "staple battery horse"


def path_of(link: str | None) -> str:
    """The server of a test has another port than PUBLIC_URL."""
    url = urlsplit((link or "").strip())
    return f"{url.path}?{url.query}"


def sign_in(page: Page, name: str, password: str) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Name or email").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_an_invited_person_chooses_a_password_and_takes_part(
    signs_in: SignedIn, project: Project, mara: User, eventually: Eventually
) -> None:
    manager, guest = signs_in(mara), signs_in(None)
    manager.goto("/p/chit-chat/members/")
    manager.locator("#invitations").get_by_role("link", name="Invitations").click()
    manager.locator("#person_name").fill("Nora Ng")
    manager.get_by_role("button", name="Create the link").click()
    guest.goto(path_of(manager.locator("#links").text_content()))
    expect(guest.get_by_role("heading", level=1)).to_have_text("Join “Chit-chat”")
    expect(guest.get_by_label("Name shown to others")).to_have_value("Nora Ng")
    guest.get_by_label("Sign-in name").fill("nora")
    guest.get_by_label("New password", exact=True).fill(PASSWORD)
    guest.get_by_label("New password, again").fill(PASSWORD)
    guest.get_by_role("button", name="Create the account and join").click()
    guest.wait_for_url("**/p/chit-chat/")
    eventually(lambda: Membership.objects.filter(user__username="nora").exists(), "a member")
    sign_in(signs_in(None), "nora", PASSWORD)


def test_a_file_of_people_is_checked_and_invited(
    signs_in: SignedIn, project: Project, mara: User, eventually: Eventually, tmp_path: Path
) -> None:
    file = tmp_path / "people.csv"
    file.write_text("姓名,,标注员,zh\nOle,ole@example.org,controller\n", encoding="gb18030")
    page = signs_in(mara)
    page.goto("/p/chit-chat/invitations/")
    page.get_by_label("Or a CSV file").set_input_files(file)
    expect(page.get_by_label("One person per line")).to_have_value(file.read_text(encoding="gb18030"))
    page.get_by_role("button", name="Check the list").click()
    page.get_by_role("button", name="Invite 2 people").click()
    expect(page.locator("#links")).to_contain_text("姓名")
    eventually(lambda: Invitation.objects.count() == 2, "two invitations")


def test_a_forgotten_password_is_renewed_with_a_link(
    signs_in: SignedIn, project: Project, mara: User, eventually: Eventually
) -> None:
    nora, _plain = create_user(username="nora", password=PASSWORD)
    Membership.objects.create(project=project, user=nora, roles=[Role.ANNOTATOR])
    manager, elsewhere, guest = signs_in(mara), signs_in(nora), signs_in(None)
    manager.goto("/p/chit-chat/members/")
    manager.get_by_role("button", name="Password link nora").click()
    guest.goto(path_of(manager.locator("#password-link").text_content()))
    guest.get_by_label("New password", exact=True).fill(NEW)
    guest.get_by_label("New password, again").fill(NEW)
    guest.get_by_role("button", name="Set the password").click()
    expect(guest.get_by_text("The password is set.")).to_be_visible()
    elsewhere.goto("/account/")
    elsewhere.wait_for_url("**/accounts/login/**")
    sign_in(guest, "nora", NEW)
    guest.wait_for_url(lambda url: urlsplit(url).path == "/")
