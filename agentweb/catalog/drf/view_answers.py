"""What a view answered, as an action's result or refusal.

============================= ==== ======================= ==========================================
the view                           code                    and
============================= ==== ======================= ==========================================
2xx with JSON                 200                          the same JSON
2xx without content           200                          null
400, 422                      422  ``invalid_input``       ``problems`` with pointers into the input
401, 403, a redirect to login 403  ``not_allowed``         the view's own words
404                           404  ``not_found``           its words, where they say more than that
409                           409  the view's, ``conflict``
429                           429  ``rate_limited``        ``retry_after``
another 4xx                   same the view's, or by status
3xx, 5xx, no JSON, a stream   500  ``handler_error``       nothing but an entry in the site's log
============================= ==== ======================= ==========================================

"The view's" code is that of DRF's ``ErrorDetail``, when it says more than that there is an error and is no code
with a meaning of its own on the wire. An exception of the view that comes of what was sent: see ``view_data_errors``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf import settings
from django.contrib.auth.views import LoginView
from django.shortcuts import resolve_url
from django.urls import Resolver404, get_script_prefix, resolve
from rest_framework.exceptions import NotFound
from rest_framework.settings import api_settings

from agentweb.catalog.drf.codes import code_of_status, own_code
from agentweb.catalog.drf.problems import problems_of
from agentweb.catalog.drf.view_inputs import BODY, ViewInput
from agentweb.wire.errors import AgentError, AuthorizationError, Code, ConflictError, InputError, RequestError
from agentweb.wire.schema.problems import make_problem, settle
from agentweb.wire.strict_json import Json

_MAX_WORDS: Final = 500
_NOT_THERE: Final = "What the input names does not exist here. Look it up, then call again."
_NOT_FOUND: Final = NotFound.default_detail
_NO_ROW: Final = re.compile(r"No \S+ matches the given query\.?")
_EMPTY: Final = frozenset({204, 205, 304})


class AnswerError(ValueError):
    """The view answered what is no answer to an agent; the text is for the site's log."""


def value_of(response: Any, taken: ViewInput, *, is_person: bool, path: str = "") -> Json:
    """The JSON of a view's answer. Raises an AgentError (4xx) for a refusal, AnswerError for what is neither.

    ``is_person`` says whether the call stood for somebody, ``path`` what was asked for, as the view's request has it.
    """
    status = getattr(response, "status_code", None)
    if not isinstance(status, int):
        raise AnswerError(f"The view returned a {type(response).__name__}, which is no response.")
    if getattr(response, "streaming", False):
        _close(response)
        raise AnswerError("The view answers with a stream or file; an action answers with JSON.")
    if not getattr(response, "is_rendered", True):
        response = response.render()
    if 200 <= status < 300:
        return None if status in _EMPTY or not response.content else _json(response)
    if 300 <= status < 400 and _leads_to_login(response, path):
        raise _not_allowed("", is_person)
    if 400 <= status < 500:
        raise _refusal(response, status, taken, is_person)
    target = response.headers.get("Location", "")
    raise AnswerError(
        f"The view answered {status}{f' and led to {target[:_MAX_WORDS]!r}' if target else ''}."
    )


def _json(response: Any) -> Json:
    try:
        found: Json = json.loads(response.content, parse_float=Decimal, parse_constant=_no_number)
    except ValueError as error:
        kind = response.headers.get("Content-Type", "nothing said of its type")
        raise AnswerError(f"The view's answer is no JSON ({kind}).") from error
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _refusal(response: Any, status: int, taken: ViewInput, is_person: bool) -> AgentError:
    detail = _detail(response)
    words = _words(detail)
    match status:
        case 400 | 422:
            return InputError(_problems(detail, words, taken))
        case 401 | 403:
            return _not_allowed(words, is_person)
        case 404:
            return RequestError(Code.NOT_FOUND, _own_words(words) or _NOT_THERE)
        case 429:
            wait = _retry_after(response)
            return RequestError(
                Code.RATE_LIMITED,
                words or "This was called too often.",
                retry_after=1 if wait is None else wait,
            )
        case 405:
            return RequestError(Code.METHOD_NOT_ALLOWED, words or "The site does not take this call here.")
        case 409:
            code = _own_code(detail) or Code.CONFLICT
            return ConflictError(code, words, status=409)
    code = _own_code(detail) or code_of_status(status)
    return AgentError(code, words, status=status)


def _not_allowed(words: str, is_person: bool) -> AuthorizationError:
    words = words or "The site does not allow this to the caller."
    if not is_person:
        words += (
            " The call stands for no person; sign it under a grant that a person gave, also where the action demands "
            "none."
        )
    return AuthorizationError(Code.NOT_ALLOWED, words)


def _own_words(words: str) -> str:
    """What a view says of what is not there; empty for what Django and DRF say by themselves."""
    is_said_by_itself = words.rstrip(".") in {"Not found", str(_NOT_FOUND).rstrip(".")} or _NO_ROW.fullmatch(
        words
    )
    return "" if is_said_by_itself else words


def _detail(response: Any) -> Any:
    """What a refusal says: DRF's own value, which has codes, else the JSON; None when it is neither."""
    found = getattr(response, "data", None)
    if found is None:
        with suppress(ValueError):
            found = json.loads(response.content)
    return found


def _problems(detail: Any, words: str, taken: ViewInput) -> list[dict[str, Any]]:
    """Problems at their members where the view speaks of members of its input, else one for the whole."""
    if isinstance(detail, Mapping):
        known = taken.names | {api_settings.NON_FIELD_ERRORS_KEY}
        if taken.body_is_member and detail and all(isinstance(name, int) for name in detail):
            return problems_of(detail, (BODY,))  # the items of a list that are wrong, by their places
        if detail and all(name in known for name in detail):
            found: list[dict[str, Any]] = []
            for name, each in detail.items():
                is_whole = name == api_settings.NON_FIELD_ERRORS_KEY
                found += problems_of(each, () if is_whole else taken.path_of((name,)))
            return settle(found)[0]
    elif isinstance(detail, list) and detail:
        return problems_of(detail, (BODY,) if taken.body_is_member else ())
    return [make_problem((), _own_code(detail) or "invalid", words or "The site refused the input.")]


def _own_code(detail: Any) -> str | None:
    """The code that the view gave its refusal, when it is one of its own."""
    if isinstance(detail, Mapping):
        detail = detail.get("detail")
    if isinstance(detail, list) and len(detail) == 1:
        detail = detail[0]
    return own_code(getattr(detail, "code", None))


def _words(detail: Any) -> str:
    """The texts of a refusal in one line."""
    return " ".join(" ".join(_texts(detail)).split())[:_MAX_WORDS]


def _texts(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, "" if key in {"detail", api_settings.NON_FIELD_ERRORS_KEY} else str(key))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each, name)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)


def _retry_after(response: Any) -> float | None:
    with suppress(ValueError, TypeError):
        wait = float(response.headers.get("Retry-After"))
        return wait if math.isfinite(wait) else None
    return None


def _leads_to_login(response: Any, path: str) -> bool:
    """What ``login_required``, ``staff_member_required`` and their like answer to whom they do not let in.

    A page where people log in is LOGIN_URL, a route called ``login``, a view of Django's, or one that is told to come
    back to ``path`` afterwards.
    """
    target = urlsplit(response.headers.get("Location", ""))
    if not target.path:
        return False
    if target.path == urlsplit(resolve_url(settings.LOGIN_URL)).path:
        return True
    if path and any(urlsplit(value).path == path for _name, value in parse_qsl(target.query)):
        return True
    prefix = get_script_prefix()
    try:
        match = resolve("/" + unquote(target.path).removeprefix(prefix))
    except Resolver404:
        return False
    return match.url_name == "login" or getattr(match.func, "view_class", None) is LoginView


def _close(response: Any) -> None:
    """Close the file of a response. ``close()`` itself would end the request of the agent (``request_finished``)."""
    for closer in getattr(response, "_resource_closers", ()):
        with suppress(Exception):
            closer()
