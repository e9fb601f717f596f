"""The ways in which a grant reaches an agent: whatever a person copied from what their site showed.

A header value, the header with its name, a document or a chain as JSON, or the whole of what ``issue_grant``
printed, in either of its forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agentweb.wire.errors import AgentError, AuthenticationError, Code
from agentweb.wire.grants import GrantDocument, decode_header, encode_chain, parse_grant
from agentweb.wire.strict_json import Json, loads

LONGEST_LIFE: Final = 3_650 * 86_400
"""Seconds; how long grants may live is for their site to say, so the agent keeps any that a site may accept."""
MAX_TEXT: Final = 65_536
"""Characters in which a grant is looked for."""

_HEADER: Final = re.compile(r"(?<![A-Za-z0-9_.-])v1\.[A-Za-z0-9_-]+")
_ID: Final = re.compile(r"gr_[A-Za-z0-9_-]+")
_NAME: Final = re.compile(r"agent-grant:\s*", re.IGNORECASE)

GrantLike = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]


class GrantChain(tuple[GrantDocument, ...]):
    """A grant with all those above it, root first: what an agent keeps and sends. The last one is its own."""

    __slots__ = ()

    @property
    def leaf(self) -> GrantDocument:
        """The agent's own grant: ``id``, ``audience``, ``scopes``, ``mandate``, ``expires``."""
        return self[-1]

    @property
    def id(self) -> str:
        """The id of the agent's own grant, ``gr_…``."""
        return self[-1].id

    @property
    def header(self) -> str:
        """The value of ``Agent-Grant``, which is also the text that ``add_grant`` takes."""
        return encode_chain([grant.document for grant in self])


Chain = GrantChain


def read_chain(grant: GrantLike) -> Chain:
    """The chain in a text, a document, a list of documents, or what ``issue_grant --json`` printed.

    Signatures are not looked at. Raises AuthenticationError ``grant_invalid``, and TypeError for another type.
    """
    if isinstance(grant, str):
        return _from_text(grant)
    if not isinstance(grant, (Mapping, Sequence)) or isinstance(grant, (bytes, bytearray)):
        raise TypeError(f"A grant is a text, a document or a list of documents, not {type(grant).__name__}.")
    return _from_json(grant)


def parse_chain(documents: Iterable[Json]) -> Chain:
    """The chain of documents, root first, each of the right shape."""
    return GrantChain(parse_grant(document, max_life=LONGEST_LIFE) for document in documents)


def _from_text(text: str) -> Chain:
    text = text.strip()
    if len(text) > MAX_TEXT:
        raise _invalid(f"A grant is looked for in at most {MAX_TEXT} characters.")
    if text[:1] in {"{", "[", '"'}:
        try:
            found = loads(text.encode(), max_bytes=4 * MAX_TEXT)
        except (AgentError, UnicodeEncodeError) as error:
            raise _invalid(f"The text begins like JSON and is none: {error}") from None
        return _from_text(found) if isinstance(found, str) else _from_json(found)
    headers = set(_HEADER.findall(text))
    if len(headers) > 1:
        raise _invalid("The text holds several grants; add them one by one.")
    alone = _NAME.sub("", text, count=1)
    if headers and len(text.split()) > 2:
        # The whole of a printed answer; the value stands for everything around it.
        [alone] = headers
    return _from_header(alone)


def _from_header(text: str) -> Chain:
    if _ID.fullmatch(text):
        raise _invalid("A gr_ id names a grant but is none; add the text that begins with v1.")
    if not text.startswith("v1."):
        raise _invalid(
            'There is no grant in this text. Give what issue_grant printed: the line "Agent-Grant: v1.…", '
            "its value, or the JSON."
        )
    decoded = decode_header(text, max_life=LONGEST_LIFE)
    if isinstance(decoded, str):
        raise _invalid("A gr_ id names a grant but is none; add the text that begins with v1.")
    return GrantChain(decoded)


def _from_json(found: object) -> Chain:
    if isinstance(found, Mapping) and "type" not in found:
        if isinstance(found.get("header"), str):
            return _from_header(found["header"])
        found = found.get("chain", found)
    documents = [found] if isinstance(found, Mapping) else found
    if not isinstance(documents, Sequence) or not all(isinstance(each, Mapping) for each in documents):
        raise _invalid("A grant in JSON is one document, or a list of documents with the root first.")
    return parse_chain([dict(document) for document in documents])


def _invalid(message: str) -> AuthenticationError:
    return AuthenticationError(Code.GRANT_INVALID, message, reason="malformed")
