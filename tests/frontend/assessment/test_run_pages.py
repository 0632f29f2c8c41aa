"""Managers create, open and close runs, invite participants, and follow them."""

from html import unescape
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from assessment.sessions.models.conversations import Turn, TurnState
from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.models.runs import Run, RunState
from assessment.sessions.selectors.runs import run_progress
from assessment.sessions.services.participants import leave
from assessment.setup.models import AssessmentSettings, TopicMode
from projects.models import Membership, Project, Role
from tests.assessment import steps


@pytest.fixture
def maras(client: Client, mara: User, study: Project) -> Client:
    client.force_login(mara)
    return client


def read(client: Client, address: str) -> str:
    response = client.get(f"/p/study/{address}")
    assert response.status_code == 200
    return unescape(response.content.decode())


def post(client: Client, address: str, **fields: object) -> str:
    return unescape(client.post(f"/p/study/{address}", fields, follow=True).content.decode())


def new_run(client: Client, **changes: object) -> str:
    fields = {"places": 3, "topic_mode": TopicMode.FREE, "creation_id": uuid4(), **changes}
    return post(client, "runs/new/", **fields)


def open_run(client: Client) -> str:
    """Open run 1, whose systems nobody has checked."""
    return post(client, "runs/1/open/", accepts_unproven=1)


def test_the_page_of_a_run_warns_of_a_chatbot_that_fails(maras: Client, study: Project) -> None:
    new_run(maras)
    open_run(maras)
    turn = steps.send(steps.start(steps.begin(study, "ann")))
    assert "without a reply" not in read(maras, "runs/1/")
    Turn.objects.filter(pk=turn.pk).update(state=TurnState.FAILED)
    assert f"without a reply: {turn.session.system.name}." in read(maras, "runs/1/")


def test_the_page_of_a_run_says_that_participants_meet_systems_more_than_once(
    maras: Client, study: Project
) -> None:
    new_run(maras)
    assert "come more than once" not in read(maras, "runs/1/")
    AssessmentSettings.objects.filter(project=study).update(ordinary_systems=7)
    assert "each participant meets (7), so some come more than once" in read(maras, "runs/1/")


def test_the_overview_warns_of_a_chatbot_that_fails_in_an_open_run(
    maras: Client, study: Project, run: Run
) -> None:
    turn = steps.send(steps.start(steps.begin(study, "ann")))
    Turn.objects.filter(pk=turn.pk).update(state=TurnState.FAILED)
    words = f"This chatbot leaves participants without a reply: {turn.session.system.name}."
    assert words in read(maras, "")
    post(maras, "runs/1/close/")
    assert words not in read(maras, "")


def test_the_overview_counts_the_participants_of_open_runs(maras: Client, study: Project, run: Run) -> None:
    steps.complete(steps.begin(study, "ann"))
    post(maras, "runs/1/close/")
    steps.opened_run(study, places=3)
    assert "0 participants have finished; 3 are wanted." in read(maras, "")


def test_sessions_of_people_who_left_are_not_open(study: Project, run: Run) -> None:
    steps.start(steps.begin(study, "ann"))
    leave(assignment=steps.begin(study, "bob"))
    progress = {row.system.name: row.open for row in run_progress(run).systems}
    assert set(progress.values()) == {1}


def test_a_study_without_systems_is_sent_to_them_first(maras: Client, study: Project) -> None:
    assert "Create a run, then open it to participants." in read(maras, "runs/")
    study.systems.all().delete()
    empty = read(maras, "runs/").partition('<div class="empty">')[2].partition("</section>")[0]
    assert "Add the systems under test first" in empty
    assert f'class="button primary" href="/p/{study.slug}/systems/"' in empty


def test_a_run_from_its_creation_to_its_end(maras: Client, study: Project) -> None:
    assert "No run yet" in read(maras, "runs/")
    assert "Run 1 is created" in new_run(maras)
    assert "Open the run anyway" in read(maras, "runs/1/")
    assert "never checked: a, b, c, d, degraded, e." in post(maras, "runs/1/open/")
    assert "participants can enter" in open_run(maras)
    steps.complete(steps.begin(study, "ann"), "Good.")
    shown = read(maras, "runs/1/")
    assert "1 of 3 completed" in shown
    assert "1 taken, 2 open" in shown
    assert "Participants who have begun can finish" in post(maras, "runs/1/close/")
    assert Run.objects.get().state == RunState.CLOSED
    assert "participants can enter" in open_run(maras)


def test_a_form_sent_twice_creates_one_run(maras: Client) -> None:
    creation_id = uuid4()
    for _n in range(2):
        new_run(maras, creation_id=creation_id)
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    "changes",
    [{"places": 0}, {"places": "many"}, {"places": 10**9}, {"topic_mode": "x"}, {"creation_id": "x"}],
)
def test_an_impossible_run_is_refused(maras: Client, changes: dict[str, object]) -> None:
    fields = {"places": 3, "topic_mode": TopicMode.FREE, "creation_id": uuid4(), **changes}
    assert maras.post("/p/study/runs/new/", fields).status_code == 422
    assert not Run.objects.exists()


def test_a_run_without_systems_does_not_open_and_says_why(maras: Client, study: Project) -> None:
    new_run(maras)
    study.systems.all().delete()
    assert "no degraded system" in post(maras, "runs/1/open/")


def test_places_are_not_fewer_than_those_who_entered(maras: Client, study: Project) -> None:
    steps.opened_run(study, places=3)
    for name in ("ann", "bob"):
        steps.begin(study, name)
    assert "2 participants have already entered" in post(maras, "runs/1/places/", places=1)
    assert "2 taken, 0 open" in post(maras, "runs/1/places/", places=2)
    assert "between 0 and" in post(maras, "runs/1/places/", places=-1)


def test_the_link_and_the_codes_for_a_panel(maras: Client, run: Run) -> None:
    shown = read(maras, "runs/1/")
    assert "/join/study/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}" in shown
    for code in AssessmentSettings.objects.get().completion_codes.values():
        assert code in shown


def test_signed_links_work_for_their_names_only(maras: Client, run: Run) -> None:
    AssessmentSettings.objects.update(signed_links=True)
    assert "{{%PROLIFIC_PID%}}" not in read(maras, "runs/1/")
    shown = post(maras, "runs/1/links/", names="ann\n bob \nann\n")
    addresses = [word for word in shown.split() if word.startswith("http")]
    assert len(addresses) == 2
    assert "Before you begin" in Client().get(addresses[1], follow=True).content.decode()
    assert Assignment.objects.get().participant.panel_id == "bob"
    assert "Write at least one name" in post(maras, "runs/1/links/", names=" ")


def test_the_list_of_participants_can_be_narrowed(maras: Client, study: Project, run: Run) -> None:
    steps.complete(steps.begin(study, "ann"), "The third one was fun.")
    steps.begin(study, "bob")
    everybody = read(maras, "participants/")
    assert "ann" in everybody
    assert "The third one was fun." in everybody
    active = read(maras, f"participants/?run=1&state={AssignmentState.ACTIVE}")
    assert ">bob<" in active
    assert ">ann<" not in active
    assert "No participant matches these filters" in read(maras, "participants/?state=declined")
    read(maras, "participants/?run=x&state=y&before=z")


def test_unusual_behaviour_is_named_and_rejects_nobody(maras: Client, study: Project, run: Run) -> None:
    session = steps.start(steps.begin(study, "ann"))
    for _n in range(2):
        steps.answer(steps.send(session, "Hi", pasted=2, left_page=1), "Hi")
    shown = read(maras, "participants/")
    for words in (
        "1 message repeated",
        "2 messages pasted",
        "left the page 2 times",
        "1 copied from the chatbot",
    ):
        assert words in shown


def test_a_member_takes_part_and_comes_back(client: Client, ann: User, study: Project, run: Run) -> None:
    Membership.objects.create(project=study, user=ann, roles=[Role.ANNOTATOR])
    client.force_login(ann)
    assert "not begun" in read(client, "take-part/")
    assert "Before you begin" in post(client, "runs/1/take-part/")
    client.post("/join/study/consent/")
    assert "Continue" in read(client, "take-part/")
    assert "What do you want to talk about?" in post(client, "runs/1/take-part/")
    assert Assignment.objects.get().participant.user == ann


def test_an_annotator_neither_opens_runs_nor_sees_participants(
    client: Client, ann: User, study: Project, run: Run
) -> None:
    Membership.objects.create(project=study, user=ann, roles=[Role.ANNOTATOR])
    client.force_login(ann)
    for address in ("runs/", "runs/1/", "participants/", "study/"):
        assert client.get(f"/p/study/{address}").status_code == 403
    for address in ("runs/new/", "runs/1/close/", "runs/1/places/", "runs/1/links/", "study/statements/"):
        assert client.post(f"/p/study/{address}").status_code == 403
    assert client.post("/p/study/runs/7/take-part/").status_code == 404


def settings_form(client: Client) -> dict[str, object]:
    return dict(client.get("/p/study/study/").context["form"].initial)


def test_settings_are_stored_and_wrong_ones_named(maras: Client) -> None:
    fields = {name: value for name, value in settings_form(maras).items() if value is not False}
    post(maras, "study/", **{**fields, "inputs": 7, "code_completed": "NEW1", "ice_breakers": "Hi.\n\nTea?"})
    settings = AssessmentSettings.objects.get()
    assert (settings.inputs, settings.completion_codes["completed"]) == (7, "NEW1")
    assert settings.ice_breakers == ["Hi.", "Tea?"]
    for wrong in ({"inputs": 0}, {"return_url": "javascript:alert(1)"}, {"name_study": "PROLIFIC_PID"}):
        assert maras.post("/p/study/study/", {**fields, **wrong}).status_code == 422
    assert AssessmentSettings.objects.get().inputs == 7


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"code_declined": "SAME", "code_completed": "same"}, "cannot tell them apart"),
        ({"return_url": "https://panel.example/done"}, "does not contain {code}"),
    ],
)
def test_codes_that_hide_how_somebody_ended_are_refused(
    maras: Client, changes: dict[str, object], words: str
) -> None:
    fields = {name: value for name, value in settings_form(maras).items() if value is not False}
    response = maras.post("/p/study/study/", {**fields, **changes})
    assert response.status_code == 422
    assert words in unescape(response.content.decode())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"code_completed": ""}, "cannot tell that they have finished"),
        ({"code_declined": ""}, "are not sent back to the panel"),
        ({"code_system_failure": "PAID", "code_completed": "PAID"}, "both are paid"),
        ({"code_timed_out": "OUT", "code_declined": "OUT"}, "neither is paid"),
    ],
)
def test_codes_that_may_be_so_on_purpose_are_stored_with_a_warning(
    maras: Client, run: Run, changes: dict[str, object], words: str
) -> None:
    fields = {name: value for name, value in settings_form(maras).items() if value is not False}
    assert words in post(maras, "study/", **{**fields, **changes})
    assert words in read(maras, "runs/1/")


def test_statements_are_changed_added_and_removed(maras: Client) -> None:
    formset = maras.get("/p/study/study/").context["formset"]
    fields: dict[str, object] = {"statements-TOTAL_FORMS": 8, "statements-INITIAL_FORMS": 7}
    for n, row in enumerate(formset.initial):
        fields |= {f"statements-{n}-{name}": value for name, value in row.items() if value is not False}
    fields |= {"statements-0-DELETE": "on", "statements-1-text_en": "It was interesting."}
    fields |= {
        "statements-7-name": "polite",
        "statements-7-text_en": "Polite.",
        "statements-7-text_zh": "礼貌。",
    }
    post(maras, "study/statements/", **fields)
    stored = AssessmentSettings.objects.get().statement_list
    assert [one.name for one in stored] == [*steps.STATEMENTS[1:], "polite"]
    assert stored[0].text_en == "It was interesting."
    broken = maras.post("/p/study/study/statements/", {**fields, "statements-7-name": "fun"})
    assert broken.status_code == 422
    assert "Two statements have the same name" in broken.content.decode()
