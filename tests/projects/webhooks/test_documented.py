"""The lines of docs/engineers/webhooks.md check what is really sent."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from accounts.models import User
from projects.models import Project, Webhook, WebhookEvent
from projects.webhooks.services import rotate_secret
from projects.webhooks.signing import secrets_of
from tests.projects.webhooks.conftest import Happens, added, deliver
from tests.projects.webhooks.receiver import Inbox

pytestmark = pytest.mark.django_db
DOCUMENT = Path(settings.BASE_DIR) / "docs/engineers/webhooks.md"


def documented_check() -> Any:
    [block] = re.findall(r"```python\n(.+?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len([line for line in block.splitlines() if line.strip()]) == 10
    names: dict[str, Any] = {}
    exec(block, names)
    return names["is_genuine"]


def test_the_documented_lines_tell_genuine_requests_from_others(
    project: Project, mara: User, inbox: Inbox, happens: Happens
) -> None:
    _webhook, secret = added(project, mara, inbox.url)
    happens()
    assert deliver() == 1
    is_genuine, [sent] = documented_check(), inbox.got
    assert is_genuine(secret, sent.headers, sent.body)
    assert not is_genuine(secret, sent.headers, sent.body + b" ")
    for name, value in {"webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,"}.items():
        assert not is_genuine(secret, {**sent.headers, name: value}, sent.body)
    assert not is_genuine("whsec_c2VjcmV0", sent.headers, sent.body)


def test_two_secrets_sign_while_one_is_replaced(
    project: Project, mara: User, inbox: Inbox, happens: Happens
) -> None:
    webhook, old = added(project, mara, inbox.url)
    _row, new = rotate_secret(webhook=webhook, actor=mara, version=1)
    assert rotate_secret(webhook=webhook, actor=mara, version=1)[1] == ""  # sent twice
    happens()
    deliver()
    is_genuine, [sent] = documented_check(), inbox.got
    assert new not in ("", old)
    assert is_genuine(old, sent.headers, sent.body)
    assert is_genuine(new, sent.headers, sent.body)
    Webhook.objects.update(previous_until=webhook.created_at)
    assert secrets_of(Webhook.objects.get()) == [new]


def test_every_event_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert set(WebhookEvent.values) <= set(re.findall(r"`([a-z]+\.[a-z]+)`", text))
