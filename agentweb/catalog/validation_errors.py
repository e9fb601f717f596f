"""Validation errors as problems (AGENT_ACTIONS section 7): Django's, of a form, a model or a handler; and DRF's."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from agentweb.wire.errors import AgentError, InputError
from agentweb.wire.schema.problems import make_problem, settle

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def input_error(error: ValidationError) -> InputError:
    """The error with a problem for each message: at the member's pointer, or ``""`` for what concerns no single one."""
    problems, is_cut = settle(_problems(error))
    extra: dict[str, Any] = {"truncated": True} if is_cut else {}
    return InputError(problems, **extra)


def drf_refusal(error: Exception) -> AgentError | None:
    """What the caller learns of an exception of Django REST framework; None for others, and for 5xx.

    DRF is not imported for the question: where it is not, nothing can have raised it.
    """
    exceptions = sys.modules.get("rest_framework.exceptions")
    if exceptions is None or not isinstance(error, exceptions.APIException):
        return None
    from agentweb.catalog.drf.refusals import refusal_of  # noqa: PLC0415

    return refusal_of(error)


def _problems(error: ValidationError) -> list[dict[str, Any]]:
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
