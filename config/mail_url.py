"""EMAIL_URL: the server that sends email, as one address."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

BACKENDS: Final = "django.core.mail.backends"
# Scheme: port, TLS from the first byte, STARTTLS.
SMTP_SCHEMES: Final = {
    "smtp": (25, False, False),
    "submission": (587, False, True),
    "smtps": (465, True, False),
}
EXAMPLE: Final = "submission://name:password@mail.example.org:587"


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where email goes. Fields as Django's settings EMAIL_…; the defaults send nothing."""

    backend: str = f"{BACKENDS}.dummy.EmailBackend"
    host: str = ""
    port: int = 25
    user: str = ""
    password: str = ""
    use_ssl: bool = False
    use_tls: bool = False
    file_path: str | None = None


def parse_mail_url(url: str) -> MailServer:
    """The server of EMAIL_URL; empty: email is off. Raises ImproperlyConfigured, without the password in it."""
    if not url:
        return MailServer()
    parts = urlsplit(url)
    if parts.scheme == "console":
        return MailServer(backend=f"{BACKENDS}.console.EmailBackend")
    if parts.scheme == "file":
        return _mail_folder(parts)
    if parts.scheme in SMTP_SCHEMES:
        return _smtp_server(parts)
    raise _not_understood(f"its scheme is none of {', '.join([*SMTP_SCHEMES, 'console', 'file'])}")


def _mail_folder(parts: SplitResult) -> MailServer:
    if parts.netloc or not Path(unquote(parts.path)).is_absolute():
        raise _not_understood("the folder needs a full path, as in file:///tmp/mail")
    return MailServer(backend=f"{BACKENDS}.filebased.EmailBackend", file_path=unquote(parts.path))


def _smtp_server(parts: SplitResult) -> MailServer:
    default_port, use_ssl, use_tls = SMTP_SCHEMES[parts.scheme]
    try:
        port = parts.port or default_port
    except ValueError as error:
        raise _not_understood("the port is not a number between 1 and 65535") from error
    if not parts.hostname:
        raise _not_understood("it names no host")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise _not_understood("nothing may follow the port; write @ : / ? # % of a password as %40 %3A %2F …")
    if bool(parts.username) != bool(parts.password):
        raise _not_understood("it needs both a name and a password, or neither")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not f"{user}{password}".isascii():  # smtplib encodes nothing else
        raise _not_understood("name and password may only have ASCII characters")
    return MailServer(
        backend=f"{BACKENDS}.smtp.EmailBackend",
        host=parts.hostname,
        port=port,
        user=user,
        password=password,
        use_ssl=use_ssl,
        use_tls=use_tls,
    )


def _not_understood(why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"EMAIL_URL is not understood: {why}. Write it as {EXAMPLE}, or leave it out to switch email off."
    )
