"""The worked example of docs/reference/wire.md is what the code makes, and its program buys in a real shop."""

from __future__ import annotations

import json
import re
import secrets
import sys
from base64 import b64decode
from pathlib import Path

import pytest
from nacl.signing import VerifyKey

from agentweb.wire.grant_shape import read_grant
from agentweb.wire.grants import grant_id
from agentweb.wire.receipt_shape import check_receipt
from agentweb.wire.signing import SigningKey, parse_public_key
from tests.docs import vectors
from tests.docs.pages import DOCS, blocks, file
from tests.docs.tutorial import Site

PAGE = "reference/wire.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", vectors.texts())
def test_the_worked_example_is_what_the_code_makes(name: str) -> None:
    shown = [block.text.removesuffix("\n") for block in blocks(PAGE)]
    if name == "grant":
        assert json.loads(vectors.texts()[name]) in [json.loads(text) for text in shown if text[0] == "{"]
    else:
        assert vectors.texts()[name] in shown


def test_keys_ids_and_thumbprints_of_the_example_are_those_shown() -> None:
    for text in (
        vectors.PERSON.public,
        vectors.AGENT.public,
        vectors.AGENT.thumbprint,
        grant_id(vectors.grant()),
    ):
        assert f"`{text}`" in TEXT


def test_the_signature_verifies_over_the_signature_base_with_another_implementation() -> None:
    signature = b64decode(vectors.headers()["Signature"].removeprefix("agent=:").removesuffix(":"))
    VerifyKey(parse_public_key(vectors.AGENT.public)).verify(vectors.signature_base().encode(), signature)


def members(heading: str) -> set[str]:
    """The names in the first column of the tables under a heading, up to the first code or list."""
    section = re.split(r"```|\n1\. ", TEXT.partition(f"\n## {heading}\n")[2])[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section, re.MULTILINE)
    return {name for cell in rows for name in re.findall(r"\w+", cell)}


def test_the_members_of_grants_are_all_there() -> None:
    names = members("Grants")
    for name in sorted(names & vectors.grant().keys() - {"mandate", "delegate"}):
        document = {other: value for other, value in vectors.grant().items() if other != name}
        with pytest.raises(ValueError, match=name):
            read_grant(document, 10**9)
    with pytest.raises(ValueError, match="has no members but") as refused:
        read_grant({**vectors.grant(), "more": 1}, 10**9)
    assert set(re.findall(r"\w+", str(refused.value).partition("but ")[2])) == names


def test_the_members_of_receipts_are_all_there() -> None:
    with pytest.raises(ValueError, match="exactly") as refused:
        check_receipt({})
    assert set(re.findall(r"\w+", str(refused.value).partition("exactly ")[2])) == members("Receipts")


def test_the_program_buys_and_verifies_its_receipt(shop: Site, tmp_path: Path) -> None:
    program = tmp_path / "call.py"
    program.write_text(file(PAGE, "call.py"), encoding="utf-8")
    seed = secrets.token_bytes(32)
    issued = shop.run(
        f"python manage.py issue_grant --agent-key {SigningKey.from_seed(seed).public} --scope tea:buy "
        "--mandate USD:10.00/10.00 --json"
    )
    said = shop.run(
        f"{sys.executable} {program} {shop.origin}",
        AGENT_SEED=seed.hex(),
        AGENT_GRANT=json.loads(issued)["header"],
    )
    assert said == "1 × Assam 6.50 USD verified\n"
