"""Which events go to webhooks. Their deliveries are stored with the event, in its transaction, and sent by workers."""

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from django.db.models import QuerySet

from common import clock
from projects.models import Event, Webhook, WebhookDelivery, WebhookEvent, WebhookState

E = WebhookEvent


@dataclass(frozen=True, slots=True)
class Trigger:
    """Events of rows of one kind. after, before: states; empty: any.

    subject: what receivers know the row as. key: the value in the event's data that names it; empty: the row's own key.
    """

    type: WebhookEvent
    subject_type: str
    subject: str
    kinds: Set[str] = frozenset({"state"})
    after: Set[str] = frozenset()
    before: Set[str] = frozenset()
    key: str = ""

    def matches(self, event: Event) -> bool:
        return (
            event.kind in self.kinds
            and (not self.after or event.after in self.after)
            and (not self.before or event.before in self.before)
        )


DIALOGUE, TASK, ROUND = "dialogues.dialogue", "annotation.task", "annotation.round"
WEBHOOK: Final = "projects.webhook"
TESTED: Final = "webhook_tested"
OF_DIALOGUE, OF_BATCH, OF_PROJECT = "dialogue", "batch", "project"
JUDGED: Final = frozenset({"accepted", "returned"})
TRIGGERS: Final = (
    Trigger(E.DIALOGUE_FINISHED, DIALOGUE, OF_DIALOGUE, after={"finished"}),
    Trigger(E.DIALOGUE_REOPENED, DIALOGUE, OF_DIALOGUE, after={"writing"}, before={"finished"}),
    # A label of the next round belongs to another task, and comes after that of this round.
    Trigger(
        E.LABEL_FINAL, TASK, OF_DIALOGUE, kinds={"state", "label_replaced"}, after={"final"}, key="dialogue"
    ),
    Trigger(E.LABEL_REOPENED, TASK, OF_DIALOGUE, before={"final"}, key="dialogue"),
    Trigger(E.BATCH_LABELLED, "annotation.machine_batch", OF_BATCH, kinds={"labelled"}, key="batch"),
    Trigger(E.BATCH_ACCEPTED, ROUND, OF_BATCH, after={"accepted"}, key="batch"),
    Trigger(E.BATCH_RETURNED, ROUND, OF_BATCH, after={"returned"}, key="batch"),
    Trigger(E.BATCH_REOPENED, ROUND, OF_BATCH, before=JUDGED, key="batch"),
    Trigger(E.JOB_ENDED, "jobs.job", "job", after={"done", "failed", "cancelled"}),
    Trigger(E.MODEL_PROMOTED, "preference.promotion", OF_PROJECT, kinds={"promoted", "rolled_back"}),
    Trigger(E.ASSESSMENT_COMPLETED, "assessment.assignment", "assessment", after={"completed"}),
    Trigger(E.TEST, WEBHOOK, "webhook", kinds={TESTED}),
)


def trigger_of(event: Event) -> Trigger | None:
    """The trigger that the event matches; None if webhooks do not report it."""
    return next(
        (one for one in TRIGGERS if one.subject_type == event.subject_type and one.matches(event)), None
    )


def store_deliveries(event: Event) -> None:
    """Store a delivery for each webhook that wants the event, in the event's transaction.

    A webhook that is off gets them, too: they wait until it is on again. A removed one stays a row, so that this
    never refers to one that is gone meanwhile.
    """
    trigger = trigger_of(event)
    if trigger is None or event.project_id is None:
        return
    subject, now = subject_of(event, trigger), clock.now()
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            webhook_id=key, event=event, type=trigger.type, subject=subject, waiting_since=now, due_at=now
        )
        for key in _receivers(event, trigger.type).values_list("pk", flat=True)
    )


def _receivers(event: Event, type: WebhookEvent) -> QuerySet[Webhook]:
    rows = Webhook.objects.filter(project=event.project_id).exclude(state=WebhookState.REMOVED).order_by()
    return rows.filter(pk=event.subject_id) if type == E.TEST else rows.filter(events__contains=[type])


def subject_of(event: Event, trigger: Trigger) -> str:
    """What the order of deliveries is kept of, such as dialogue:12. Promotions follow each other in their project."""
    if trigger.subject == OF_PROJECT:
        return f"{OF_PROJECT}:{event.project.slug if event.project else ''}"
    return f"{trigger.subject}:{event.data.get(trigger.key) or event.subject_id}"
