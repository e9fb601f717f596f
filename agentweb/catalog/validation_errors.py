"""Django's ``ValidationError`` as problems (AGENT_ACTIONS section 7): of a form, of a model, of a handler."""

from __future__ import annotations

import re
from typing import Any, Final

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from agentweb.wire.errors import InputError
from agentweb.wire.schema.problems import make_problem, settle

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def input_error(error: ValidationError) -> InputError:
    """The error with a problem for each message: at the member's pointer, or ``""`` for what concerns no single one."""
    problems, is_cut = settle(_problems(error))
    extra: dict[str, Any] = {"truncated": True} if is_cut else {}
    return InputError(problems, **extra)


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
