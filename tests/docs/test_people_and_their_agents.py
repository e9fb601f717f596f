"""What docs/how-to/people-and-their-agents.md shows works against the tutorial's shop."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest

from agentweb.access import principals
from agentweb.access.models import PrincipalKey
from agentweb.client import AgentClient, ApprovalPolicy, KeyStore
from agentweb.client.errors import SiteError
from agentweb.wire.enrolment import sign_enrolment
from agentweb.wire.signing import SigningKey
from tests.docs.pages import blocks, file
from tests.docs.tutorial import Site

PAGE = "how-to/people-and-their-agents.md"
GRANT = "gr_v7Qm3nYd0sKc1bXe8Tf2Ag"
TEA = {"sku": "assam", "packets": 1, "price": 6.5}


def person(shop: Site) -> str:
    """A new user of the shop."""
    name = f"ann{secrets.token_hex(4)}"
    shop.run(
        f"python manage.py shell -c \"from django.contrib.auth.models import User; User.objects.create_user('{name}')\""
    )
    return name


def commands() -> list[str]:
    return [line for block in blocks(PAGE, "sh") for line in block.text.replace("\\\n", "").splitlines()]


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text(file(PAGE, name), encoding="utf-8")
    return path


def test_ann_enrols_a_key_gives_her_agent_a_grant_and_takes_it_back(shop: Site, tmp_path: Path) -> None:
    ann = person(shop)
    key = KeyStore(tmp_path / "ann-keys.json").key.public
    enrol, show = (line for line in commands() if "enrol_key" in line)
    shown = "ed25519:UJnIjkZw1xOQlDKaoNHx2xBc_kr8vDsT0ZdMLiKrPGA"
    shop.run(enrol.replace(" ann ", f" {ann} ").replace(shown, key))
    assert f"{key}  counts  laptop" in shop.run(show.replace(" ann ", f" {ann} "))
    never = ApprovalPolicy.never_ask()
    with AgentClient(KeyStore(tmp_path / "agent.json"), approval=never) as agent:
        site = agent.discover_actions(shop.origin).site
        give = f"cd {tmp_path} && {sys.executable} {program(tmp_path, 'give.py')} {site} {agent.public_key}"
        grant = agent.add_grant(shop.run(give))
        assert grant.scopes == ("tea:buy",)
        assert agent.call_action(shop.origin, "buy_tea", TEA).value["receipt"].startswith("rc_")
        # Less of it is handed on.
        with AgentClient(KeyStore(tmp_path / "other.json"), approval=never) as other:
            [hand_on] = [line for line in commands() if " delegate " in line]
            shown_key = "ed25519:DfxfVPA09JCLKbckgs0Oc5QBba-Gor-w_y6raE9mayk"
            hand_on = hand_on.replace(GRANT, grant.id).replace(shown_key, other.public_key)
            handed = other.add_grant(
                shop.run(
                    f"cd {tmp_path} && {hand_on}".replace("python", sys.executable),
                    AGENTWEB_KEY_STORE="agent.json",
                )
            )
            assert other.call_action(shop.origin, "buy_tea", {**TEA, "price": 6.5}).grant == handed.id

        [take_back] = [line for line in commands() if " revoke " in line]
        take_back = f"cd {tmp_path} && {take_back}".replace("python", sys.executable)

        def revoke(ident: str) -> str:
            return shop.run(take_back.replace(GRANT, ident), SHOP=shop.origin)

        assert revoke(grant.id) == revoke(grant.id) == f"{grant.id} counts no longer.\n"
        with pytest.raises(SiteError) as refused:
            agent.call_action(shop.origin, "buy_tea", TEA)
        assert refused.value.code == "grant_revoked"
        # Another one goes with her key.
        agent.add_grant(shop.run(give))
        agent.call_action(shop.origin, "buy_tea", TEA)
        assert revoke(key) == f"{key} counts no longer.\n"
        with pytest.raises(SiteError):
            agent.call_action(shop.origin, "buy_tea", TEA)


def test_a_token_buys_with_curl(shop: Site) -> None:
    ann = person(shop)
    [issue] = [line for line in commands() if "issue_session" in line]
    [curl] = [line for line in commands() if line.startswith("curl ")]
    token = shop.run(issue.replace("--user ann", f"--user {ann}")).strip()
    bought = json.loads(
        shop.run(curl.replace("$(uuidgen)", secrets.token_hex(16)), SHOP=shop.origin, TOKEN=token)
    )
    assert bought["receipt"].startswith("rc_")
    again = curl.replace("$(uuidgen)", secrets.token_hex(16)).replace("1, ", "100, ")
    assert "invalid_input" in shop.run(again, SHOP=shop.origin, TOKEN=token)


@pytest.mark.django_db
def test_a_page_enrols_what_is_proven() -> None:
    [snippet] = [block.text for block in blocks(PAGE, "python") if block.path is None]
    names: dict[str, Any] = {}
    exec(snippet, names)  # noqa: S102
    key, request = SigningKey.generate(), HttpRequest()
    request.user = User.objects.create_user("ann")
    text = principals.challenge(request.user)
    names["enrol"](request, key.public, sign_enrolment(key, site="shop.example", challenge=text))
    assert PrincipalKey.objects.get().label == "phone"
