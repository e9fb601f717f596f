"""A site's list of revocations: entries that form a hash chain, and its signed end (AGENT_ACTIONS 5).

An entry is ``{"seq", "id", "at", "prev"}``: its number, the grant (``gr_…``) or key (``ed25519:…``) that counts no
longer, Unix seconds, and the hash of the entry before (None for number 1). Its own hash is ``"sha256:"`` and the hex
SHA-256 of these four members in canonical JSON. The head is signed like that of the receipts, under its own label.

Whoever keeps a head sees every later change of what it covers. The beginning of the list is cut off as grants
expire: entries that still count are then repeated at the end, under new numbers and with their old time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from agentweb.wire import receipts
from agentweb.wire.canonical import digest
from agentweb.wire.grant_shape import GRANT_ID
from agentweb.wire.json_types import MAX_SAFE_INTEGER
from agentweb.wire.receipts import Keys
from agentweb.wire.signing import SigningKey, parse_public_key
from agentweb.wire.strict_json import Json

HEAD_LABEL: Final = "agent-revocations-head/0.1"

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MEMBERS: Final = frozenset({"seq", "id", "at", "prev"})


def entry(*, seq: int, id: str, at: int, prev: str | None) -> dict[str, Any]:
    """One entry as it is listed and hashed."""
    return {"seq": seq, "id": id, "at": at, "prev": prev}


def entry_hash(document: dict[str, Any]) -> str:
    """The hash of an entry: the next one's ``prev``, or the head's ``hash``."""
    return digest(document)


def sign_head(*, key: SigningKey, site: str, seq: int, hash: str | None, at: int) -> dict[str, Any]:
    """The site's word that its list ended with ``hash`` at number ``seq``, at time ``at``; 0 and None when empty."""
    return receipts.sign_head(key=key, site=site, seq=seq, hash=hash, at=at, label=HEAD_LABEL)


def verify_head(document: Json, keys: Keys) -> str | None:
    """Why the head does not hold, or None; the reasons are those of ``receipts``. ``keys`` are the manifest's."""
    return receipts.verify_head(document, keys, label=HEAD_LABEL)


def verify_list(entries: Sequence[Json], head: Json) -> str | None:
    """Why these entries, in order and whole, do not end with ``head``, or None. The head's signature is not looked at.

    ``malformed``; ``order``: a number is left out or repeated; ``prev``: an entry was changed or is missing;
    ``truncated``: the head counts further; ``head``: it contradicts them.
    """
    try:
        listed = [_check_entry(each) for each in entries]
        end = receipts.check_head(head, HEAD_LABEL)
    except ValueError:
        return "malformed"
    for before, after in pairwise(listed):
        if after["seq"] != before["seq"] + 1:
            return "order"
        if after["prev"] != entry_hash(before):
            return "prev"
    last = (listed[-1]["seq"], entry_hash(listed[-1])) if listed else (0, None)
    if not listed and end["seq"]:
        return None  # everything that was listed has expired
    if end["seq"] > last[0]:
        return "truncated"
    return None if (end["seq"], end["hash"]) == last else "head"


def _check_entry(document: Json) -> dict[str, Any]:
    if not isinstance(document, dict) or document.keys() != _MEMBERS:
        raise ValueError("An entry has the members seq, id, at and prev.")
    seq, ident, at, prev = (document[name] for name in ("seq", "id", "at", "prev"))
    for number, least in ((seq, 1), (at, 0)):
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= MAX_SAFE_INTEGER:
            raise ValueError("seq and at are whole numbers.")
    if not isinstance(ident, str):
        raise ValueError("id is a text.")
    if not GRANT_ID.fullmatch(ident):
        parse_public_key(ident)
    if (prev is None) != (seq == 1) or not (
        prev is None or (isinstance(prev, str) and _HASH.fullmatch(prev))
    ):
        raise ValueError("prev is the hash of the entry before.")
    return document
