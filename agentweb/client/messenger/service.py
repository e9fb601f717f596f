"""A service's manifest, ``/.well-known/aim.json``: where its endpoints are, and for which name it is signed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from agentweb.client.discovery import manifest_url
from agentweb.client.transport import Answer
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.http_signature import authority_of
from agentweb.wire.strict_json import loads

WELL_KNOWN: Final = "/.well-known/aim.json"
MAX_BYTES: Final = 262_144
_PATH: Final = re.compile(r"/(?:[A-Za-z0-9._~-]+/)*[A-Za-z0-9._~-]+")
_REGISTER: Final = "/agents/register"
_CORE: Final = {
    "challenge": "POST",
    "register": "POST",
    "receive": "GET",
    "speak": "POST",
    "return": "GET",
}


@dataclass(frozen=True, slots=True)
class Service:
    """``authority`` is what requests are signed for and addresses end with; ``base`` what other paths begin with."""

    origin: str
    authority: str
    base: str
    challenge: str
    register: str
    inbox: str
    messages: str
    events: str

    def agent(self, name: str) -> str:
        return f"{self.base}/agents/{name}"

    def contacts(self, name: str = "") -> str:
        return f"{self.base}/contacts/{name}" if name else f"{self.base}/contacts"

    def thread(self, root: str) -> str:
        return f"{self.base}/threads/{root}"


def origin_of(url: str) -> str:
    """The origin of any URL of a service. Raises ClientError ``site_unreachable`` for what is none."""
    well_known = manifest_url(url)
    return "/".join(well_known.split("/")[:3])


def origin_at(authority: str) -> str:
    """The origin of the service at which an address is: TLS, but for this machine itself."""
    host = authority.partition(":")[0]
    is_local = host in {"localhost", "127.0.0.1"} or authority.startswith("[::1]")
    return f"{'http' if is_local else 'https'}://{authority}"


def read_service(answer: Answer, origin: str) -> Service:
    """The service of an answer from its well-known address.

    Raises ClientError ``manifest_invalid``. The manifest must be that of the host that was asked: with any other
    authority, whoever was asked could have us sign requests for somebody else and hand them on.
    """
    if answer.status != 200:
        raise _invalid(
            f"{origin} publishes no messenger (status {answer.status} at {WELL_KNOWN}).",
            http_status=answer.status,
        )
    try:
        document = loads(answer.body, max_bytes=MAX_BYTES)
    except AgentError as error:
        raise _invalid(f"The manifest is not JSON: {error.message}") from None
    if not isinstance(document, dict) or document.get("protocol") != "aim" or document.get("version") != "2":
        raise _invalid("The manifest is not one of AIM, version 2.")
    own = authority_of(origin)
    if document.get("authority") != own:
        raise _invalid(
            f"{own} says that its messages are at {str(document.get('authority'))[:200]!r}; call that host itself."
        )
    paths = _paths(document.get("core"))
    register = paths["register"]
    if not register.endswith(_REGISTER):
        raise _invalid("The manifest has its paths elsewhere than AIM 2 has.")
    return Service(
        origin=origin,
        authority=own,
        base=register.removesuffix(_REGISTER),
        challenge=paths["challenge"],
        register=register,
        inbox=paths["receive"],
        messages=paths["speak"],
        events=paths["return"],
    )


def _paths(core: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in core if isinstance(core, list) else ():
        if not isinstance(entry, dict):
            continue
        intent, method, path = (entry.get(name) for name in ("intent", "method", "path"))
        if isinstance(intent, str) and _CORE.get(intent) == method and isinstance(path, str):
            if not _PATH.fullmatch(path):
                raise _invalid(f"The path of {intent} is not an absolute path.")
            found.setdefault(intent, path)
    missing = [intent for intent in _CORE if intent not in found]
    if missing:
        raise _invalid(f"The manifest's core lacks {', '.join(missing)}.")
    return found


def _invalid(message: str, **extra: Any) -> ClientError:
    return ClientError(Code.MANIFEST_INVALID, message, **extra)
