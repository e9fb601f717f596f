"""Reading the manifest of a site that nobody here has met: one address, one time limit, no retries.

Everything about it may be hostile. The address is looked at before and at the connection (``addresses``, ``peers``),
redirects stay on the site, size and time are bounded, and the site is the one whose manifest it says to be. Input
schemas are compiled before anything of an action is kept: no reference is followed out of it, and a pattern that could
keep a validator busy spoils its action, as ``Manifest.unusable`` has it.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import Any, Final

from agentweb.client.discovery import MAX_BYTES, manifest_url, read_answer, refusing_as_manifest
from agentweb.client.manifest import Manifest, Problem
from agentweb.client.transport import Answer, Transport
from agentweb.wire.errors import AgentError, ClientError
from agentweb.wire.strict_json import loads

SCHEMA_SECONDS: Final = 5.0
"""Processor time that the schemas of one manifest may take to be compiled; actions beyond are left out."""
MAX_ETAG: Final = 200
"""Characters of an ETag that are kept; a longer one is as good as none."""

AWP: Final = "/.well-known/agentic-web-protocol.json"
_MAX_ABOUT: Final = 65_536
_LONGEST: Final = 2_000
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Fetched:
    """A manifest as it was read. ``body`` are its bytes and ``sha256`` their digest in hex; ``etag`` is the site's."""

    manifest: Manifest
    body: bytes
    sha256: str
    etag: str


@dataclass(frozen=True, slots=True)
class About:
    """What a site says of itself by AWP, both empty where it says nothing."""

    name: str = ""
    summary: str = ""


def fetch(transport: Transport, url: str, *, etag: str = "") -> Fetched | None:
    """The manifest of the site of ``url``; None when it is still the one with this ``etag``.

    Actions whose schemas cannot be used are not among its ``actions``. Raises ClientError ``site_unreachable`` or
    ``manifest_invalid``, both with a ``reason``.
    """
    where = manifest_url(url)
    with refusing_as_manifest():
        answer = transport.get(where, headers={"If-None-Match": etag} if etag else {}, max_bytes=MAX_BYTES)
    if answer.status == 304 and etag:
        return None
    manifest = with_sound_schemas(read_answer(answer, where))
    given = answer.headers.get("etag", "")
    return Fetched(
        manifest,
        answer.body,
        hashlib.sha256(answer.body).hexdigest(),
        given if len(given) <= MAX_ETAG and given.isascii() and given.isprintable() else "",
    )


def with_sound_schemas(manifest: Manifest, *, seconds: float = SCHEMA_SECONDS) -> Manifest:
    """The manifest without the actions whose input schemas do not compile as foreign ones; ``unusable`` says why."""
    end = time.thread_time() + seconds
    unusable: list[Problem] = list(manifest.unusable)
    sound = {}
    for name, action in manifest.actions.items():
        if time.thread_time() > end:
            unusable.append(
                _problem(name, "too_complex", "The schemas of this site take too long to be read.")
            )
            continue
        try:
            action.schema()
        except ClientError as error:
            problems: list[Any] = error.problems or []
            unusable += [_problem(name, str(each["code"]), str(each["message"])) for each in problems]
        else:
            sound[name] = action
    return replace(manifest, actions=sound, unusable=tuple(unusable[:100]))


def fetch_about(transport: Transport, url: str) -> About:
    """What the site of ``url`` says of itself by AWP: name and description. Whatever is wrong with it, it says
    nothing."""
    where = manifest_url(url).rpartition("/.well-known/")[0] + AWP
    try:
        return _about(transport.get(where, headers={}, max_bytes=_MAX_ABOUT))
    except AgentError:
        return About()


def _about(answer: Answer) -> About:
    if answer.status != 200:
        return About()
    document = loads(answer.body, max_bytes=_MAX_ABOUT)
    if not isinstance(document, dict):
        return About()
    name, said = document.get("name"), document.get("description")
    return About(
        name[:_LONGEST_NAME] if isinstance(name, str) else "",
        said[:_LONGEST] if isinstance(said, str) else "",
    )


def _problem(action: str, code: str, message: str) -> Problem:
    return {
        "pointer": f"/actions/{action}/input",
        "field": f"{action}.input",
        "code": code,
        "message": message,
    }
