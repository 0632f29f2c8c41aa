"""Components of the design system, as templates use them."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django import forms
from django.core.paginator import Paginator
from django.db import models
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import timezone, translation

from accounts.models import User
from annotation.expert_review.models import Verdict
from annotation.tasks.models.work import AssignmentState
from dialogues.models import Action, DialogueState, ReviewState
from frontend.templatetags.ui import STATE_STYLES, device
from frontend.ui.paging import keyset_page
from generation.models import RequestState
from jobs.models import Job, JobState

MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) AppleWebKit/605.1.15 Version/17.0 Safari/605.1.15"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"


def render(source: str, query: str = "", user_agent: str = WINDOWS, **context: object) -> str:
    request = RequestFactory(headers={"User-Agent": user_agent}).get(f"/{query}")
    template = Template("{% load ui %}" + source)
    return template.render(Context({"request": request, "csrf_token": "x", **context}))


def test_an_icon_is_silent_unless_it_has_a_label() -> None:
    assert 'aria-hidden="true"' in render('{% icon "check" %}')
    assert 'role="img" aria-label="Done"' in render('{% icon "check" "Done" %}')


def test_a_misspelt_icon_is_an_error() -> None:
    with pytest.raises(KeyError):
        render('{% icon "chekc" %}')


@pytest.mark.parametrize(("user_agent", "shown"), [(WINDOWS, "Ctrl ↵"), (MAC, "⌘↵")])
def test_key_hints_are_those_of_the_persons_keyboard(user_agent: str, shown: str) -> None:
    assert f">{shown}</kbd>" in render('{% key "mod+enter" %}', user_agent=user_agent)


@pytest.mark.parametrize(
    "states", [JobState, RequestState, AssignmentState, DialogueState, ReviewState, Action, Verdict]
)
def test_every_state_of_the_models_has_a_look(states: type[models.TextChoices]) -> None:
    assert set(states.values) <= set(STATE_STYLES)


def test_a_badge_says_its_state_in_words_and_by_a_sign() -> None:
    html = render('{% badge "failed" %}')
    assert 'class="badge bad"' in html
    assert "<svg" in html
    assert "Failed" in html


def test_an_unknown_state_is_shown_escaped_as_it_is() -> None:
    assert "&lt;b&gt;" in render("{% badge state %}", state="<b>")


def test_progress_of_nothing_is_an_empty_bar() -> None:
    assert 'value="0" max="1"' in render("{% progress 0 0 %}")


def test_steps_mark_what_is_done_and_the_one_in_work() -> None:
    html = render("{% steps 2 7 %}")
    assert html.count('class="done"') == 2
    assert html.count('class="now"') == 1
    assert html.count("<i ") == 7
    assert "2 of 7" in html


def test_the_pager_keeps_the_filters_of_the_page() -> None:
    html = render("{% pager page %}", query="?state=failed&page=2", page=Paginator(range(100), 10).page(2))
    assert "?state=failed&amp;page=3" in html
    assert "?state=failed&amp;page=1" in html
    assert "11–20 of 100" in html


@pytest.mark.django_db
def test_keyset_pages_cover_every_row_once() -> None:
    people = [User.objects.create(username=f"person-{n}").pk for n in range(5)]
    rows, before = [], None
    while before != "":
        page = keyset_page(User.objects.all(), before, size=2)
        rows += [row.pk for row in page.rows]
        before = page.before
    assert rows == people[::-1]


@pytest.mark.django_db
def test_a_senseless_key_shows_the_first_page() -> None:
    assert keyset_page(User.objects.all(), "1; drop").is_first


@pytest.mark.django_db
def test_the_keyset_pager_leads_onwards_and_back_to_the_newest() -> None:
    for n in range(5):
        User.objects.create(username=f"person-{n}")
    page = keyset_page(User.objects.all(), str(User.objects.latest("pk").pk), size=2)
    html = render("{% pager page %}", query="?q=a&before=9", page=page)
    assert f"?q=a&amp;before={page.before}" in html
    assert 'href="?q=a"' in html


def job(**fields: object) -> Job:
    return Job(id=uuid4(), kind="import", **fields)


def test_a_living_job_renews_itself_and_can_be_stopped() -> None:
    running = job(state=JobState.RUNNING, done=10, total=40, started_at=timezone.now() - timedelta(minutes=3))
    html = render('{% job_progress job poll="/poll" cancel="/stop" %}', job=running)
    assert 'hx-get="/poll"' in html
    assert 'action="/stop"' in html
    assert "25&nbsp;%" in html


def test_an_ended_job_rests() -> None:
    html = render(
        '{% job_progress job poll="/poll" cancel="/stop" download="/file" %}', job=job(state=JobState.DONE)
    )
    assert "hx-get" not in html
    assert "/stop" not in html
    assert 'href="/file"' in html


def test_a_failed_job_says_why_what_helps_and_offers_to_start_again() -> None:
    failed = job(state=JobState.FAILED, error="Line 3 is <broken>.", remedy="Mend it.")
    html = render('{% job_progress job retry="/again" download="/file" %}', job=failed)
    assert "Line 3 is &lt;broken&gt;." in html
    assert "Mend it." in html
    assert 'action="/again"' in html
    assert "/file" not in html


def test_a_waiting_job_reports_a_missing_worker() -> None:
    waiting = job(state=JobState.QUEUED)
    assert "No worker is running" in render("{% job_progress job worker_alive=False %}", job=waiting)
    assert "No worker is running" not in render("{% job_progress job %}", job=waiting)


class Sample(forms.Form):
    name = forms.CharField(help_text="Shown in lists.")
    note = forms.CharField(required=False)
    several = forms.MultipleChoiceField(choices=[("a", "A"), ("b", "B")], widget=forms.CheckboxSelectMultiple)


def test_a_field_is_bound_to_its_label_help_and_errors() -> None:
    html = render("{% field form.name %}", form=Sample({}))
    assert '<label for="id_name">' in html
    assert 'id="id_name_helptext"' in html
    assert 'id="id_name_error"' in html
    assert 'aria-describedby="id_name_helptext id_name_error"' in html
    assert 'aria-invalid="true"' in html


def test_only_optional_fields_say_so() -> None:
    assert "optional" in render("{% field form.note %}", form=Sample())
    assert "optional" not in render("{% field form.name %}", form=Sample())


@pytest.mark.parametrize(("choices", "is_optional"), [([("a", "A")], False), ([("", "–"), ("a", "A")], True)])
def test_a_select_is_optional_only_with_an_empty_choice(
    choices: list[tuple[str, str]], is_optional: bool
) -> None:
    class Selecting(forms.Form):
        kind = forms.ChoiceField(choices=choices, required=False)

    assert ("optional" in render("{% field form.kind %}", form=Selecting())) is is_optional


def test_several_checkboxes_are_one_group_with_a_legend() -> None:
    html = render("{% field form.several %}", form=Sample())
    assert html.count('type="checkbox"') == 2
    assert "<legend>" in html


def test_a_guests_theme_is_the_cookies_unless_it_is_senseless() -> None:
    request = RequestFactory().get("/")
    request.COOKIES["lapidary_theme"] = "dark"
    assert Template("{% load ui %}{% theme %}").render(Context({"request": request})) == "dark"
    request.COOKIES["lapidary_theme"] = '"><script>'
    assert Template("{% load ui %}{% theme %}").render(Context({"request": request})) == "auto"


@pytest.mark.parametrize(
    ("user_agent", "shown"),
    [(MAC, "Safari · macOS"), (WINDOWS, "Firefox · Windows"), ("curl/8", "curl/8"), ("", "unknown")],
)
def test_devices_have_short_names(user_agent: str, shown: str) -> None:
    with translation.override("en"):
        assert device(user_agent) == shown


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_times_are_written_one_way_in_every_language(language: str) -> None:
    at = datetime(2026, 3, 9, 16, 5, 59)
    with translation.override(language):
        assert render('{{ at|date:"DATETIME_FORMAT" }}', at=at) == "2026-03-09 16:05"
        assert render('{{ at|date:"DATE_FORMAT" }}', at=at) == "2026-03-09"
