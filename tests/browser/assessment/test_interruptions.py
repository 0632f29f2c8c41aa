"""A reload, a lost network, another device, an input method: nothing is lost and nothing is stored twice."""

from playwright.sync_api import Route, expect

from assessment.sessions.models.conversations import Turn
from projects.models import Project
from tests.browser.assessment.taking_part import Visitor, prepare
from tests.browser.conftest import ROUTED, SignedIn
from tests.browser.test_composing import press_enter


def in_the_chat(
    study: Project, server: str, signs_in: SignedIn, mode: str = "good", **options: object
) -> Visitor:
    prepare(study, server, mode)
    # The first conversation is with the ordinary system.
    ann = Visitor.come(signs_in, **options)  # type: ignore[arg-type]
    ann.agree()
    ann.choose_topic()
    return ann


def texts() -> list[str]:
    return list(Turn.objects.order_by("number").values_list("input__text", flat=True))


def test_a_draft_and_the_messages_survive_a_reload(study: Project, server: str, signs_in: SignedIn) -> None:
    ann = in_the_chat(study, server, signs_in)
    ann.write("Hello there")
    ann.page.keyboard.type("Half a sent")
    ann.page.reload()
    expect(ann.messages).to_have_count(2)
    expect(ann.page.locator("#text")).to_have_value("Half a sent")
    ann.can_write()
    ann.page.keyboard.type("ence")
    ann.press("Enter")
    expect(ann.messages).to_have_count(4)
    assert texts() == ["Hello there", "Half a sentence"]


def test_a_reload_while_the_reply_is_awaited(study: Project, server: str, signs_in: SignedIn) -> None:
    study.assessment.delay_ms = 10_000  # the reload has to fit in
    study.assessment.save()
    ann = in_the_chat(study, server, signs_in)
    ann.page.keyboard.type("Hello there")
    ann.press("Enter")
    expect(ann.page.locator("#typing")).to_be_visible()
    ann.page.reload()
    expect(ann.page.locator("#typing")).to_be_visible()
    expect(ann.messages).to_have_count(2)
    expect(ann.page.locator("#typing")).to_be_hidden()
    assert texts() == ["Hello there"]


def test_a_message_without_a_network_is_sent_when_it_returns(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    ann = in_the_chat(study, server, signs_in)
    ann.page.context.set_offline(True)
    ann.page.keyboard.type("From the tunnel")
    ann.press("Enter")
    expect(ann.page.locator(".bubble-state")).to_have_text("Not sent yet; trying again…")
    expect(ann.page.locator("#note")).to_contain_text("No connection.")
    ann.page.keyboard.type("and the next")
    ann.page.context.set_offline(False)
    expect(ann.messages).to_have_count(2)
    expect(ann.page.locator("#note")).to_be_empty()
    expect(ann.page.locator("#text")).to_have_value("and the next")
    assert texts() == ["From the tunnel"]


def test_a_lost_answer_does_not_store_a_message_twice(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    ann = in_the_chat(study, server, signs_in, **ROUTED)
    lost: list[Route] = []

    def lose_once(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route)
        route.fetch()
        route.abort()

    ann.page.route("**/turns/", lose_once)
    ann.write("Only once")
    assert texts() == ["Only once"]


def test_the_same_link_on_another_device_goes_on_there(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    ann = in_the_chat(study, server, signs_in)
    ann.write("On the phone")
    laptop = Visitor.come(signs_in, viewport={"width": 1280, "height": 800})
    expect(laptop.messages).to_have_count(2)
    laptop.write("On the laptop")
    field = ann.page.locator("#text")  # the page may reload itself now, because it follows the laptop
    field.fill("Back on the phone")
    field.press("Enter")
    expect(ann.messages).to_have_count(6)
    assert texts() == ["On the phone", "On the laptop", "Back on the phone"]


def test_an_open_page_follows_another_device(study: Project, server: str, signs_in: SignedIn) -> None:
    ann = in_the_chat(study, server, signs_in)
    ann.write("On the phone")
    laptop = Visitor.come(signs_in, viewport={"width": 1280, "height": 800})
    expect(laptop.messages).to_have_count(2)
    ann.page.keyboard.type("Half a sent")
    laptop.write("On the laptop")
    ann.page.evaluate("dispatchEvent(new Event('focus'))")
    expect(ann.messages).to_have_count(4)
    expect(ann.page.locator("#text")).to_have_value("Half a sent")


def test_enter_inside_an_input_method_sends_nothing(study: Project, server: str, signs_in: SignedIn) -> None:
    ann = in_the_chat(study, server, signs_in)
    ann.page.locator("#text").fill("你好")
    press_enter(ann.page.context.new_cdp_session(ann.page), windowsVirtualKeyCode=229)
    ann.page.wait_for_timeout(200)
    expect(ann.messages).to_have_count(0)
    ann.press("Enter")
    expect(ann.messages).to_have_count(2)
    assert texts() == ["你好"]


def test_a_huge_paste_is_kept_and_refused_until_it_is_shorter(
    study: Project, server: str, signs_in: SignedIn
) -> None:
    ann = in_the_chat(study, server, signs_in)
    ann.page.locator("#text").fill("long " * 20_000)
    ann.press("Enter")
    expect(ann.page.locator("#note")).to_contain_text("Shorten it; nothing is cut off.")
    expect(ann.messages).to_have_count(0)
    ann.page.reload()
    assert len(ann.page.locator("#text").input_value()) == 100_000
    ann.page.locator("#text").fill("short")
    ann.press("Enter")
    expect(ann.messages).to_have_count(2)


def test_the_topic_changes_with_the_next_message(study: Project, server: str, signs_in: SignedIn) -> None:
    ann = in_the_chat(study, server, signs_in)
    ann.write("Hello")
    ann.tab_to(ann.page.locator("#change-topic"))
    ann.press("Enter")
    ann.page.keyboard.type("dogs")
    ann.press("Tab", "ArrowDown", "Enter")
    expect(ann.page.locator("#topic-shown")).to_have_text("dogs")
    ann.write("What about dogs?")
    changed = list(Turn.objects.order_by("number").values_list("topic", "opinion"))
    assert changed[-1] == ("dogs", "ambivalent")


def test_a_topic_survives_a_reload(study: Project, server: str, signs_in: SignedIn) -> None:
    prepare(study, server, "good")
    ann = Visitor.come(signs_in)
    ann.agree()
    expect(ann.page.locator("#topic")).to_be_focused()
    ann.page.keyboard.type("A long walk in the rain")
    ann.page.wait_for_load_state("load")
    ann.page.reload()
    expect(ann.page.locator("#topic")).to_have_value("A long walk in the rain")


def test_sliders_and_answers_survive_a_reload(study: Project, server: str, signs_in: SignedIn) -> None:
    ann = in_the_chat(study, server, signs_in)
    ann.chat()
    ann.finish_chat()
    sliders = ann.page.get_by_role("slider")
    ann.tab_to(sliders.first)
    ann.press("End")
    ann.page.reload()
    expect(sliders.first).to_have_value("100")
    expect(sliders.nth(1)).to_have_attribute("aria-valuetext", "not answered")
    ann.rate()
    expect(ann.page.locator("#topic")).to_be_visible()
