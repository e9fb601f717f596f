"""Django's own ways to say no, understood in a handler as refusals: what a view may raise, a handler may too.

============================================== ==== ================= =======================================
``Http404``, also of ``get_object_or_404``     404  ``not_found``     its text is for developers, and not told
``django.core.exceptions.PermissionDenied``    403  ``not_allowed``   the same
``django.core.exceptions.ValidationError``     422  ``invalid_input`` its messages are for users: ``problems``
============================================== ==== ================= =======================================

``DoesNotExist`` of a plain ``get()`` is none of them: the author did not say what it means to the caller.
"""

from __future__ import annotations

import re
from typing import Any, Final

from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, ValidationError
from django.http import Http404

from agentweb.wire.errors import AgentError, AuthorizationError, Code, InputError, RequestError
from agentweb.wire.schema.problems import make_problem, settle

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def refusal_of(error: Exception) -> AgentError | None:
    """What the caller learns of an exception of the handler that speaks to it; None when it is a crash."""
    match error:
        case AgentError():
            return error
        case Http404():
            return RequestError(
                Code.NOT_FOUND, "What the input names does not exist here. Look it up, then call again."
            )
        case PermissionDenied():
            return AuthorizationError(Code.NOT_ALLOWED, "The site does not allow this to the caller.")
        case ValidationError():
            problems, is_cut = settle(_problems(error))
            extra: dict[str, Any] = {"truncated": True} if is_cut else {}
            return InputError(problems, **extra)
    return None


def _problems(error: ValidationError) -> list[dict[str, Any]]:
    """One entry for each message, with the member's pointer; what concerns no single member has the pointer ""."""
    # Django gives an error one of the two attributes, by how it was written.
    named = error.error_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.error_list}
    return [
        make_problem((name,) if name != NON_FIELD_ERRORS else (), _code_of(each), " ".join(each.messages))
        for name, errors in named.items()
        for each in errors
    ]


def _code_of(error: ValidationError) -> str:
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and _CODE.fullmatch(code) else "invalid"
