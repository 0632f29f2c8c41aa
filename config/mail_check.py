"""What `manage.py doctor` finds out about email: it connects and signs in, and sends only if asked to."""

import smtplib
import socket
import ssl
from collections.abc import Iterable

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.smtp import EmailBackend
from django.utils.translation import gettext as _

from config.findings import Finding, State

LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}


def mail(*, mail_to: str = "") -> Iterable[Finding]:
    """mail_to: an address that gets a message; empty: nothing is sent."""
    if not settings.EMAIL_URL:
        state: State = "problem" if mail_to else "ok"
        remedy = _("Set: {setting}").format(setting="EMAIL_URL=submission://…") if mail_to else ""
        yield Finding(state, _("Email is off: managers renew passwords with a link."), remedy)
        return
    backend = get_connection()
    if not isinstance(backend, EmailBackend):
        yield Finding(
            "warning",
            _("Email goes to the console or a folder, not to people."),
            _("Set: {setting}").format(setting="EMAIL_URL=submission://…"),
        )
    elif problem := connection_problem(backend):
        yield problem
        return
    else:
        yield Finding("ok", _("The mail server {server} takes email.").format(server=_server(backend)))
        yield from _warn_unencrypted(backend)
    if mail_to:
        yield _send_to(mail_to)


def _server(backend: EmailBackend) -> str:
    return f"{backend.host}:{backend.port}"


def _warn_unencrypted(backend: EmailBackend) -> Iterable[Finding]:
    if backend.host not in LOCAL_HOSTS and not (backend.use_tls or backend.use_ssl):
        yield Finding(
            "warning",
            _("Email crosses the network unencrypted, links to new passwords included."),
            _("Set: {setting}").format(setting="EMAIL_URL=submission://…"),
        )


def connection_problem(backend: EmailBackend) -> Finding | None:
    """What is wrong when Lapidary connects and signs in; None if nothing is."""
    try:
        backend.open()
    except OSError as error:  # SMTPException and SSLError are OSErrors, too
        return Finding("problem", *explain_error(error, backend))
    backend.close()
    return None


def explain_error(error: OSError, backend: EmailBackend) -> tuple[str, str]:
    """The cause and the remedy."""
    if isinstance(error.__context__, TimeoutError):  # smtplib says that the server hung up
        error = error.__context__
    server = _server(backend)
    causes: list[tuple[type[OSError] | tuple[type[OSError], ...], str, str]] = [
        (
            smtplib.SMTPAuthenticationError,
            _("The mail server {server} refuses the name or password of EMAIL_URL: {error}"),
            _("Correct them; write @ : / ? # % as %40 %3A %2F %3F %23 %25."),
        ),
        (
            smtplib.SMTPNotSupportedError,
            _("The mail server {server} does not offer what EMAIL_URL asks for: {error}"),
            _("Use smtps:// for TLS from the start, smtp:// without, and a name only where it is asked for."),
        ),
        (
            ssl.SSLCertVerificationError,
            _("The certificate of the mail server {server} cannot be trusted: {error}"),
            _("Use the host name of the certificate, or name your own authority in SSL_CERT_FILE."),
        ),
        (
            (ssl.SSLError, smtplib.SMTPServerDisconnected),
            _("The mail server {server} and EMAIL_URL disagree about encryption: {error}"),
            _("Use smtps:// for port 465, submission:// for port 587."),
        ),
        (socket.gaierror, _("The host of EMAIL_URL is unknown: {server} ({error})"), _("Correct its name.")),
        (
            TimeoutError,
            _("The mail server {server} does not answer: {error}"),
            _("Correct host and port, or open the firewall."),
        ),
        (
            ConnectionError,
            _("The mail server {server} takes no connections: {error}"),
            _("Start it, or correct host and port."),
        ),
    ]
    for kind, what, remedy in causes:
        if isinstance(error, kind):
            return what.format(server=server, error=_short(error)), remedy
    return _("The mail server {server} fails: {error}").format(server=server, error=_short(error)), _(
        "See its log."
    )


def _short(error: OSError) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        text = error.smtp_error
        return f"{error.smtp_code} {text.decode(errors='replace') if isinstance(text, bytes) else text}".partition(
            "\n"
        )[0]
    return (str(error).strip() or type(error).__name__).partition("\n")[0]


def _send_to(address: str) -> Finding:
    body = _("Lapidary at {url} can send email.").format(url=settings.PUBLIC_URL)
    message = EmailMessage(_("A test of Lapidary"), body, to=[address])
    try:
        message.send()
    except (OSError, ValueError) as error:
        text = _short(error) if isinstance(error, OSError) else str(error)
        return Finding(
            "problem",
            _("The mail server refuses the message to {address}: {error}").format(
                address=address, error=text
            ),
            _("Check the address, and DEFAULT_FROM_EMAIL ({sender}).").format(
                sender=settings.DEFAULT_FROM_EMAIL
            ),
        )
    return Finding("ok", _("A message to {address} is on its way.").format(address=address))
