"""``manage.py issue_grant``: what staff type, and what the agent gets."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from agentweb.access import site_keys
from agentweb.access.models import Grant, Mandate
from agentweb.catalog.registry import registry
from agentweb.client.keystore import KeyStore
from tests.access.signing import AGENT, deliver, signed

pytestmark = pytest.mark.django_db

KEY = ["--agent-key", AGENT.public]


def issue(*arguments: str) -> str:
    out = io.StringIO()
    call_command("issue_grant", *arguments, stdout=out)
    return out.getvalue()


def complaint(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        issue(*arguments)
    assert not Grant.objects.exists()
    return str(caught.value)


@pytest.fixture(autouse=True)
def site_key(db: None) -> None:
    site_keys.ensure_active_key()


def test_the_header_that_is_printed_works() -> None:
    user = User.objects.create_user("ann")
    answer = json.loads(
        issue(
            *KEY,
            *("--scope", "cart:*", "--scope", "checkout", "--mandate", "USD:50.00/200.00"),
            *(
                "--expires-in",
                "7200",
                "--delegate",
                "2",
                "--one-time",
                "--user",
                "ann",
                "--note",
                "Office",
                "--json",
            ),
        )
    )
    caller = deliver(signed(grant=answer["header"]))
    assert caller.user == user
    assert caller.scopes == ("cart:*", "checkout")
    assert [grant.document for grant in caller.chain] == answer["chain"]
    grant = caller.chain[-1]
    assert (grant.id, grant.audience, grant.delegate, grant.note) == (
        answer["id"],
        "shop.example",
        2,
        "Office",
    )
    assert grant.expires - grant.not_before == 7_200
    mandate = Mandate.objects.get()
    assert (mandate.currency, mandate.per_tx, mandate.total, mandate.max_uses) == ("USD", 5_000, 20_000, 1)


def test_people_get_text_with_the_document_and_the_header() -> None:
    text = issue(*KEY, "--scope", "cart:*")
    grant = Grant.objects.get()
    assert text.startswith(f"Grant {grant.pk} for shop.example, until ")
    header = text.rsplit("Agent-Grant: ", 1)[1].strip()
    assert deliver(signed(grant=header)).chain[0].id == grant.pk
    shown = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert [shown] == json.loads(grant.chain)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scope", "s"], "--agent-key: "),
        (["--agent-key", "ed25519:short", "--scope", "s"], "--agent-key: "),
        (KEY, "--scope: "),
        ([*KEY, "--scope", "car*"], "--scope: "),
        ([*KEY, "--scope", "s", "--expires-in", "soon"], "--expires-in: 'soon' is not a whole number."),
        ([*KEY, "--scope", "s", "--expires-in", "0"], "--expires-in: "),
        ([*KEY, "--scope", "s", "--expires-in", str(91 * 86_400)], "--expires-in: "),
        ([*KEY, "--scope", "s", "--delegate", "4"], "--delegate: "),
        ([*KEY, "--scope", "s", "--delegate", "x"], "--delegate: 'x' is not a whole number."),
        ([*KEY, "--scope", "s", "--mandate", "50 dollars"], "--mandate: write currency"),
        ([*KEY, "--scope", "s", "--mandate", "XQX:1.00/2.00"], "--mandate: "),
        ([*KEY, "--scope", "s", "--mandate", "USD:1.001/2.00"], "--mandate: "),
        ([*KEY, "--scope", "s", "--mandate", "USD:3.00/2.00"], "--mandate: per_tx is at most the total."),
        ([*KEY, "--scope", "s", "--user", "nobody"], "--user: there is no user 'nobody'."),
        ([*KEY, "--scope", "s", "--note", "n" * 201], "--note: "),
        ([*KEY, "--scope", "s", "--site", "other.example"], "--site: "),
    ],
)
def test_every_bad_argument_is_named(arguments: list[str], said: str) -> None:
    text = complaint(*arguments)
    assert f"- {said}" in text
    assert text.count("\n- ") == 1


def test_all_bad_arguments_are_told_at_once() -> None:
    User.objects.create_user("bob", is_active=False)
    text = complaint(
        *("--agent-key", "x", "--scope", "**", "--mandate", "x", "--expires-in", "x", "--delegate", "x"),
        *("--user", "bob", "--note", "n" * 201),
    )
    for option in ("agent-key", "scope", "mandate", "expires-in", "delegate", "user", "note"):
        assert f"- --{option}: " in text


def test_the_site_must_be_known(settings: Any) -> None:
    settings.AGENTWEB = {}
    assert 'AGENTWEB["ORIGIN"]' in complaint(*KEY, "--scope", "s", "--site", "localhost:8000")
    settings.DEBUG = True
    assert 'AGENTWEB["ORIGIN"]' in complaint(*KEY, "--scope", "s")
    assert "cannot be used" in complaint(*KEY, "--scope", "s", "--site", "no host")
    answer = json.loads(issue(*KEY, "--scope", "s", "--site", "localhost:8000", "--json"))
    assert answer["chain"][0]["audience"] == "localhost:8000"


def test_a_default_port_is_no_part_of_the_site(settings: Any) -> None:
    settings.AGENTWEB = {"ORIGIN": "https://Shop.Example:443"}
    assert json.loads(issue(*KEY, "--scope", "s", "--json"))["chain"][0]["audience"] == "shop.example"


def test_without_a_site_key_the_command_says_how_to_get_one() -> None:
    site_keys.retire(site_keys.SiteKey.objects.get().kid)
    assert "agentweb_keys create" in complaint(*KEY, "--scope", "s")


def test_quiet_prints_the_header_alone() -> None:
    header = issue(*KEY, "--scope", "notes:write", "--quiet")
    assert header.startswith("v1.")
    assert deliver(signed(grant=header.strip())).scopes == ("notes:write",)
    with pytest.raises(CommandError, match="not allowed with"):
        issue(*KEY, "--scope", "notes:write", "--quiet", "--json")


@pytest.mark.parametrize("form", [["--quiet"], ["--json"], []])
def test_the_client_takes_whatever_was_printed(tmp_path: Path, form: list[str]) -> None:
    store = KeyStore(tmp_path / "agent.json", key=AGENT)
    assert store.add_grant(issue(*KEY, "--scope", "notes:write", *form)).id == Grant.objects.get().pk


def warned(*scopes: str) -> str:
    err = io.StringIO()
    options = [part for scope in scopes for part in ("--scope", scope)]
    call_command("issue_grant", *KEY, *options, "--quiet", stdout=io.StringIO(), stderr=err)
    return err.getvalue()


def test_a_scope_that_no_action_uses_is_warned_of_with_those_in_use() -> None:
    said = warned("notes:wirte", "notes:read", "nothing:like:it")
    assert "uses the scope notes:wirte. Did you mean notes:write?" in said
    assert "uses the scope nothing:like:it." in said
    assert "uses the scope notes:read" not in said
    assert "The scopes that this site's actions use: " in said
    assert "notes:read, notes:write" in said
    assert Grant.objects.count() == 1


@pytest.mark.parametrize("scope", ["notes:write", "notes:*", "*"])
def test_a_scope_in_use_is_issued_without_a_word(scope: str) -> None:
    assert warned(scope) == ""


@pytest.mark.parametrize("arguments", [[], ["--scope", "car*"]])
def test_without_a_good_scope_the_error_names_those_in_use(arguments: list[str]) -> None:
    text = complaint(*KEY, *arguments)
    assert "- --scope: " in text
    assert "The scopes that this site's actions use: " in text
    assert "notes:read, notes:write" in text


def test_a_site_without_scopes_says_so() -> None:
    with registry.only():
        assert "No action of this site asks for a scope." in complaint(*KEY)
        assert "No action of this site asks for a scope." in warned("notes:write")


def test_a_grant_too_long_for_a_header_is_a_sentence_and_no_row() -> None:
    scopes = [part for number in range(64) for part in ("--scope", f"orders.{'x' * 85}{number:02}:*")]
    assert "a header has at most" in complaint(*KEY, *scopes)
