"""``crawl_manifests`` and ``find_action``: sites in, and what is found of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentweb.index.models import IndexedSite
from tests.client.site import MANIFEST, Reply, Site
from tests.index.conftest import _with_the_index, site, sites  # noqa: F401 - fixtures
from tests.index.sites import an_action, keep

pytestmark = pytest.mark.django_db


def call(name: str, *arguments: str) -> tuple[str, str, CommandError | None]:
    out, err, failure = io.StringIO(), io.StringIO(), None
    try:
        call_command(name, *arguments, "--no-color", stdout=out, stderr=err)
    except CommandError as error:
        failure = error
    return out.getvalue(), err.getvalue(), failure


@pytest.mark.requirement("AA-4.5", "AA-7.15")
def test_sites_are_read_and_what_they_offer_is_found(site: Site) -> None:  # noqa: F811
    site.action("buy_paper", effect="spend", description="Order printer paper.")
    assert call("crawl_manifests", site.url) == (f"read  {site.authority}: 1 entries\n", "", None)
    assert call("crawl_manifests", site.url)[0] == f"unchanged  {site.authority}: 1 entries\n"
    [line] = call("find_action", "buy printer paper")[0].splitlines()
    assert line.endswith(f"{site.authority} buy_paper [spend]  Order printer paper.")


def test_a_refused_site_is_told_and_the_others_are_read(sites: Any) -> None:  # noqa: F811
    good, bad = sites(), sites()
    bad.script(MANIFEST, Reply(404))
    out, err, failure = call("crawl_manifests", bad.url, "http://10.0.0.1", "nonsense", good.url)
    assert out == f"read  {good.authority}: 0 entries\n"
    assert f"refused  {bad.authority} (manifest_invalid status)" in err
    assert "refused  10.0.0.1 (site_unreachable scheme)" in err
    assert "refused  nonsense (site_unreachable url)" in err
    assert str(failure) == "Refused: 3 of 4."


def test_sites_come_from_a_file(site: Site, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "sites.txt"
    file.write_text(f"# mine\n\n  {site.url}/somewhere \n")
    assert call("crawl_manifests", "--from", str(file))[0].startswith(f"read  {site.authority}")


def test_only_what_is_due_is_asked(sites: Any) -> None:  # noqa: F811
    one, other = sites(), sites()
    call("crawl_manifests", one.url, other.url)
    IndexedSite.objects.filter(site=one.authority).update(due_at="2020-01-01T00:00:00Z")
    out = call("crawl_manifests", "--due", "--json")[0]
    told = [json.loads(line) for line in out.splitlines()]
    assert [(each["site"], each["state"], each["entries"]) for each in told] == [
        (one.authority, "unchanged", 0)
    ]


def test_a_site_in_a_private_network_is_called_where_the_person_says_so(site: Site, settings: Any) -> None:  # noqa: F811
    settings.AGENTWEB["INDEX"]["ALLOW_HOSTS"] = []
    err, failure = call("crawl_manifests", site.url)[1:]
    assert failure is not None
    assert "add --allow-private" in err
    assert call("crawl_manifests", site.url, "--allow-private")[2] is None


def test_no_site_at_all_is_a_slip() -> None:
    assert "Name sites" in str(call("crawl_manifests")[2])


def test_finding_takes_the_filters_of_the_address() -> None:
    keep("a.example", an_action("stamps", "Stamps."))
    keep("b.example", an_action("stamps", "Stamps.", "spend", cost={"currency": "USD", "amount": 25}))
    found = json.loads(call("find_action", "stamps", "--effect", "spend", "--json")[0])
    assert [each["site"] for each in found["results"]] == ["b.example"]
    assert "a.example" in call("find_action", "stamps", "--currency", "USD", "--max-cost", "5")[0]
    assert "b.example" not in call("find_action", "stamps", "--currency", "USD", "--max-cost", "5")[0]
    assert "USD 25.00" in call("find_action", "stamps", "--site", "B.example")[0]
    assert "--currency" in str(call("find_action", "stamps", "--max-cost", "5")[2])
    assert "whole" in str(call("find_action", "stamps", "--limit", "many")[2])
    assert call("find_action", "zebra")[0].startswith("Nothing is found.")
