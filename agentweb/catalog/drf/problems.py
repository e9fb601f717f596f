"""What DRF says against an input, as problems (AGENT_ACTIONS section 7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rest_framework.settings import api_settings

from agentweb.wire.errors import InputError
from agentweb.wire.schema.problems import Problem, make_problem, settle

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")

Path = tuple[str | int, ...]


def problems_of(detail: Any, prefix: Path = ()) -> list[Problem]:
    """A problem for each message of a ``ValidationError.detail``, nested as it may be, in the order of pointers.

    ``prefix`` is where in the input the validated value stands. What concerns no single member
    (``non_field_errors``) has the pointer of the object. Codes are DRF's own: ``required``, ``max_length``,
    ``unique`` …, and the site's.
    """
    return settle(_problems(detail, prefix))[0]


def input_error(detail: Any, prefix: Path = ()) -> InputError:
    """``invalid_input`` with these problems."""
    found, is_cut = settle(_problems(detail, prefix))
    extra: dict[str, Any] = {"truncated": True} if is_cut else {}
    return InputError(found, **extra)


def _problems(detail: Any, path: Path) -> Iterator[Problem]:
    if isinstance(detail, Mapping):
        for name, each in detail.items():
            is_whole = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from _problems(each, path if is_whole else (*path, _step(name)))
    elif isinstance(detail, (list, tuple)):
        # Messages of one value stand side by side; what stands for the items of a list is a mapping each.
        are_items = any(isinstance(each, (Mapping, list, tuple)) for each in detail)
        for position, each in enumerate(detail):
            yield from _problems(each, (*path, position) if are_items else path)
    else:
        code = getattr(detail, "code", None)
        known = code if isinstance(code, str) and _CODE.fullmatch(code) else "invalid"
        yield make_problem(path, known, str(detail))


def _step(name: Any) -> str | int:
    return name if isinstance(name, int) else str(name)
