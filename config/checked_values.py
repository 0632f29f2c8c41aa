"""Values of environment variables that have a form of their own. Each error is one line with the variable's name."""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.exceptions import ImproperlyConfigured
from environs import Env, validate

from config import embedded

AT_LEAST_0: Final = validate.Range(min=0)
AT_LEAST_1: Final = validate.Range(min=1)
ABOVE_0: Final = validate.Range(min=0, min_inclusive=False)
POSTGRESQL: Final = ("postgresql", "postgres")
REDIS: Final = ("redis", "rediss", "unix")
LEVEL: Final = validate.OneOf(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
API_RATE: Final = re.compile(r"\d+/[smhd][a-z]*")
LOGIN_RATE: Final = re.compile(r"\d+/\d*[smhd]/(ip|key|user)")


def read_database_url(env: Env, var: Path) -> str:
    """DATABASE_URL, or that of an embedded PostgreSQL under var."""
    url = env.str("DATABASE_URL", default="") or embedded.database_url(var)
    return _check_url("DATABASE_URL", url, POSTGRESQL, "postgresql://name:password@host/database")


def read_redis_url(env: Env, var: Path) -> str:
    """REDIS_URL, or that of an embedded Redis under var."""
    url = env.str("REDIS_URL", default="") or embedded.redis_url(var)
    return _check_url("REDIS_URL", url, REDIS, "redis://host:6379/0")


def _check_url(name: str, url: str, schemes: Collection[str], example: str) -> str:
    """Raises ImproperlyConfigured, without the address, which has a password."""
    if not _is_url(url, schemes):
        raise ImproperlyConfigured(
            f"{name} is not understood. Write it as {example}, or leave it out for the embedded one."
        )
    return url


def _is_url(url: str, schemes: Collection[str]) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and (parts.port is None or parts.port > 0)
    except ValueError:  # the port is not a number, or a bracket is missing
        return False


def read_public_url(env: Env) -> str:
    url: str = env.str("PUBLIC_URL", default="").rstrip("/")
    if not url:
        return f"http://localhost:{_read_port(env)}"
    if not (_is_url(url, ("http", "https")) and urlsplit(url).hostname):
        raise ImproperlyConfigured(f"PUBLIC_URL={url} is not understood. Write https://lapidary.example.org")
    return url


def _read_port(env: Env) -> str:
    port: str = env.str("LAPIDARY_PORT", default="") or "8000"
    if not (port.isdecimal() and 0 < int(port) < 65536):
        raise ImproperlyConfigured(f"LAPIDARY_PORT={port} is not a port. Write a number, such as 8200.")
    return port


def read_time_zone(env: Env) -> str:
    name: str = env.str("TIME_ZONE", default="UTC")
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImproperlyConfigured(
            f"TIME_ZONE={name} is not understood. Write it as Europe/Vienna."
        ) from None
    return name


def read_api_rate(env: Env) -> str:
    rate: str = env.str("API_RATE_LIMIT", default="1200/min")
    if not API_RATE.fullmatch(rate):
        raise ImproperlyConfigured(f"API_RATE_LIMIT={rate} is not understood. Write it as 1200/min.")
    return rate


def read_login_rate(env: Env) -> str:
    rates: str = env.str("LOGIN_RATE_LIMIT", default="10/m/ip,5/5m/key")
    if not all(LOGIN_RATE.fullmatch(rate) for rate in rates.split(",")):
        raise ImproperlyConfigured(
            f"LOGIN_RATE_LIMIT={rates} is not understood. Write it as 10/m/ip,5/5m/key."
        )
    return rates


def read_webhook_networks(env: Env) -> list[IPv4Network | IPv6Network]:
    """A single address is a network of one."""
    names: list[str] = env.list("WEBHOOK_NETWORKS", default=[])
    try:
        return [ip_network(name.strip()) for name in names if name.strip()]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"WEBHOOK_NETWORKS is not understood: {error}. Write it as 10.1.0.0/16,192.168.1.5."
        ) from None


def read_retention(env: Env) -> dict[str, str]:
    """Days by kind of leftover."""
    try:
        ages: dict[str, str] = env.dict("RETENTION", default={})
    except ValueError:
        raise ImproperlyConfigured(
            "RETENTION is not understood. Write it as kind=days,kind=days; docs/operators/data.md names the kinds."
        ) from None
    return ages
