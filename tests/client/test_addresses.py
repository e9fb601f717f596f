from __future__ import annotations

import ipaddress

import pytest

from agentweb.client.addresses import check_url, is_public
from agentweb.wire.errors import ClientError


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_address_of_the_open_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",  # noqa: S104
        "10.0.0.1",
        "172.16.5.5",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "fec0::1",
        "64:ff9b:1::a00:1",
        "4000::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    ],
)
def test_address_inside_somebodys_network_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url", ["http://localhost/x", "http://127.0.0.1:8000/", "http://[::1]:8000/", "https://localhost/"]
)
def test_loopback_that_was_written_out_may_be_called(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example/",
        "http://93.184.216.34/",
        "ftp://localhost/",
        "file:///etc/passwd",
        "https://10.0.0.1/",
        "https://127.0.0.2/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:127.0.0.1]/",
        "https://[fe80::1]/",
        "http://127.0.0.2/",
        "http://localhost.evil.example/",
        "https://no-such-host.invalid/",
        "https:///x",
    ],
)
def test_url_into_a_private_network_or_without_tls_is_refused(url: str) -> None:
    with pytest.raises(ClientError) as caught:
        check_url(url)
    assert caught.value.code == "site_unreachable"


def test_host_that_the_caller_vouches_for_is_not_looked_up() -> None:
    check_url("https://shop.internal/", {"shop.internal"})
    check_url("https://10.0.0.1:8443/", {"10.0.0.1"})
    with pytest.raises(ClientError):
        check_url("http://shop.internal/", {"shop.internal"})
