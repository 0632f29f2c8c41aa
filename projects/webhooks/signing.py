"""Secrets and signatures of webhooks, as the Standard Webhooks specification has them (docs/engineers/webhooks.md)."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterator

from common import clock
from common.sealing import seal, unseal
from projects.models import Webhook

PREFIX = "whsec_"
SECRET_BYTES = 32
VERSION = "v1"


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def seal_secret(webhook: Webhook, secret: str) -> str:
    return seal(secret, purpose=_purpose(webhook))


def secrets_of(webhook: Webhook) -> list[str]:
    """Those that sign now: the present one, and for a while the one before. Raises Unreadable."""
    return [unseal(sealed, purpose=_purpose(webhook)) for sealed in _sealed(webhook)]


def _sealed(webhook: Webhook) -> Iterator[str]:
    yield webhook.secret
    if webhook.previous_secret and webhook.previous_until and clock.now() < webhook.previous_until:
        yield webhook.previous_secret


def sign(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over id, timestamp and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{id}.{timestamp}.".encode() + body
    return f"{VERSION},{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"


def signature_headers(signing: list[str], id: str, body: bytes) -> dict[str, str]:
    """signing: the secrets; the receiver needs to know one of them."""
    timestamp = int(clock.now().timestamp())
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(sign(secret, id, timestamp, body) for secret in signing),
    }


def _purpose(webhook: Webhook) -> str:
    return f"secret of webhook {webhook.pk}"
