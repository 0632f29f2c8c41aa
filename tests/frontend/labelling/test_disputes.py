"""Pages of disputes, confirmations and a dialogue's labels: who sees what, and concurrent decisions."""

import html
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.selectors.disputes import next_dispute
from annotation.labelling.services.imported_labels import imported_annotators, store_labels
from annotation.labelling.services.resolution import decide_dispute
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, Task, TaskState
from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from dialogues.parsing.parsed_dialogue import ParsedDialogue, ParsedUtterance
from projects.models import Project, Role
from tests.annotation.conftest import Joins, imported
from tests.annotation.labelling.test_labelling import claim_for_both, good, sends

SPEAKERS = ("customer", "helpdesk")
BETTER = good(1, reasons_1=["incomplete"])


@pytest.fixture
def tom(joins: Joins, quality: Project) -> User:
    return joins("tom", quality, Role.TRAINER)


def disputed(person: User, colleague: User, project: Project) -> Task:
    """They still differ on the quality after they have seen each other's answers."""
    first, second = claim_for_both(person, colleague, project)
    for _round in range(2):
        sends(first, good(2), note="It answers everything.")
        sends(second, BETTER, note="One question stays open.")
    return Task.objects.get(pk=first.task_id, state=TaskState.DISPUTED)


def signed(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def page_text(response: Any) -> dict[str, Any]:
    """The initial data of the page's script."""
    data: dict[str, Any] = response.context["data"]
    return data


def decision(answers: dict[str, Any], reason: str = "It answers both.", **more: object) -> dict[str, object]:
    return {"id": uuid4(), "answers": json.dumps(answers), "reason": reason, **more}


def test_the_list_shows_who_differs_on_what(anna: User, bela: User, tina: User, quality: Project) -> None:
    task = disputed(anna, bela, quality)
    page = signed(tina).get("/p/quality/disputes/")
    ((case, differing),) = page.context["cases"]
    assert (case.task, case.is_own) == (task, False)
    assert case.since
    assert {name for row in differing for _words, _n, name in row["spread"]} == {"anna", "bela"}


def test_an_empty_list_explains_itself(tina: User, quality: Project) -> None:
    assert b"Nothing to decide" in signed(tina).get("/p/quality/disputes/").content


@pytest.mark.django_db
def test_the_queries_of_the_list_do_not_grow(
    anna: User, bela: User, tina: User, quality: Project, django_assert_max_num_queries: Any
) -> None:
    client = signed(tina)
    disputed(anna, bela, quality)
    with django_assert_max_num_queries(16):
        client.get("/p/quality/disputes/")
    for _more in range(2):
        disputed(anna, bela, quality)
    with django_assert_max_num_queries(16):
        client.get("/p/quality/disputes/")


def test_agreed_answers_are_filled_in(anna: User, bela: User, tina: User, quality: Project) -> None:
    task = disputed(anna, bela, quality)
    page = signed(tina).get(f"/p/quality/disputes/{task.pk}/")
    data = page_text(page)
    assert data["answers"] == {"dialogue": {"verify": 0}, "utterances": {}}
    assert "quality" in data["differences"]
    assert {entry["by"] for entry in data["spread"]["quality"]} == {"anna", "bela"}
    assert b"One question stays open." in page.content


def test_a_decision_leads_to_the_next_dispute(anna: User, bela: User, tina: User, quality: Project) -> None:
    first, second = disputed(anna, bela, quality), disputed(anna, bela, quality)
    client = signed(tina)
    answer = client.post(f"/p/quality/disputes/{first.pk}/", decision(BETTER))
    assert answer["Location"] == f"/p/quality/disputes/{second.pk}/"
    final = FinalLabel.objects.get(superseded_at=None)
    assert (final.task, final.origin, final.answers) == (first, LabelOrigin.DECIDED, BETTER)
    answer = client.post(f"/p/quality/disputes/{second.pk}/", decision(BETTER))
    assert answer["Location"] == "/p/quality/disputes/"


def test_a_decision_without_a_reason_is_refused_and_keeps_the_answers(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    page = signed(tina).post(f"/p/quality/disputes/{task.pk}/", decision(BETTER, reason=" "))
    assert page.status_code == 400
    assert b"Give the reason" in page.content
    assert page_text(page)["answers"] == BETTER
    assert not FinalLabel.objects.exists()


def test_a_long_reason_is_refused_and_not_truncated(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    address, reason = f"/p/quality/disputes/{task.pk}/", "Why.\r\n" * 998
    page = signed(tina).post(address, decision(BETTER, reason=reason + "Much too long."))
    assert page.status_code == 400
    assert b"A reason has at most 5,000 characters." in page.content
    assert b"Much too long.</textarea>" in page.content
    # Exactly as many characters as the field accepts; it counts a line end once.
    assert signed(tina).post(address, decision(BETTER, reason=reason + "ok")).status_code == 302
    assert FinalLabel.objects.get(superseded_at=None).reason.endswith("Why.\nok")


def test_the_second_trainer_sees_who_decided_and_why(
    anna: User, bela: User, tina: User, tom: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    address = f"/p/quality/disputes/{task.pk}/"
    signed(tom).post(address, decision(good(2), reason="Nothing is missing."))
    page = signed(tina).post(address, decision(BETTER, reason="The card number is missing."))
    assert page.status_code == 409
    for text in (b"tom has decided this dialogue", b"Nothing is missing.", b"The card number is missing."):
        assert text in page.content
    assert FinalLabel.objects.get(superseded_at=None).answers == good(2)
    second_decision = decision(BETTER, replaces=page.context["decision"].pk)
    assert signed(tina).post(address, second_decision).status_code == 302
    assert FinalLabel.objects.get(superseded_at=None).answers == BETTER


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_decisions_store_one(
    anna: User, bela: User, tina: User, tom: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    clients = [signed(tina), signed(tom)]

    def decide(client: Client) -> int:
        try:
            return client.post(f"/p/quality/disputes/{task.pk}/", decision(BETTER)).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(decide, clients)) == [302, 409]
    assert FinalLabel.objects.count() == 1


def test_changing_a_decision_requires_its_id(
    anna: User, bela: User, tina: User, tom: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    address = f"/api/v1/disputes/{task.pk}/decision/"

    def decides(person: User, **more: object) -> Any:
        sent = {"id": str(uuid4()), "answers": BETTER, "reason": "So it is.", **more}
        return signed(person).post(address, sent, content_type="application/json")

    assert decides(tom).status_code == 200
    refused = decides(tina)
    assert (refused.status_code, refused.json()["code"]) == (409, "already_decided")
    assert decides(tina, replaces=refused.json()["final"]).status_code == 200


def test_a_repeated_decision_is_stored_once(anna: User, bela: User, tina: User, quality: Project) -> None:
    task = disputed(anna, bela, quality)
    sent, client = decision(BETTER), signed(tina)
    assert [client.post(f"/p/quality/disputes/{task.pk}/", sent).status_code for _again in range(2)] == [
        302,
        302,
    ]
    assert FinalLabel.objects.count() == 1


def test_a_trainer_cannot_decide_a_dialogue_they_labelled(
    joins: Joins, anna: User, tina: User, quality: Project
) -> None:
    bela = joins("bela", quality, Role.ANNOTATOR, Role.TRAINER)
    task = disputed(anna, bela, quality)
    page = signed(bela).get(f"/p/quality/disputes/{task.pk}/")
    assert not page_text(page)["isOpen"]
    assert b"You labelled this dialogue yourself" in page.content
    assert next_dispute(bela, quality) is None
    assert next_dispute(tina, quality) == task


def test_annotators_see_no_disputes(anna: User, bela: User, quality: Project) -> None:
    task = disputed(anna, bela, quality)
    for address in ("", f"{task.pk}/"):
        assert signed(anna).get(f"/p/quality/disputes/{address}").status_code == 403
    assert signed(anna).post(f"/p/quality/disputes/{task.pk}/", decision(BETTER)).status_code == 403
    assert not FinalLabel.objects.exists()


def test_a_dispute_of_another_project_is_not_found(
    joins: Joins, anna: User, bela: User, quality: Project, project: Project
) -> None:
    task = disputed(anna, bela, quality)
    outsider = joins("olga", project, Role.TRAINER)
    assert signed(outsider).get(f"/p/quality/disputes/{task.pk}/").status_code == 404
    assert signed(outsider).get(f"/p/chit-chat/disputes/{task.pk}/").status_code == 404


def test_an_undisputed_dialogue_redirects_to_the_list(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2))
    sends(second, good(2))
    answer = signed(tina).get(f"/p/quality/disputes/{first.task_id}/")
    assert answer["Location"] == "/p/quality/disputes/"


# ---- confirmations ---------------------------------------------------------------------------------------------------


def test_confirmations_link_to_the_workbench(anna: User, bela: User, quality: Project) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2))
    sends(second, BETTER)
    page = signed(anna).get("/p/quality/confirmations/")
    assert f"/p/quality/label/{first.pk}/".encode() in page.content
    assert f"/label/{second.pk}/".encode() not in page.content
    assert b"Nothing to confirm" in signed(_done(first)).get("/p/quality/confirmations/").content


def _done(assignment: Assignment) -> User:
    sends(assignment, good(2))
    return assignment.annotator


def test_the_queries_of_confirmations_do_not_grow(
    anna: User, bela: User, quality: Project, django_assert_max_num_queries: Any
) -> None:
    client = signed(anna)
    for _more in range(3):
        first, second = claim_for_both(anna, bela, quality)
        sends(first, good(2))
        sends(second, BETTER)
    with django_assert_max_num_queries(9):
        page = client.get("/p/quality/confirmations/")
    assert len(page.context["page"].object_list) == 3


def test_trainers_have_nothing_to_confirm(tina: User, quality: Project) -> None:
    assert signed(tina).get("/p/quality/confirmations/").status_code == 403


# ---- a dialogue with its labels --------------------------------------------------------------------------------------


def dialogue_page(person: User, task: Task, query: str = "") -> Any:
    return signed(person).get(f"/p/quality/dialogues/{task.dialogue_id}/{query}")


def text_of(page: Any) -> str:
    """The visible text, on one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())


def test_the_page_shows_the_origin_of_the_label(anna: User, bela: User, tina: User, quality: Project) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2))
    sends(second, good(2))
    assert "Everybody agreed" in text_of(dialogue_page(tina, first.task))
    task = disputed(anna, bela, quality)
    decide_dispute(
        trainer=tina, task_id=task.pk, decision_id=uuid4(), answers=BETTER, reason="One stays open."
    )
    text = text_of(dialogue_page(tina, task))
    assert "Decided by tina" in text
    assert "One stays open." in text


def test_the_page_shows_every_submission_with_its_revisions(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2))
    sends(second, BETTER)
    sends(first, BETTER, note="Seen now.")
    people = {row.who: row for row in dialogue_page(tina, first.task).context["people"]}
    assert set(people) == {"anna", "bela"}
    (revision,) = people["anna"].earlier
    assert revision.changes[0].question == "Rate the quality of the dialogue."
    assert revision.changes[0].before != revision.changes[0].after
    assert people["bela"].earlier == []


def test_controllers_read_answers_without_names(
    joins: Joins, anna: User, bela: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    page = dialogue_page(joins("carlos", quality, Role.CONTROLLER), task)
    assert [row.who for row in page.context["people"]] == ["Annotator 1", "Annotator 2"]
    assert "bela" not in text_of(page)


def test_annotators_read_only_their_own(anna: User, bela: User, quality: Project) -> None:
    first, second = claim_for_both(anna, bela, quality)
    sends(first, good(2), note="It answers everything.")
    sends(second, BETTER, note="One question stays open.")
    page = dialogue_page(anna, first.task)
    assert [row.who for row in page.context["people"]] == ["You"]
    for theirs in ("One question stays open.", "bela", "ncomplete"):
        assert theirs not in text_of(page)


def test_annotators_cannot_read_a_dialogue_they_have_not_labelled(
    joins: Joins, anna: User, bela: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    assert dialogue_page(joins("cleo", quality, Role.ANNOTATOR), task).status_code == 404
    held, _other = claim_for_both(anna, bela, quality)
    assert dialogue_page(anna, held.task).status_code == 404


def test_annotators_do_not_see_others_answers_before_the_end(
    joins: Joins, anna: User, bela: User, quality: Project
) -> None:
    """Otherwise an annotator who may read dialogues could copy answers."""
    first, second = claim_for_both(anna, bela, quality)
    sends(second, BETTER)
    both_roles = joins("anna", quality, Role.ANNOTATOR, Role.TRAINER)
    page = dialogue_page(both_roles, first.task)
    assert page.context["people"] == []
    assert "You see others' answers when everybody has answered." in html.unescape(text_of(page))


def test_dialogues_are_filtered_by_who_labelled_them(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    page = signed(tina).get(f"/p/quality/dialogues/?annotator={anna.pk}")
    assert [dialogue.pk for dialogue, _actions in page.context["rows"]] == [task.dialogue_id]


def test_a_dialogue_without_labels_says_so(tina: User, quality: Project) -> None:
    task = Task.objects.filter(project=quality).earliest("id")
    assert "Nobody has answered yet." in text_of(dialogue_page(tina, task))


def test_imported_labels_are_marked(tina: User, quality: Project) -> None:
    (dialogue,) = imported(quality, 1)
    parsed = ParsedDialogue(
        line=1,
        external_id="x",
        utterances=tuple(ParsedUtterance(speaker=name, text="Hello") for name in ("user", "assistant")),
        metadata={"label": 2, "reason": []},
    )
    assert store_labels(quality, [(dialogue, parsed)]) == []
    text = text_of(signed(tina).get(f"/p/quality/dialogues/{dialogue.pk}/"))
    assert "Imported: One person's answers" in html.unescape(text)


def helpdesk(manager: User, utterances: int, people: int) -> Task:
    """A helpdesk dialogue labelled by several people, every second one of whom gives other customer nuggets."""
    project = create_project(slug="helpdesk", preset="dch", actor=manager)
    dialogue = Dialogue.objects.create(
        project=project, origin=Origin.IMPORTED, state=DialogueState.FINISHED, utterance_count=utterances
    )
    Utterance.objects.bulk_create(
        Utterance(dialogue=dialogue, position=at, speaker=SPEAKERS[at // 2 % 2], text=f"Post {at}")
        for at in range(utterances)
    )
    task = Task.objects.create(
        project=project, dialogue=dialogue, overlap=people, open_slots=0, state=TaskState.FINAL
    )
    answers = [nuggets(utterances, n % 2) for n in range(people)]
    schema = project.labelling.schema
    assert schema is not None
    for n, person in enumerate(imported_annotators(project, people)):
        assignment = Assignment.objects.create(
            task=task, project=project, annotator=person, dialogue=dialogue, claim_id=uuid4(),
            lease_until=timezone.now(), state="submitted",
        )  # fmt: skip
        Submission.objects.create(
            assignment=assignment,
            task=task,
            project=project,
            annotator=person,
            schema=schema,
            answers=answers[n],
        )
    FinalLabel.objects.create(
        task=task, project=project, dialogue=dialogue, schema=schema, answers=answers[0], origin="majority"
    )
    return task


def nuggets(utterances: int, turn: int) -> dict[str, Any]:
    labels = ("CNUG", "CNUG0") if turn else ("CNUG", "CNUG")
    labelled = {
        str(at): {"nugget": labels[at % 2] if at // 2 % 2 == 0 else "HNUG"} for at in range(utterances)
    }
    return {"dialogue": {"TS": 1, "TA": 1, "CS": turn, "HA": 1, "CA": 1}, "utterances": labelled}


def test_nuggets_have_brackets_and_disagreement_is_marked(mara: User, joins: Joins) -> None:
    task = helpdesk(mara, utterances=8, people=3)
    page = signed(joins("tina", task.project, Role.TRAINER)).get(f"/p/helpdesk/dialogues/{task.dialogue_id}/")
    utterance_labels = page.context["utterance_labels"]
    assert [utterance_labels[at].piece for at in range(4)] == ["first", "last", "first", "last"]
    assert [at for at in range(8) if utterance_labels[at].differs] == [1, 5]
    assert [n for n, _from in page.context["differing"]] == [2, 6]
    assert [(n, len(names.split(", "))) for _words, n, names in utterance_labels[1].nugget.spread] == [
        (2, 2),
        (1, 1),
    ]


def test_the_queries_do_not_grow_with_the_utterances(
    mara: User, joins: Joins, django_assert_max_num_queries: Any
) -> None:
    task = helpdesk(mara, utterances=2000, people=19)
    client = signed(joins("tina", task.project, Role.TRAINER))
    with django_assert_max_num_queries(23):
        page = client.get(f"/p/helpdesk/dialogues/{task.dialogue_id}/?from=1800")
    assert len(page.context["utterance_labels"]) == 200
    assert page.context["more_differing"] == 450
    assert len(page.content) < 600_000
