"""Iterators: every row once, whatever happens to the connection."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.services.claiming import claim_next_task
from lapidary import ConnectionLost, NotADialogue, Retries
from lapidary.sending import DialogueLike
from projects.models import Membership, Project, Role
from tests.annotation.batch_review.conftest import diqad_answers
from tests.client.broken_line import BrokenLine
from tests.client.conftest import Connects

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 450  # dialogues: three pages


def conversations(count: int) -> Iterator[DialogueLike]:
    for number in range(count):
        yield {"id": f"d{number}", "messages": [{"role": "user", "content": f"Question {number}"}]}


def test_any_iterable_is_imported_once(connects: Connects, project: Project) -> None:
    chat = connects().project(project.slug)
    first = chat.import_dialogues(conversations(3), progress=False)
    assert (first.stored, first.already_there, first.refused) == (3, 0, 0)
    again = chat.import_dialogues([*conversations(4)], progress=False)
    assert (again.stored, again.already_there) == (1, 3)
    pairs = chat.import_dialogues([[("user", "Hello"), ("assistant", "Hi")]], progress=False)
    assert pairs.stored == 1
    newest = list(chat.dialogues())[-1]
    assert newest.utterances is not None
    assert [(each.speaker, each.text) for each in newest.utterances] == [
        ("user", "Hello"),
        ("assistant", "Hi"),
    ]
    assert next(chat.dialogues(texts=False)).utterances is None


def test_refused_rows_are_listed(connects: Connects, project: Project) -> None:
    chat = connects().project(project.slug)
    done = chat.import_dialogues([{"id": "a", "messages": []}, *conversations(1)], progress=False)
    assert (done.stored, done.refused) == (1, 1)
    (row,) = done.errors()
    assert (row.line, bool(row.reason), bool(row.remedy)) == (1, True, True)
    with pytest.raises(NotADialogue, match=r"Dialogue 2 cannot be sent: str is not a dialogue\. Give rows"):
        chat.import_dialogues([*conversations(1), "Hello"], progress=False)  # type: ignore[list-item]


def test_an_import_gives_a_language_and_reads_keys_of_another_shape(
    connects: Connects, project: Project, tmp_path: Path
) -> None:
    chat = connects().project(project.slug)
    named = {"id": "named", "language": "en", "messages": [{"role": "user", "content": "Hello"}]}
    done = chat.import_dialogues([named, *conversations(1)], language="zh-Hans", progress=False)
    assert done.stored == 2
    file = tmp_path / "other.json"
    file.write_text(json.dumps([{"id": "other", "turns": [{"words": "Bonjour"}]}]), encoding="utf-8")
    keys = "utterances=turns,text=words"
    assert chat.import_file(file, format="json", language="fr", map=keys, progress=False).stored == 1
    languages = {each.external_id: each.language for each in chat.dialogues()}
    assert languages == {"named": "en", "d0": "zh-Hans", "other": "fr"}


def test_a_line_that_breaks_loses_and_repeats_no_row(
    connects: Connects, project: Project, line: BrokenLine
) -> None:
    connects().project(project.slug).import_dialogues(conversations(MANY), progress=False)
    chat = connects(line.url).project(project.slug)
    line.cut(1_000, 0, 2_000)
    seen = [each.external_id for each in chat.dialogues()]
    assert seen == [f"d{number}" for number in range(MANY)]
    assert line.broken == 3

    patient_no_more = connects(line.url, retries=Retries(tries=1)).project(project.slug)
    rows = patient_no_more.dialogues()
    seen = [next(rows).external_id for _row in range(200)]
    line.cut(10)
    with pytest.raises(ConnectionLost, match=r"did not answer, tried once: .* Check the address"):
        next(rows)
    seen += [next(rows).external_id for _row in range(50)]
    elsewhere = connects().project(project.slug).dialogues(start=rows.bookmark)
    assert seen + [each.external_id for each in elsewhere] == [f"d{number}" for number in range(MANY)]


def test_candidates_come_with_what_was_sent(connects: Connects, project: Project) -> None:
    chat = connects().project(project.slug)
    shown = ["I read novels", "I am reading The Three-Body Problem"]
    said = [
        {"utterance": "What do you read?", "response_candidates": []},
        {"utterance": shown[1], "response_candidates": shown, "action": "select", "source": 1},
    ]
    chat.import_dialogues([{"dialogue_id": "d", "conversation": said}], format="diamante", progress=False)
    (row,) = chat.candidates()
    assert (row.external_id, row.position, [each.text for each in row.candidates]) == ("d", 1, shown)
    assert row.reply is not None
    assert row.chosen is not None
    assert (row.reply.action, row.chosen.text) == ("select", shown[1])


def labels_next(person: User, project: Project) -> str:
    """Returns the external id of the dialogue."""
    held = claim_next_task(annotator=person, project=project, claim_id=uuid4())
    sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(2))
    submit_labels(annotator=person, assignment_id=held.pk, sent=sent)
    return held.dialogue.external_id


def test_labels_are_followed_while_people_work(connects: Connects, quality: Project, ann: User) -> None:
    Membership.objects.create(project=quality, user=ann, roles=[Role.ANNOTATOR])
    client = connects()
    project = client.project(quality.slug)
    project.import_dialogues(conversations(5), progress=False)
    following = project.labels(follow=True, every=0.02)
    first = [labels_next(ann, quality), labels_next(ann, quality)]
    assert [next(following).external_id for _label in range(2)] == first
    later = labels_next(ann, quality)
    label = next(following)
    assert (label.external_id, label.values["quality"], label.origin) == (later, 2, "single")
    bookmark = following.bookmark
    rest = [labels_next(ann, quality), labels_next(ann, quality)]
    goes_on = project.labels(follow=True, every=0.02, idle_seconds=0.3, start=bookmark)
    assert [each.external_id for each in goes_on] == rest
    assert [each.external_id for each in project.labels()] == [*first, later, *rest]


def test_a_program_labels_like_a_person(connects: Connects, quality: Project, mara: User) -> None:
    Membership.objects.filter(project=quality, user=mara).update(roles=[Role.MANAGER, Role.ANNOTATOR])
    project = connects().project(quality.slug)
    project.import_dialogues(conversations(1), progress=False)
    held = project.claim()
    assert held is not None
    assert held.utterances[0].text == "Question 0"
    held.submit(diqad_answers(1)["dialogue"])
    assert project.claim() is None
    assert [each.values["quality"] for each in project.labels()] == [1]
