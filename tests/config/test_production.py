"""Production settings refuse to start insecurely; each test starts a real process with a real environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent.parent
GOOD = {
    "PRODUCTION": "1",
    "SECRET_KEY": "0123456789" * 6,
    "PUBLIC_URL": "https://lapidary.example",
    "DATABASE_URL": "postgresql://l:l@localhost/l",
    "REDIS_URL": "redis://localhost/0",
}
# Without django.setup(), which takes four times as long.
READ = "from django.conf import settings; print(settings.{name})"


def start(changes: dict[str, str], command: list[str]) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "LAPIDARY_VAR", "HOME") if name in os.environ}
    environment = {**kept, "DJANGO_SETTINGS_MODULE": "config.settings", **GOOD, **changes}
    return subprocess.run(
        [sys.executable, *command], cwd=CHECKOUT, env=environment, capture_output=True, text=True
    )


def setting(name: str, changes: dict[str, str] | None = None) -> str:
    result = start(changes or {}, ["-c", READ.format(name=name)])
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"DEBUG": "1"}, "DEBUG"),
        ({"SECRET_KEY": ""}, "SECRET_KEY"),
        ({"SECRET_KEY": "short"}, "SECRET_KEY"),
        ({"SECRET_KEY": "changeme" * 8}, "SECRET_KEY"),
        ({"PUBLIC_URL": "http://lapidary.example"}, "PUBLIC_URL"),
        ({"DATABASE_URL": ""}, "DATABASE_URL"),
        ({"REDIS_URL": ""}, "REDIS_URL"),
        ({"ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS"),
    ],
)
def test_an_insecure_setting_stops_the_start_and_is_named(changes: dict[str, str], named: str) -> None:
    result = start(changes, ["-c", READ.format(name="DEBUG")])
    assert result.returncode != 0
    assert f"will not start with PRODUCTION=1: {named}" in result.stderr


def test_every_insecure_setting_is_named_at_once() -> None:
    result = start(dict.fromkeys(GOOD, "") | {"PRODUCTION": "1"}, ["-c", READ.format(name="DEBUG")])
    assert all(name in result.stderr for name in ("SECRET_KEY", "PUBLIC_URL", "DATABASE_URL", "REDIS_URL"))


def test_the_deploy_check_finds_nothing() -> None:
    result = start({}, ["manage.py", "check", "--deploy", "--fail-level", "WARNING"])
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT"])
def test_cookies_and_pages_need_tls_in_production(name: str) -> None:
    assert setting(name) == "True"


def test_forms_are_taken_from_the_public_address_only() -> None:
    assert setting("CSRF_TRUSTED_ORIGINS") == "['https://lapidary.example']"


def test_scripts_run_from_our_own_files_only() -> None:
    policy = setting("CONTENT_SECURITY_POLICY")
    assert "unsafe" not in policy


def test_the_web_process_never_loads_torch() -> None:
    code = "import sys, config.wsgi; from django.urls import get_resolver; get_resolver().url_patterns; "
    result = start({}, ["-c", code + "print(sorted({'torch', 'transformers'} & set(sys.modules)))"])
    assert result.stdout.strip().endswith("[]"), result.stdout + result.stderr


@pytest.mark.parametrize(
    ("changes", "proxies"),
    [({}, "1"), ({"TRUSTED_PROXIES": "2"}, "2"), ({"BEHIND_PROXY": "0"}, "0")],
)
def test_the_clients_address_is_the_one_that_our_own_proxies_saw(
    changes: dict[str, str], proxies: str
) -> None:
    assert setting("ALLAUTH_TRUSTED_PROXY_COUNT", changes) == proxies
