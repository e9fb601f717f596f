"""Proof that whoever enrols a key holds it: a signed ``agent-enrolment/0.1`` document.

``{"type", "site", "key", "challenge", "sig"}``: the site's authority as the person knows it, their public key, the
text that the site gave to the person who is logged in there, and the key's signature over the label, a line feed and
the canonical document without ``sig``. The site stands in it so that no other site can pass its own visitors'
challenge on, and the label so that the signature is good for nothing else.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb.wire.signing import SigningKey, document_signature_is_valid, sign_document
from agentweb.wire.strict_json import Json

ENROLMENT_LABEL: Final = "agent-enrolment/0.1"

_MEMBERS: Final = frozenset({"type", "site", "key", "challenge", "sig"})


def sign_enrolment(key: SigningKey, *, site: str, challenge: str) -> dict[str, Any]:
    """The proof for ``key`` at ``site`` (``host[:port]``)."""
    document = {"type": ENROLMENT_LABEL, "site": site, "key": key.public, "challenge": challenge}
    return sign_document(document, key, label=ENROLMENT_LABEL)


def verify_enrolment(document: Json, *, site: str, public: str) -> str | None:
    """Why the document does not prove that ``public`` is to be enrolled at ``site``, or None.

    ``malformed``, ``site``, ``key`` or ``signature``. Whose challenge it is, is for the site to know.
    """
    if not isinstance(document, dict) or document.keys() != _MEMBERS:
        return "malformed"
    if document["type"] != ENROLMENT_LABEL or not isinstance(document["challenge"], str):
        return "malformed"
    if document["site"] != site:
        return "site"
    if document["key"] != public:
        return "key"
    return None if document_signature_is_valid(document, public, ENROLMENT_LABEL) else "signature"
