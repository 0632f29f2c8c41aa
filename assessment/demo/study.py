"""The demo study: five systems and a degraded one, a run of scripted participants, and one that is open."""

from datetime import timedelta
from typing import Any, Final
from urllib.parse import parse_qsl
from uuid import UUID, uuid5

from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.demo.participants import CARELESS, PEOPLE, complete_assignment
from assessment.sessions.models.runs import Run
from assessment.sessions.services import participants
from assessment.sessions.services.links import link_query
from assessment.sessions.services.runs import close_run, create_run, open_run
from assessment.setup.models import AssessmentSettings, TopicMode
from assessment.systems.models import Connector, System
from assessment.systems.services.systems import create_system, update_system
from generation.models import BackendKind, Generator
from projects.models import Project

SLUG: Final = "live-assessment"
NAMESPACE: Final = UUID("0d1f5c1e-52a6-4b7e-8a53-70e6b7f3a2d4")
DESCRIPTION: Final = (
    "Chat with hidden chatbots and rate them; the page Report compares them. "
    "与身份隐藏的聊天机器人聊天并评分，“报告”页会比较它们。\n\n"
    "Demo data: the participants of run 1 are scripts, three of them careless; nobody wrote what they say. "
    "演示数据：第 1 轮的参与者都是脚本，其中三个敷衍；对话并非真人所写。"
)
# Of the ordinary systems; the first is the model that ships with Lapidary.
RULES_BOT, SCRIPT_BOT = "Rule bot", "Script bot"
SHIPPED: Final[dict[str, dict[str, float]]] = {
    "Demo model": {},
    "Demo model, cautious": {"top_k": 1},
    "Demo model, hot": {"temperature": 3.0, "top_k": 200},
}
GENERATOR: Final = "demo-model"
PLACES: Final = 30


def create_demo_study(manager: User, corpus: Project, bots: str) -> Project:
    """Create the study, once; later only the addresses of its bots follow. corpus: of the degraded system.

    bots: the address of assessment.demo.bots.
    """
    project = Project.objects.filter(slug=SLUG).first()
    if project is None:
        project = create_project(
            slug=SLUG,
            preset="live-assessment",
            title="Live assessment 实时评测",
            description=DESCRIPTION,
            actor=manager,
        )
        _add_systems(project, manager, corpus, bots)
        _fill_first_run(project, manager)
        _shorten(project.assessment)
        _open_run(project, manager, number=2, places=PLACES)
    _follow_bots(project, bots)
    return project


def _add_systems(project: Project, manager: User, corpus: Project, bots: str) -> None:
    generator, _created = Generator.objects.get_or_create(
        slug=GENERATOR, defaults={"backend": BackendKind.HF}
    )
    for name, sampling in SHIPPED.items():
        settings: dict[str, Any] = {"generator": generator, "sampling": sampling}
        create_system(project=project, actor=None, name=name, connector=Connector.GENERATOR, **settings)
    for name, (connector, options) in _bots(bots).items():
        create_system(project=project, actor=None, name=name, connector=connector, options=options)
    create_system(
        project=project, actor=manager, name="Degraded", connector=Connector.DEGRADED, corpus=corpus
    )


def _bots(address: str) -> dict[str, tuple[Connector, dict[str, str]]]:
    return {
        RULES_BOT: (Connector.OPENAI, {"base_url": f"{address}/v1", "model": "rules"}),
        SCRIPT_BOT: (Connector.HTTP, {"address": f"{address}/chat"}),
    }


def _follow_bots(project: Project, address: str) -> None:
    """The port of the bots may be another one than last time."""
    for name, (connector, options) in _bots(address).items():
        system = System.objects.filter(project=project, name=name, connector=connector).first()
        if system is not None:
            update_system(system=system, actor=None, options=options)


def _fill_first_run(project: Project, manager: User) -> None:
    settings = project.assessment
    settings.inputs = 4
    settings.save()
    run = _open_run(project, manager, number=1, places=PEOPLE)
    began = timezone.now() - timedelta(days=3)
    for number in range(PEOPLE):
        query = dict(parse_qsl(link_query(settings, run.number, {"participant": f"script-{number + 1}"})))
        invited = participants.enter(project=project, query=query, language="en")
        assignment = participants.consent(assignment=invited)
        complete_assignment(assignment, number, is_careless=number < CARELESS, began=began)
    close_run(run=run, actor=manager)


def _open_run(project: Project, manager: User, number: int, places: int) -> Run:
    run = create_run(
        project=project,
        actor=manager,
        creation_id=uuid5(NAMESPACE, f"run-{number}"),
        places=places,
        topic_mode=TopicMode.FREE,
    )
    return open_run(run=run, actor=manager, accepts_unproven=True)


def _shorten(settings: AssessmentSettings) -> None:
    """Three conversations of three messages take about two minutes."""
    settings.ordinary_systems, settings.inputs = 2, 3
    settings.delay_ms = 800
    settings.save()


def join_address(project: Project, server: str, name: str) -> str:
    """A signed link into the open run for the participant of this name."""
    query = link_query(project.assessment, 2, {"participant": name})
    return f"{server}{reverse('join', args=[project.slug])}?{query}"
