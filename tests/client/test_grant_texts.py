"""A grant is taken in every form in which a site's staff may hand it over."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentweb.client import AgentClient, AuthenticationError
from agentweb.client.keystore import KeyStore
from agentweb.wire.grants import attenuate, encode_chain, new_grant
from agentweb.wire.signing import SigningKey
from tests.client.conftest import AGENT, PERSON

MIDDLE = SigningKey.generate()


def chain() -> list[dict[str, Any]]:
    root = new_grant(
        issuer=PERSON,
        subject=MIDDLE.public,
        audience="shop.example",
        scopes=["cart:*"],
        not_before=1_790_000_000,
        expires=1_790_003_600,
        delegate=1,
        note="v1. is how it begins",
    )
    return attenuate([root], MIDDLE, subject=AGENT.public)


CHAIN = chain()
HEADER = encode_chain(CHAIN)
PRINTED = f"Grant gr_x for shop.example, until 2026-09-21\n{json.dumps(CHAIN[-1], indent=2)}\nAgent-Grant: {HEADER}\n"
ROOT_ONLY = new_grant(
    issuer=PERSON,
    subject=AGENT.public,
    audience="shop.example",
    scopes=["cart:*"],
    not_before=1_790_000_000,
    expires=1_790_003_600,
)


@pytest.mark.parametrize(
    "form",
    [
        HEADER,
        f"  {HEADER}\n",
        f"Agent-Grant: {HEADER}",
        f"agent-grant:{HEADER}\r\n",
        f'"{HEADER}"',
        json.dumps(CHAIN),
        json.dumps(CHAIN, indent=2),
        CHAIN,
        tuple(CHAIN),
        {"id": "gr_x", "header": HEADER, "chain": CHAIN},
        {"chain": CHAIN},
        json.dumps({"id": "gr_x", "header": HEADER, "chain": CHAIN}),
        PRINTED,
        PRINTED.replace("\n", "\r\n"),
        f"Here is your grant:\n\n{HEADER}\n",
    ],
)
def test_every_form_of_a_printed_grant_is_taken(client: AgentClient, form: Any) -> None:
    assert client.add_grant(form).document == CHAIN[-1]
    assert [[grant.document for grant in held] for held in client.keystore.chains] == [CHAIN]


@pytest.mark.parametrize("form", [ROOT_ONLY, json.dumps(ROOT_ONLY), json.dumps(ROOT_ONLY, indent=2)])
def test_a_single_document_is_a_chain_of_one(keystore: KeyStore, form: Any) -> None:
    assert keystore.add_grant(form).document == ROOT_ONLY


def complaint(act: Callable[[], object]) -> AuthenticationError:
    with pytest.raises(AuthenticationError) as caught:
        act()
    assert caught.value.code == "grant_invalid"
    return caught.value


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("", "There is no grant in this text"),
        ("Dear agent, you may shop.", "There is no grant in this text"),
        ("gr_" + "A" * 22, "begins with v1."),
        ("Agent-Grant: gr_" + "A" * 22, "begins with v1."),
        ("{not json", "begins like JSON"),
        ('["a", "b"]', "one document"),
        (["a"], "one document"),
        ("[1]", "one document"),
        (f"{HEADER}\n{encode_chain([ROOT_ONLY])}\n", "one by one"),
        ("x" * 70_000, "at most"),
        ("[" * 1_000, "begins like JSON"),
        ("\ud800", "There is no grant"),
        ('"\ud800', "begins like JSON"),
        ({}, ""),
        ([], ""),
        ("[]", ""),
        ("v1.", ""),
    ],
)
def test_what_is_no_grant_is_said(keystore: KeyStore, form: Any, said: str) -> None:
    assert said in complaint(lambda: keystore.add_grant(form)).message
    assert keystore.chains == ()


@pytest.mark.parametrize("form", [None, 5, b"v1.x"])
def test_another_type_is_a_mistake_of_the_program(keystore: KeyStore, form: Any) -> None:
    with pytest.raises(TypeError, match="A grant is a text, a document or a list"):
        keystore.add_grant(form)


def test_a_grant_for_another_key_names_both_keys(keystore: KeyStore) -> None:
    other = SigningKey.generate()
    document = new_grant(
        issuer=PERSON,
        subject=other.public,
        audience="shop.example",
        scopes=["cart:*"],
        not_before=1_790_000_000,
        expires=1_790_003_600,
    )
    error = complaint(lambda: keystore.add_grant(document))
    assert error.message.startswith(f"This grant is for {other.public}, your key is {AGENT.public}.")
    assert error.extra["reason"] == "wrong_agent"
