"""The pages of systems: who may open them, what the forms store, and what the degraded view shows."""

from html import unescape
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from assessment.sessions.models.participants import Assignment
from assessment.systems.models import Connector, System, TrialTurn
from assessment.systems.services.trials import answer_trial, send_trial_input
from frontend.pages.assessment.system_trial import build_degradation
from generation.protocol import BackendError
from projects.models import Project, Role
from tests.assessment.steps import add_systems
from tests.assessment.talk import degraded_system, import_dialogues
from tests.candidate_requests import create_generator
from tests.conftest import Joins
from tests.frontend.dialogs import without_dialogs

FORM = {"name": "Mega", "persona": " I have a dog. \n\nI am 30.", "identity_words": "MegaBot\nMega Corp"}
OPENAI = {**FORM, "base_url": "http://127.0.0.1:8000/v1", "model": "mega/bot", "temperature": "0.7"}


@pytest.fixture
def boss(client: Client, mara: User, study: Project) -> Client:
    client.force_login(mara)
    return client


def new(connector: str) -> str:
    return reverse("system_new", args=["study", connector])


def page_of(client: Client, name: str, system: System) -> str:
    return client.get(reverse(name, args=["study", system.pk])).content.decode()


def test_the_list_shows_every_system_and_its_state(boss: Client, study: Project) -> None:
    System.objects.filter(name="a").update(retired_at="2026-01-01T00:00Z")
    html = boss.get("/p/study/systems/").content.decode()
    assert html.count("Not checked") == 5
    assert "Retired" in html
    assert "4 ordinary; each participant meets 5" in html


def test_an_openai_system_is_added_and_changed(boss: Client, study: Project) -> None:
    assert boss.get(new("openai")).status_code == 200
    response = boss.post(new("openai"), {**OPENAI, "extra_body": '{"top_p": 0.9}'})
    system = System.objects.get(name="Mega")
    assert response["Location"] == reverse("system_try", args=["study", system.pk])
    assert system.options == {
        "base_url": "http://127.0.0.1:8000/v1",
        "model": "mega/bot",
        "extra_body": {"top_p": 0.9},
    }
    assert (system.persona, system.sampling) == (["I have a dog.", "I am 30."], {"temperature": 0.7})
    html = page_of(boss, "system_edit", system)
    assert "I have a dog.\nI am 30." in html
    boss.post(reverse("system_edit", args=["study", system.pk]), {**OPENAI, "temperature": "", "top_k": "5"})
    system.refresh_from_db()
    assert system.sampling == {"top_k": 5}


def test_a_model_of_the_registry_a_service_and_a_degraded_one_are_added(boss: Client, study: Project) -> None:
    generator = create_generator("replies")
    import_dialogues(study)
    boss.post(new("generator"), {**FORM, "generator": generator.pk})
    boss.post(new("http"), {**FORM, "name": "Service", "address": "http://127.0.0.1:8080/chat"})
    boss.post(new("degraded"), {"name": "Odd", "corpus": study.pk})
    rows = {one.name: one for one in System.objects.filter(name__in=["Mega", "Service", "Odd"])}
    assert rows["Mega"].generator == generator
    assert rows["Service"].options == {"address": "http://127.0.0.1:8080/chat"}
    assert rows["Odd"].corpus == study


@pytest.mark.parametrize(
    ("connector", "changes", "words"),
    [
        ("openai", {"base_url": "nonsense"}, "is not the address of a server"),
        ("openai", {"name": "a"}, "There is already a system named"),
        ("openai", {"extra_body": "[1"}, "Enter a valid JSON"),
        ("openai", {"extra_body": '{"api_key": "sk-1"}'}, "looks like a secret"),
        ("openai", {"model": ""}, "This field is required"),
        ("http", {"name": "X", "address": "ftp://x"}, "is not the address of a server"),
        ("degraded", {"corpus": "999999"}, "Select a valid choice"),
        ("degraded", {"corpus": ""}, "This field is required"),
    ],
)
def test_an_error_is_shown_at_its_field(
    boss: Client, connector: str, changes: dict[str, str], words: str
) -> None:
    response = boss.post(new(connector), {**OPENAI, **changes})
    assert response.status_code == 422
    assert words in response.content.decode()


def test_without_any_model_the_page_says_what_to_do(boss: Client, study: Project) -> None:
    page = without_dialogs(boss.get(new(Connector.GENERATOR)).content.decode())
    assert "There is no model on this server yet" in page
    assert 'type="submit" class="button primary"' not in page


def test_a_key_is_the_name_of_a_variable_and_only_administrators_choose_it(
    boss: Client, mara: User, study: Project
) -> None:
    boss.post(new("openai"), {**OPENAI, "api_key_env": "LAPIDARY_KEY_MEGA"})
    assert "api_key_env" not in System.objects.get(name="Mega").options
    User.objects.filter(pk=mara.pk).update(is_superuser=True)
    refused = boss.post(new("openai"), {**OPENAI, "name": "B", "api_key_env": "sk-secret"})
    assert "looks like a secret" in refused.content.decode()
    boss.post(new("openai"), {**OPENAI, "name": "B", "api_key_env": "LAPIDARY_KEY_MEGA"})
    system = System.objects.get(name="B")
    assert system.options["api_key_env"] == "LAPIDARY_KEY_MEGA"
    User.objects.filter(pk=mara.pk).update(is_superuser=False)
    boss.post(reverse("system_edit", args=["study", system.pk]), {**OPENAI, "name": "B", "model": "other"})
    system.refresh_from_db()
    assert (system.options["model"], system.options["api_key_env"]) == ("other", "LAPIDARY_KEY_MEGA")


def test_a_degraded_system_takes_its_words_from_another_project_with_dialogues(
    boss: Client, study: Project, talks: Project
) -> None:
    assert boss.get(new("degraded")).context["form"]["corpus"].initial is None
    refused = boss.post(new("degraded"), {"name": "Odd", "corpus": talks.pk})
    assert "has too few finished dialogues" in unescape(refused.content.decode())
    import_dialogues(study)
    assert boss.get(new("degraded")).context["form"]["corpus"].initial == study
    import_dialogues(talks)
    assert boss.get(new("degraded")).context["form"]["corpus"].initial == talks
    boss.post(new("degraded"), {"name": "Odd", "corpus": talks.pk})
    assert System.objects.get(name="Odd").corpus == talks


def test_the_last_system_of_its_kind_stays_while_participants_need_it(boss: Client, anns: Assignment) -> None:
    system = System.objects.get(connector=Connector.DEGRADED)
    retire = reverse("system_retire", args=["study", system.pk])
    shown = unescape(boss.post(retire, follow=True).content.decode())
    assert "1 participant still has to talk to “degraded”, the only degraded system." in shown
    system.refresh_from_db()
    assert system.retired_at is None
    degraded_system(anns.run.project, name="other")
    boss.post(retire)
    system.refresh_from_db()
    assert system.retired_at is not None


def test_a_system_is_retired_during_a_run_and_taken_back(boss: Client, anns: Assignment) -> None:
    system = System.objects.get(name="a")
    assert boss.post(reverse("system_retire", args=["study", system.pk])).status_code == 302
    system.refresh_from_db()
    assert system.retired_at is not None
    assert anns.sessions.filter(system=system).exists()
    assert "Use again" in boss.get("/p/study/systems/").content.decode()
    boss.post(reverse("system_restore", args=["study", system.pk]))
    system.refresh_from_db()
    assert system.retired_at is None


def test_the_trial_shows_what_failed_and_what_to_do(
    boss: Client, mara: User, study: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise BackendError("The system is on fire.", "Call somebody.")

    monkeypatch.setattr("assessment.systems.services.trials.open_conversation", fail)
    system = System.objects.get(name="a")
    turn = send_trial_input(system=system, user=mara, turn_id=uuid4(), text="Hello!")
    assert "No worker takes the queue “chat”" in page_of(boss, "system_try", system)
    answer_trial(turn.pk)
    html = page_of(boss, "system_try", system)
    assert "The system is on fire." in html
    assert "Call somebody." in html
    assert "Check failed" in boss.get("/p/study/systems/").content.decode()
    TrialTurn.objects.update(error="The service answered /init with HTTP 503.")
    chinese = boss.get("/p/study/systems/", headers={"accept-language": "zh-hans"}).content.decode()
    assert "该服务对 /init 返回了 HTTP 503。" in chinese


def test_a_message_is_only_stored_by_the_web_process(boss: Client, study: Project) -> None:
    system = System.objects.get(name="a")
    send = reverse("system_try_send", args=["study", system.pk])
    response = boss.post(send, {"turn": str(uuid4()), "text": "<b>Hi</b>"}, headers={"HX-Request": "true"})
    assert "&lt;b&gt;Hi&lt;/b&gt;" in response.content.decode()
    assert 'hx-trigger="load delay:400ms"' in response.content.decode()
    assert TrialTurn.objects.get().asked_at is None
    assert (
        boss.post(send, {"turn": str(uuid4()), "text": "Hi?"}, headers={"HX-Request": "true"}).status_code
        == 409
    )


def test_the_degraded_view_shows_source_span_and_result(boss: Client, mara: User, study: Project) -> None:
    import_dialogues(study)
    system = System.objects.get(connector=Connector.DEGRADED)
    answer_trial(send_trial_input(system=system, user=mara, turn_id=uuid4(), text="Hello!").pk)
    turn = TrialTurn.objects.get()
    assert turn.reply is not None
    made = build_degradation(turn.reply.text, turn.trace)
    assert made is not None
    assert made.before + made.removed + made.after == turn.trace["source_text"]
    assert made.reply_before + made.inserted + made.reply_after == turn.reply.text
    html = page_of(boss, "system_try", system)
    assert f"<del>{made.removed}</del>" in html
    assert f"<ins>{made.inserted}</ins>" in html


def test_annotators_and_others_cannot_open_them(client: Client, study: Project, joins: Joins) -> None:
    client.force_login(joins("ann", study, Role.ANNOTATOR))
    system = System.objects.filter(project=study).first()
    assert system is not None
    for address in ("/p/study/systems/", reverse("system_try", args=["study", system.pk])):
        assert client.get(address).status_code in (403, 404)


def test_a_system_of_another_project_is_not_found(boss: Client, talks: Project) -> None:
    other = degraded_system(talks)
    assert boss.get(reverse("system_edit", args=["study", other.pk])).status_code == 404


def test_queries_do_not_grow_with_systems(
    boss: Client, study: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    boss.get("/p/study/systems/")
    with django_assert_max_num_queries(12):
        boss.get("/p/study/systems/")
    System.objects.all().delete()
    add_systems(study, ordinary=12)
    with django_assert_max_num_queries(12):
        boss.get("/p/study/systems/")
