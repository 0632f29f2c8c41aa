"""Encryption of secrets that people enter and jobs use. The key comes from SECRET_KEY, which no backup holds."""

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken
from django.utils.crypto import salted_hmac

SALT = "lapidary.common.sealing"


class Unreadable(Exception):
    """The text was sealed with another SECRET_KEY or for another purpose."""


def seal(secret: str, *, purpose: str) -> str:
    """Encrypt a secret for the database. purpose: also needed to open it, so that a copy elsewhere is of no use."""
    return _cipher(purpose).encrypt(secret.encode()).decode()


def unseal(sealed: str, *, purpose: str) -> str:
    """The secret that `seal` encrypted for the same purpose. Raises Unreadable."""
    try:
        return _cipher(purpose).decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise Unreadable from error


def _cipher(purpose: str) -> Fernet:
    return Fernet(urlsafe_b64encode(salted_hmac(SALT, purpose, algorithm="sha256").digest()))
