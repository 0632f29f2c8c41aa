"""Which addresses a webhook may have, and which are refused with the reason."""

from ipaddress import ip_address, ip_network

import pytest
from pytest_django.fixtures import Settings

from common.refusals import Invalid
from projects.webhooks.addresses import check_url, may_send

INTERNAL = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:db8::1", "::127.0.0.1",
    "fec0::1", "64:ff9b:1::7f00:1", "4000::1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]


@pytest.fixture(autouse=True)
def none_allowed(settings: Settings) -> None:
    settings.WEBHOOK_NETWORKS = []


@pytest.mark.parametrize("address", INTERNAL)
def test_internal_addresses_are_refused(address: str) -> None:
    assert not may_send(ip_address(address), "https")


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_need_tls(address: str) -> None:
    assert may_send(ip_address(address), "https")
    assert not may_send(ip_address(address), "http")


def test_the_operator_allows_networks(settings: Settings) -> None:
    settings.WEBHOOK_NETWORKS = [ip_network("10.1.0.0/16"), ip_network("fc00::/64")]
    for address in ("10.1.2.3", "::ffff:10.1.2.3", "fc00::1"):
        assert may_send(ip_address(address), "http")
        assert may_send(ip_address(address), "https")
    for address in ("10.2.0.1", "127.0.0.1", "fc00:1::1"):
        assert not may_send(ip_address(address), "https")


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.example.org", "ftp://hooks.example.org/", "https://", "https://ann:secret@hooks.example.org/",
        "https://hooks.example.org/#part", "https://hooks.example.org/ x", "https://hooks.example.org/\nx",
        "https://hooks.example.org:99999/", "https://[::1/", "javascript:alert(1)", f"https://{'x' * 500}.org/",
        "http://hooks.example.org/", "https://localhost/", "https://127.0.0.1/", "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
    ],
)  # fmt: skip
def test_a_wrong_address_is_refused_with_a_remedy(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_url(url)
    assert refused.value.remedy
    assert refused.value.details == {"field": "url"}


@pytest.mark.parametrize(
    "url",
    ["https://hooks.example.org/lapidary?key=1", "https://xn--fsqu00a.example/", "https://8.8.8.8:8443/"],
)
def test_an_address_of_the_internet_is_accepted(url: str) -> None:
    assert check_url(f" {url} ") == url
