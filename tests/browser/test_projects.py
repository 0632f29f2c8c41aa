"""A project's pages in Chromium: ticks hold at once, previews follow the typing, jobs move by themselves."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, expect

from accounts.models import User
from jobs.models import Job, JobState
from projects.models import Membership, Project
from tests.browser.conftest import SignedIn

Eventually = Callable[[Callable[[], bool], str], None]


def roles_of(user: User) -> list[str] | None:
    return Membership.objects.filter(user=user).values_list("roles", flat=True).first()


def test_a_tick_holds_at_once_and_is_undone(
    signs_in: SignedIn, project: Project, mara: User, ann: User, eventually: Eventually
) -> None:
    page = signs_in(mara)
    page.goto("/p/chit-chat/members/")
    line = page.locator(f"#member-{ann.pk}")
    line.get_by_label("ann: Trainer").check()
    eventually(lambda: roles_of(ann) == ["annotator", "trainer"], "both roles")
    line.get_by_role("button", name="Undo").click()
    eventually(lambda: roles_of(ann) == ["annotator"], "the role before")
    expect(line.get_by_label("ann: Trainer")).not_to_be_checked()


def test_a_role_that_was_taken_away_stays_away(
    signs_in: SignedIn, project: Project, mara: User, ann: User, eventually: Eventually
) -> None:
    """The line that offers to undo knows the roles before; the next tick does not bring them back."""
    Membership.objects.filter(user=ann).update(roles=["annotator", "trainer"])
    page = signs_in(mara)
    page.goto("/p/chit-chat/members/")
    line = page.locator(f"#member-{ann.pk}")
    line.get_by_label("ann: Trainer").uncheck()
    eventually(lambda: roles_of(ann) == ["annotator"], "one role less")
    expect(line.get_by_role("button", name="Undo")).to_be_visible()
    expect(line.get_by_label("ann: Trainer")).to_be_focused()
    line.get_by_label("ann: ML engineer").check()
    eventually(lambda: roles_of(ann) == ["annotator", "engineer"], "another role, and not the one before")


def test_a_part_of_a_page_whose_person_signed_out_does_not_show_the_form_to_sign_in(
    signs_in: SignedIn, project: Project, eric: User
) -> None:
    job = Job.objects.create(project=project, kind="export", state=JobState.RUNNING, done=1, total=4)
    page = signs_in(eric)
    page.goto(f"/p/chit-chat/jobs/{job.pk}/")
    expect(page.locator("#live")).to_contain_text("25 %")
    page.context.clear_cookies()
    page.wait_for_url(f"**/login/?next=/p/chit-chat/jobs/{job.pk}/")
    expect(page.locator("#live")).to_have_count(0)


def test_a_page_that_renews_itself_keeps_the_focus(signs_in: SignedIn, project: Project, eric: User) -> None:
    job = Job.objects.create(project=project, kind="export", state=JobState.RUNNING, done=1, total=4)
    page = signs_in(eric)
    page.goto(f"/p/chit-chat/jobs/{job.pk}/")
    page.get_by_role("button", name="Stop").focus()
    Job.objects.filter(pk=job.pk).update(done=3)
    expect(page.locator("#live")).to_contain_text("75 %")
    expect(page.get_by_role("button", name="Stop")).to_be_focused()


def test_a_lost_connection_is_reported_once(signs_in: SignedIn, project: Project, eric: User) -> None:
    job = Job.objects.create(project=project, kind="export", state=JobState.RUNNING, done=1, total=4)
    page = signs_in(eric)
    page.goto(f"/p/chit-chat/jobs/{job.pk}/")
    page.context.set_offline(True)
    page.locator("#toasts .toast.bad button").click()  # it is read, and taken away
    page.wait_for_timeout(2500)  # the page has asked twice since
    expect(page.locator("#toasts .toast")).to_have_count(0)


def test_a_removed_person_comes_back_with_one_press(
    signs_in: SignedIn, project: Project, mara: User, ann: User, eventually: Eventually
) -> None:
    page = signs_in(mara)
    page.goto("/p/chit-chat/members/")
    line = page.locator(f"#member-{ann.pk}")
    line.get_by_role("button", name="Remove ann").click()
    eventually(lambda: roles_of(ann) is None, "no membership")
    line.get_by_role("button", name="Undo").click()
    expect(line.get_by_label("ann: Annotator")).to_be_checked()
    assert roles_of(ann) == ["annotator"]


def test_the_last_manager_sees_why_the_tick_does_not_go(
    signs_in: SignedIn, project: Project, mara: User
) -> None:
    Membership.objects.filter(user=mara).update(roles=["manager", "trainer"])
    page = signs_in(mara)
    page.goto("/p/chit-chat/members/")
    box = page.get_by_label("mara: Manager")
    box.click()
    expect(page.locator("#toasts")).to_contain_text("only manager")
    expect(box).to_be_checked()


COVERED = """async words => {
    const { toast } = await import("/static/js/shared/toast.js");
    document.getElementById("toasts").replaceChildren();
    toast(words, { tone: "good" });
    const note = document.querySelector("#toasts .toast").getBoundingClientRect();
    return [...document.querySelectorAll("main :is(a, button, input, select, summary)")].filter((control) => {
        const { left, right, top, bottom, width } = control.getBoundingClientRect();
        return width && left < note.right && right > note.left && top < note.bottom && bottom > note.top;
    }).map((control) => control.outerHTML);
}"""


# A short one and the longest ones of scripts.
NOTES = (
    "Saved for later.",
    "The server cannot be reached. Nothing was lost; try again in a moment.",
    "No connection. Nothing was sent, and your words are kept; try again when it is back.",
    "This dialogue was changed in another tab or on another device. You now see the saved version.",
)


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_a_note_covers_no_control_of_the_page(
    signs_in: SignedIn, project: Project, mara: User, width: int
) -> None:
    page = signs_in(mara, viewport={"width": width, "height": 800})
    page.goto("/p/chit-chat/members/")
    assert {words: covered for words in NOTES if (covered := page.evaluate(COVERED, words))} == {}


def test_a_touch_screen_shows_no_keys(signs_in: SignedIn, project: Project, mara: User) -> None:
    desk = signs_in(mara)
    desk.goto("/p/chit-chat/settings/")
    expect(desk.locator("[data-opens=keys]").first).to_be_visible()
    expect(desk.locator(".key:visible").first).to_be_visible()
    phone = signs_in(mara, viewport={"width": 390, "height": 740}, is_mobile=True, has_touch=True)
    phone.goto("/p/chit-chat/settings/")
    expect(phone.locator("main h1")).to_be_visible()
    expect(phone.locator(".key:visible, [data-opens=keys]:visible")).to_have_count(0)


def test_the_preview_follows_the_typing(signs_in: SignedIn, project: Project, mara: User) -> None:
    page = signs_in(mara)
    page.goto("/p/chit-chat/settings/")
    page.get_by_label("Guidelines in Chinese").fill("# 新规范\n\n**要点**")
    preview = page.locator(".preview[lang=zh-Hans]")
    expect(preview.get_by_role("heading", name="新规范")).to_be_visible()
    expect(preview.locator("strong")).to_have_text("要点")
    assert "What you make" in page.locator(".preview[lang=en]").inner_text()


def test_a_job_moves_by_itself_and_comes_to_rest(signs_in: SignedIn, project: Project, eric: User) -> None:
    job = Job.objects.create(
        project=project, kind="export", parameters={"format": "sft"}, state=JobState.RUNNING, done=1, total=4
    )
    page = signs_in(eric)
    page.goto(f"/p/chit-chat/jobs/{job.pk}/")
    expect(page.locator("#live")).to_contain_text("25 %")
    Job.objects.filter(pk=job.pk).update(done=3)
    expect(page.locator("#live")).to_contain_text("75 %")
    Job.objects.filter(pk=job.pk).update(state=JobState.DONE, done=4)
    expect(page.locator("#live")).to_contain_text("Done")
    assert page.locator("#live").get_attribute("hx-get") is None


def test_the_documentation_of_the_api_is_drawn_and_can_be_tried(
    signs_in: SignedIn, project: Project, mara: User
) -> None:
    """Under the strict Content-Security-Policy: signs_in fails on any complaint of the console."""
    page = signs_in(mara)
    page.goto("/api/docs/")
    page.locator(".operation-filter-input").fill("Account")  # it draws only the operations that are in sight
    operation = page.locator("#operations-Account-me_read")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table")).to_contain_text('"username": "mara"')


def test_saving_one_form_asks_before_it_drops_what_was_changed_in_another(
    signs_in: SignedIn, project: Project, mara: User
) -> None:
    page = signs_in(mara)
    page.goto("/p/chit-chat/settings/")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    about, authoring = (
        page.locator(f"form[action='/p/chit-chat/settings/{end}']") for end in ("", "authoring/")
    )
    about.locator("[name=title]").fill("Chats of spring")
    authoring.get_by_role("button", name="Save").click()
    expect(about.locator("[name=title]")).to_have_value("Chats of spring")
    assert asked == ["beforeunload"]
    about.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Settings")
    page.wait_for_function("document.querySelector('[name=title]').defaultValue === 'Chats of spring'")
    authoring.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts, .messages").first).to_be_attached()
    assert asked == ["beforeunload"]


def test_what_a_refused_form_shows_is_not_dropped_without_asking(
    signs_in: SignedIn, project: Project, mara: User
) -> None:
    page = signs_in(mara)
    page.goto("/p/chit-chat/settings/")
    about, authoring = (
        page.locator(f"form[action='/p/chit-chat/settings/{end}']") for end in ("", "authoring/")
    )
    rounds = authoring.locator("input[type=number]").first
    authoring.evaluate("form => { form.noValidate = true; }")
    rounds.fill("-1")
    authoring.get_by_role("button", name="Save").click()
    expect(rounds).to_have_attribute("aria-invalid", "true")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    about.get_by_role("button", name="Save").click()
    expect(rounds).to_have_value("-1")
    assert asked == ["beforeunload"]


def test_an_empty_short_name_shows_what_it_is_made_of_and_is_sent_empty(
    signs_in: SignedIn, mara: User
) -> None:
    User.objects.filter(pk=mara.pk).update(is_superuser=True)
    page = signs_in(mara)
    page.goto("/projects/new/")
    title, name = page.get_by_label("Title"), page.get_by_label("Short name")
    for text, suggested in (("Café talk: 2026", "cafe-talk-2026"), ("电影闲聊", "project"), ("", "")):
        title.fill(text)
        expect(name).to_have_attribute("placeholder", suggested)
    name.fill("films")
    title.fill("Film talk")
    expect(name).to_have_value("films")
    name.fill("")
    expect(name).to_have_attribute("placeholder", "film-talk")
