"""A real mail server in a thread, and a worker's turn."""

import base64
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import redis
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from celery import current_app
from django.conf import settings

from config.mail_url import parse_mail_url
from tests.processes import free_port

NAME, PASSWORD = "lapidary", "p@ss:word/%"


@dataclass
class Mailbox:
    port: int
    messages: list[EmailMessage] = field(default_factory=list)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.messages.append(message)
        return "250 OK"

    def last_text(self) -> str:
        return str(self.messages[-1].get_content())


def _check_password(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
    assert isinstance(data, LoginPassword)
    is_right = (data.login.decode(), data.password.decode()) == (NAME, PASSWORD)
    return AuthResult(success=is_right, handled=False)


@contextmanager
def mail_server(*, with_password: bool = False) -> Iterator[Mailbox]:
    """with_password: it takes email only after NAME and PASSWORD."""
    mailbox = Mailbox(port=free_port())
    options: dict[str, Any] = (
        {"authenticator": _check_password, "auth_required": True, "auth_require_tls": False}
        if with_password
        else {}
    )
    with warnings.catch_warnings():  # every connection warns of a password without TLS
        warnings.simplefilter("ignore", UserWarning)
        controller = _start(mailbox, options)
        try:
            yield mailbox
        finally:
            controller.stop()


def _start(mailbox: Mailbox, options: dict[str, Any]) -> Controller:
    controller = Controller(mailbox, hostname="127.0.0.1", port=mailbox.port, ready_timeout=60, **options)
    controller.start()
    return controller


def use_mail(changed: Any, url: str, seconds: float = 20) -> None:
    """Set what settings.py makes of EMAIL_URL. pytest-django has put its own backend there."""
    server = parse_mail_url(url)
    changed.EMAIL_URL, changed.EMAIL_BACKEND = url, server.backend
    changed.EMAIL_HOST, changed.EMAIL_PORT = server.host, server.port
    changed.EMAIL_HOST_USER, changed.EMAIL_HOST_PASSWORD = server.user, server.password
    changed.EMAIL_USE_SSL, changed.EMAIL_USE_TLS = server.use_ssl, server.use_tls
    changed.EMAIL_FILE_PATH = server.file_path
    changed.EMAIL_TIMEOUT = seconds


def run_sent_tasks(prefix: str) -> list[str]:
    """Run the tasks that wait in the queue `default` and whose names begin so. Returns their names."""
    ran = []
    with redis.Redis.from_url(settings.REDIS_URL) as broker:
        while raw := broker.rpop("default"):
            message = json.loads(raw)
            name = message["headers"]["task"]
            if name.startswith(prefix):
                args, kwargs, _embed = json.loads(base64.b64decode(message["body"]))
                current_app.tasks[name](*args, **kwargs)
                ran.append(name)
    return ran
