"""Whose address counts: nobody chooses it by a header, and the site's own proxies are believed."""

from __future__ import annotations

import logging
from ipaddress import ip_address
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from agentweb.http import addresses

PEER = "198.51.100.7"  # a documentation address, and so no address of the open internet
CLIENT = "8.8.8.8"
PROXIES = ["10.0.0.0/8", "192.0.2.1", "2001:db8:aa::/48"]


def request_of(peer: str | None, forwarded: str | None = None) -> HttpRequest:
    request = HttpRequest()
    if peer is not None:
        request.META["REMOTE_ADDR"] = peer
    if forwarded is not None:
        request.META["HTTP_X_FORWARDED_FOR"] = forwarded
    return request


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "address"),
    [
        # nobody is trusted unless the site says so
        ([], "10.0.0.1", CLIENT, "10.0.0.1"),
        ([], "127.0.0.1", CLIENT, "127.0.0.1"),
        (PROXIES, PEER, None, PEER),
        # a stranger's header is not read
        (PROXIES, PEER, CLIENT, PEER),
        (PROXIES, PEER, "10.0.0.1", PEER),
        (PROXIES, PEER, f"{CLIENT}, 10.0.0.1", PEER),
        # the proxy's entry is the last one; what the client wrote stands before it
        (PROXIES, "10.0.0.1", CLIENT, CLIENT),
        (PROXIES, "10.0.0.1", f"1.2.3.4, {CLIENT}", CLIENT),
        (PROXIES, "10.0.0.1", f"127.0.0.1,10.9.9.9,{CLIENT}", CLIENT),
        (PROXIES, "10.0.0.1", "1.1.1.1, " * 500 + CLIENT, CLIENT),
        # a chain of proxies
        (PROXIES, "10.0.0.1", f"1.2.3.4, {CLIENT}, 192.0.2.1", CLIENT),
        (PROXIES, "10.0.0.1", f"1.2.3.4, {CLIENT}, 192.0.2.1, 10.0.0.2", CLIENT),
        (PROXIES, "10.0.0.1", f"{CLIENT}, 192.0.2.2, 10.0.0.2", "192.0.2.2"),
        (PROXIES, "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        (PROXIES, "10.0.0.1", None, "10.0.0.1"),
        (PROXIES, "10.0.0.1", "", "10.0.0.1"),
        # junk ends the list at the hop that passed it on
        (PROXIES, "10.0.0.1", f"{CLIENT}, unknown", "10.0.0.1"),
        (PROXIES, "10.0.0.1", f"{CLIENT}, , 10.0.0.2", "10.0.0.2"),
        (PROXIES, "10.0.0.1", f"{CLIENT}, \x00\xff' OR 1=1, 10.0.0.2", "10.0.0.2"),
        (PROXIES, "10.0.0.1", ",,,,", "10.0.0.1"),
        (PROXIES, "10.0.0.1", "9" * 100_000, "10.0.0.1"),
        (PROXIES, "10.0.0.1", "[", "10.0.0.1"),
        (PROXIES, "10.0.0.1", "0x08080808", "10.0.0.1"),
        (PROXIES, "10.0.0.1", "134744072", "10.0.0.1"),
        (PROXIES, "10.0.0.1", "８.８.８.８", "10.0.0.1"),
        # how addresses are written
        (PROXIES, "10.0.0.1", f"{CLIENT}:4711", CLIENT),
        (PROXIES, "10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        (PROXIES, "10.0.0.1", "2001:DB8::7", "2001:db8::7"),
        (PROXIES, "10.0.0.1", "fe80::1%eth0", "fe80::1"),
        (PROXIES, "10.0.0.1", f"::ffff:{CLIENT}", CLIENT),
        (PROXIES, "10.0.0.1", f"{CLIENT}, ::ffff:10.0.0.2", CLIENT),
        (PROXIES, "::ffff:10.0.0.1", CLIENT, CLIENT),
        (PROXIES, "2001:db8:aa::1", CLIENT, CLIENT),
        (PROXIES, "2001:db8:ab::1", CLIENT, "2001:db8:ab::1"),
        # a Unix socket has no address
        (PROXIES, "", CLIENT, ""),
        (PROXIES, None, CLIENT, ""),
        (["unix"], "", f"1.2.3.4, {CLIENT}", CLIENT),
        (["unix"], None, CLIENT, CLIENT),
        (["unix"], "10.0.0.1", CLIENT, "10.0.0.1"),
        # a setting that the check calls wrong trusts nobody by it, and answers
        (["10.0.0.0/33", 5, None, "0.0.0.0/0"], "10.0.0.1", CLIENT, "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", CLIENT, "10.0.0.1"),
        (None, "10.0.0.1", CLIENT, "10.0.0.1"),
    ],
)
def test_the_client_is_the_rightmost_address_that_no_proxy_of_the_site_has(
    settings: Any, proxies: Any, peer: str | None, forwarded: str | None, address: str
) -> None:
    settings.AGENTWEB = {"TRUSTED_PROXIES": proxies}
    assert addresses.address_of(request_of(peer, forwarded)) == address


def test_forwarded_of_rfc_7239_and_other_headers_say_nothing(settings: Any) -> None:
    settings.AGENTWEB = {"TRUSTED_PROXIES": PROXIES}
    request = request_of("10.0.0.1")
    request.META |= {"HTTP_FORWARDED": f"for={CLIENT}", "HTTP_X_REAL_IP": CLIENT, "HTTP_CLIENT_IP": CLIENT}
    assert addresses.address_of(request) == "10.0.0.1"


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "one"),
    [
        ([], CLIENT, None, True),
        ([], CLIENT, "1.2.3.4", True),  # its own header frees nobody
        ([], "10.0.0.1", None, True),
        ([], "10.0.0.1", CLIENT, False),
        ([], "127.0.0.1", CLIENT, False),
        ([], "", CLIENT, False),
        (["10.0.0.0/8"], "10.0.0.1", CLIENT, True),
        (["10.0.0.0/8"], "10.0.0.1", "192.168.0.9", True),
        (["10.0.0.0/8"], "10.0.0.1", "junk", False),
        (["10.0.0.0/8"], "10.0.0.1", None, False),
    ],
)
def test_an_address_behind_which_many_may_stand_is_known_as_such(
    settings: Any, proxies: list[str], peer: str, forwarded: str | None, one: bool
) -> None:
    settings.AGENTWEB = {"TRUSTED_PROXIES": proxies}
    assert addresses.is_one_client(request_of(peer, forwarded)) is one


def test_an_undeclared_proxy_is_named_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    addresses._say_once.cache_clear()
    with caplog.at_level(logging.WARNING, "agentweb.http"):
        for _ in range(3):
            addresses.is_one_client(request_of("172.16.0.9", CLIENT))
    [record] = caplog.records
    assert "172.16.0.9" in record.getMessage()
    assert "TRUSTED_PROXIES" in record.getMessage()


@given(
    st.lists(st.one_of(st.text(max_size=20), st.ip_addresses().map(str)), max_size=6).map(",".join),
    st.booleans(),
)
def test_no_header_breaks_it_and_the_answer_is_the_peer_or_an_entry(header: str, is_trusted: bool) -> None:
    peer = "10.0.0.1" if is_trusted else PEER
    with override_settings(AGENTWEB={"TRUSTED_PROXIES": PROXIES}):
        found = addresses.address_of(request_of(peer, header))
    if not is_trusted:
        assert found == PEER
    elif found != peer:
        assert ip_address(found) in {
            read for read in map(addresses._read, header.split(",")) if read is not None
        }
