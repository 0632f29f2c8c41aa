"""Projects to be labelled, and the labelling workbench as a person at the keyboard sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from annotation.labelling.models.labels import LabelDraft, Schema, Submission
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from dialogues.splits import split_for
from projects.models import Membership, Project, Role
from tests.browser.bench import Workbench

SPEAKERS = {
    "diqad": ("user", "assistant"),
    "dch": ("customer", "helpdesk"),
    "dialeval": ("customer", "helpdesk"),
    "diamante-evaluation": ("user", "assistant"),
}
WORDS = (
    "忘记了银行卡号怎么查",
    "您好，带上身份证去柜台查询。",
    "My watch shows no calls.",
    "Which model is it?",
)
Said = Sequence[tuple[str, str]]


def labelling_project(preset: str, manager: User, slug: str = "", **settings: object) -> Project:
    """Two people per dialogue or as `settings` say; no time floor, no balance, in the order of import."""
    project = create_project(slug=slug or preset, preset=preset, actor=manager)
    chosen = {"min_seconds": 0, "balance": None, "order": "given", "open_tasks_per_person": 20, **settings}
    for name, value in chosen.items():
        setattr(project.labelling, name, value)
    project.labelling.save()
    return project


def with_dialogues(project: Project, dialogues: Sequence[Said]) -> Project:
    for n, texts in enumerate(dialogues):
        dialogue = Dialogue.objects.create(
            project=project,
            external_id=f"{project.slug}-{n}",
            origin=Origin.IMPORTED,
            state=DialogueState.FINISHED,
            split=split_for(f"{project.slug}-{n}"),
            utterance_count=len(texts),
            language="zh",
        )
        Utterance.objects.bulk_create(
            Utterance(dialogue=dialogue, position=position, speaker=speaker, text=text)
            for position, (speaker, text) in enumerate(texts)
        )
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    return project


def said_by(preset: str, *, utterances: int = 4, mark: str = "") -> Said:
    """A dialogue of a preset's two speakers, two utterances each at a time for the nuggets."""
    speakers = SPEAKERS[preset]
    pace = 2 if preset in ("dch", "dialeval") else 1
    return [(speakers[n // pace % 2], f"{WORDS[n % len(WORDS)]} {mark}".strip()) for n in range(utterances)]


def planned(preset: str, manager: User, *, count: int = 3, utterances: int = 4, **settings: Any) -> Project:
    project = labelling_project(preset, manager, **settings)
    return with_dialogues(
        project, [said_by(preset, utterances=utterances, mark=f"#{n}") for n in range(count)]
    )


def annotator(name: str, project: Project) -> User:
    person, _made = User.objects.get_or_create(username=name, defaults={"email": f"{name}@example.org"})
    Membership.objects.update_or_create(project=project, user=person, defaults={"roles": [Role.ANNOTATOR]})
    return person


def with_schema(project: Project, questions: list[dict[str, Any]]) -> Project:
    """Replace the preset's schema by one of the test's own."""
    from annotation.labelling.schema.reading import read_schema

    schema = read_schema({"questions": questions})
    new_schema = Schema.objects.create(
        project=project, version=2, content=schema.content, sha256=schema.sha256
    )
    project.labelling.schema = new_schema
    project.labelling.save()
    return project


def stored(person: User) -> list[Submission]:
    """The live submissions, oldest first."""
    return list(Submission.objects.filter(annotator=person, superseded_at=None).order_by("stored_at"))


def drafted(assignment: Assignment) -> dict[str, Any]:
    answers: dict[str, Any] = LabelDraft.objects.get(assignment=assignment).answers
    return answers


class LabelBench(Workbench):
    @classmethod
    def open(cls, page: Page, project: Project, assignment: int | None = None) -> LabelBench:
        page.goto(f"/p/{project.slug}/label/" + (f"{assignment}/" if assignment else ""))
        return cls(page).ready()

    def with_ahead(self, count: int = 1) -> LabelBench:
        """Wait until so many dialogues lie ready."""
        self.page.wait_for_selector(f"html[data-ahead='{count}']")
        return self

    @property
    def shown(self) -> int:
        """The assignment of the address."""
        return int(self.page.url.rstrip("/").rsplit("/", 1)[1])

    def saves(self, *keys: str) -> LabelBench:
        """Answer by these keys, and wait until the server has the draft."""
        self.press(*keys)
        expect(self.page.locator("#draft-state")).to_have_text("draft saved")
        return self

    @property
    def active(self) -> Locator:
        return self.page.locator("[data-path][data-active]")

    def goes_on_from(self, shown: int) -> LabelBench:
        """Wait until another dialogue is shown."""
        another = "shown => /\\/label\\/\\d+\\/$/.test(location.pathname) && !location.pathname.includes(`/${shown}/`)"
        self.page.wait_for_function(another, arg=shown)
        return self

    def asks_to_skip(self) -> LabelBench:
        self.press("Control+Shift+s")
        expect(self.page.locator("#skip-dialog")).to_be_visible()
        return self

    def asks(self, path: str) -> LabelBench:
        expect(self.active).to_have_attribute("data-path", path)
        return self

    def answer(self, path: str) -> Locator:
        return self.page.locator(f"[data-path='{path}']")

    @property
    def turns(self) -> Locator:
        return self.page.locator("#turns > .turn")

    @property
    def nothing(self) -> Locator:
        return self.page.locator("#nothing")

    @property
    def task(self) -> Locator:
        return self.page.locator("#task")

    @property
    def note(self) -> Locator:
        return self.page.locator("#note")
