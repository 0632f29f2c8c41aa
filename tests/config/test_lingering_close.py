"""Closing a connection whose client still sends."""

import socket
from collections.abc import Iterator

import pytest

from config.lingering_close import LingeringCloser

MUCH = 32 * 1024**2  # more than the kernel takes for somebody who does not read


@pytest.fixture
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A connection on which the server has answered and that it then closed; for how many seconds it lingers."""
    monkeypatch.setattr("config.lingering_close.SECONDS", getattr(request, "param", 600.0))
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        accepted, _address = server.accept()
        accepted.sendall(b"no")
        LingeringCloser().close(accepted)
        client.settimeout(0.5)
        yield client


def test_a_client_that_sends_much_is_not_reset_before_it_has_read_the_answer(client: socket.socket) -> None:
    """nginx answers 502 if it is, whatever the server has answered."""
    with pytest.raises(TimeoutError):  # nobody reads on, and nobody has closed
        client.sendall(b"x" * MUCH)
    assert client.recv(10) == b"no"


@pytest.mark.parametrize("client", [2.0], indirect=True)
def test_the_connection_ends_when_the_time_is_over(client: socket.socket) -> None:
    client.settimeout(120)
    with pytest.raises(ConnectionError):
        client.sendall(b"x" * MUCH)


def test_a_client_that_has_sent_little_reads_the_answer_and_its_end(client: socket.socket) -> None:
    client.sendall(b"x" * 1000)
    client.settimeout(30)
    assert (client.recv(10), client.recv(10)) == (b"no", b"")
