"""Which addresses webhooks may go to: those of the internet, and the internal ones that the operator allows."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

import httpx
from django.conf import settings
from django.utils.translation import gettext as _

from common.refusals import Invalid

LONGEST: Final = 500
NAT64: Final = IPv6Network("64:ff9b::/96")
# All that is given out (RFC 4291). Python counts old site-local addresses and translators' own ones as global, too.
GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
IP = IPv4Address | IPv6Address


def is_internal(ip: IP) -> bool:
    """Private, loopback, link-local, shared, multicast or reserved; also if an IPv6 address only wraps such a one."""
    inner = _wrapped(ip)
    if inner is not None:
        return is_internal(inner)
    is_outside = isinstance(ip, IPv6Address) and ip not in GLOBAL_UNICAST
    return is_outside or not ip.is_global or ip.is_multicast


def is_allowed(ip: IP) -> bool:
    """Whether the operator names a network that holds this address (WEBHOOK_NETWORKS)."""
    inner = _wrapped(ip) or ip
    return any(inner in network for network in settings.WEBHOOK_NETWORKS)


def may_send(ip: IP, scheme: str) -> bool:
    """Text without TLS goes only to networks that the operator names."""
    return is_allowed(ip) or (scheme == "https" and not is_internal(ip))


def _wrapped(ip: IP) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for, where routers and translators read it so."""
    if isinstance(ip, IPv4Address):
        return None
    if ip in NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)


def check_url(text: str) -> str:
    """The address as it is stored. Raises Invalid.

    A name is resolved when something is sent, and then checked again each time: it may lead elsewhere by then.
    """
    url = _parse(text.strip())
    if url is None or url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.fragment:
        raise Invalid(
            _("“%(value)s” is not the address of a receiver.") % {"value": text[:200]},
            _("It looks like https://hooks.example.org/lapidary, without a password."),
            field="url",
        )
    if url.scheme == "http" and not settings.WEBHOOK_NETWORKS:
        raise Invalid(
            _("The address does not begin with https://."),
            _("Set up TLS for the receiver, and enter its https:// address."),
            field="url",
        )
    host, literal = url.host, _literal(url.host)
    is_inner_name = host == "localhost" or host.endswith(".localhost")
    if (literal and not may_send(literal, url.scheme)) or (is_inner_name and not settings.WEBHOOK_NETWORKS):
        raise Invalid(
            _("“%(host)s” is an internal address.") % {"host": host},
            _(
                "Webhooks go to the internet, and to the networks that the operator names in WEBHOOK_NETWORKS."
            ),
            field="url",
        )
    return str(url)


def _parse(text: str) -> httpx.URL | None:
    if not text or len(text) > LONGEST or not text.isprintable() or " " in text:
        return None
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        return None
    return url if len(str(url)) <= LONGEST and 0 < (url.port or 443) < 65536 else None


def _literal(host: str) -> IP | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
