"""Two agents and an index, both ends of the wire: what one has met, the other finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from agentweb.client.discovery import Discovery
from agentweb.client.finding import Finder
from agentweb.client.patience import Patience
from agentweb.client.transport import Transport
from agentweb.index.models import IndexedSite
from tests.client.site import Site, Time

INDEX = "https://index.example"


@pytest.fixture
def network() -> Iterator[httpx.Client]:
    """Calls the index in this process and everything else over the network."""
    # As Django's test client does: a request's end must not close the connection that holds the test's transaction.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    with httpx.Client(mounts={INDEX: httpx.WSGITransport(get_wsgi_application())}, trust_env=False) as client:
        yield client
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def finder(folder: Path, network: httpx.Client) -> Finder:
    return Finder(folder, http=network, allowed=["index.example"], clock=Time(), index_url=INDEX)


@pytest.mark.requirement("AA-4.4", "AA-7.14", "AA-7.16")
@pytest.mark.django_db
def test_what_one_agent_met_another_finds_through_the_index(
    site: Site, tmp_path: Path, network: httpx.Client
) -> None:
    site.action("buy_paper", effect="spend", description="Order printer paper.")
    one, other = (finder(tmp_path / name, network) for name in ("one", "other"))
    time, transport = Time(), Transport()
    discovery = Discovery(
        transport,
        clock=time,
        patience=lambda: Patience(attempts=1, seconds=5, clock=time, sleep=time.sleep),
    )
    discovery.on_read = one.saw
    discovery.load(site.url)
    assert IndexedSite.objects.get().state == IndexedSite.State.INDEXED
    [found] = other.find("buy printer paper").results
    assert (found.site, found.name, found.sources) == (site.authority, "buy_paper", ("index",))
    assert found.url == site.url
    [known] = one.find("buy printer paper").results
    assert known.sources == ("seen", "index")
    transport.close()
