"""What the doctor asks the messenger itself: whether its addresses answer, and whether signed requests arrive whole.

Signed is with a key that was made for the question: a good signature gets as far as ``unknown_key``, and that nobody
knows the key shows that everything else of the request arrived as it was signed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from agentweb.aim import mount
from agentweb.aim.operations import OPTIONAL
from agentweb.aim.routes import ROUTES
from agentweb.http.probes import WITH_ANSWERS, Answer, Examined, Level, Probe, Problem
from agentweb.wire.aim.authorization import sign_request
from agentweb.wire.clock import now
from agentweb.wire.errors import Code, RequestError
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import loads

_VARIES: Final = re.compile(r"\{[a-z]+\}")
_SAMPLE: Final = "agentweb-doctor"
_CLASH: Final = "Look for a view or a middleware of the site that answers there, with `manage.py check`."
_LARGEST: Final = 5_000_000


def addresses_answer(site: Examined) -> Iterator[Problem]:
    """Every method of every route, unsigned: what is an agent's own asks for a signature, the rest answers."""
    for route in ROUTES:
        prefix = "" if route.is_well_known else site.place.prefix
        path = f"{prefix}/{_VARIES.sub(_SAMPLE, route.path)}"
        for method, operation in route.operations.items():
            answer = site.ask(method, path)
            is_public = operation.auth == OPTIONAL
            right = {200, 201, 404, 429} if is_public else {401}
            if not answer.is_ours or answer.status not in right:
                yield Problem(
                    f"{method} {path} answers {answer.status}"
                    f"{_said(answer) if answer.is_ours else ' by another view'}.",
                    _CLASH,
                )


def authorization_arrives(site: Examined) -> Iterator[Problem]:
    answer = site.ask("GET", f"{site.place.prefix}/{mount.INBOX}", {"Authorization": "AIM doctor"})
    if answer.is_ours and _code(answer) == Code.AUTHORIZATION_REQUIRED:
        yield Problem(
            "The header Authorization does not arrive, so no agent can sign a request.",
            "Have the server pass it on: with mod_wsgi, WSGIPassAuthorization On.",
        )


def signed_requests_arrive(site: Examined) -> Iterator[Problem]:
    key, place = SigningKey.generate(), site.place
    for method, rest, body in (
        ("GET", f"{mount.EVENTS}?after=now&limit=5", b""),
        ("POST", mount.MESSAGES, '{"text": "é"}'.encode()),
    ):
        target = f"{place.prefix}/{rest}"
        header = sign_request(key, method, target, place.site, body, ts=int(now()))
        headers = {"Authorization": header, **({"Content-Type": "application/json"} if body else {})}
        answer = site.ask(method, target, headers, body)
        if not answer.is_ours:
            continue
        code, error = _code(answer), _error(answer)
        if code == Code.BAD_SIGNATURE:
            details = error.get("details", {})
            yield Problem(
                f"A good signature of {method} {target} does not hold: it arrived as {details.get('method')} "
                f"{details.get('target')} at {details.get('authority')}.",
                "Have the proxy pass on the path as it came; AGENTWEB['ORIGIN'] is what agents see, and "
                "FORCE_SCRIPT_NAME the path that a proxy takes off.",
            )
        elif code == Code.CLOCK_SKEW:
            yield Problem("The site's clock is minutes off that of this machine.", "Set the clocks by NTP.")


def _error(answer: Answer) -> dict[str, Any]:
    try:
        body = loads(answer.body, max_bytes=_LARGEST)
    except RequestError:
        return {}
    error = body.get("error", {}) if isinstance(body, dict) else {}
    return error if isinstance(error, dict) else {}


def _code(answer: Answer) -> str:
    return str(_error(answer).get("code", ""))


def _said(answer: Answer) -> str:
    code = _code(answer)
    return f" {code}" if code else ""


PROBES: Final = (
    Probe(
        "D402",
        Level.ERROR,
        "Every address of the messenger answers.",
        addresses_answer,
        after=(*WITH_ANSWERS, "D050", "D061"),
    ),
    Probe(
        "D403",
        Level.ERROR,
        "The header with which agents sign arrives.",
        authorization_arrives,
        after=WITH_ANSWERS,
    ),
    Probe(
        "D404",
        Level.ERROR,
        "Requests arrive as agents signed them.",
        signed_requests_arrive,
        after=(*WITH_ANSWERS, "D403"),
    ),
)
