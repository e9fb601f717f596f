"""What a view's code shows of what it needs: a person, or parameters of the query that nothing declares.

Evidence, not proof: names in compiled code and the classes of permissions. Nothing is called but the site's own
``get_permissions``, as drf-spectacular does. It is good for a warning, which the site may silence.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any, Final

from django.contrib.auth.mixins import AccessMixin
from rest_framework import permissions

from agentweb.catalog.drf.view_endpoints import Endpoint, names_in
from agentweb.catalog.drf.view_schemas import look_at

_OPEN_READS: Final = (
    permissions.AllowAny,
    permissions.IsAuthenticatedOrReadOnly,
    permissions.DjangoModelPermissionsOrAnonReadOnly,
)
_FRAMEWORKS: Final = ("rest_framework.", "django.", "django_filters.")
_OWN_METHODS: Final = ("get_queryset", "filter_queryset", "get_object")
_MAX_LAYERS: Final = 20


def needs_person(endpoint: Endpoint) -> str | None:
    """Why the answer to a read seems to depend on who asks; None when nothing shows that it does."""
    closed = _closed_permission(endpoint)
    if closed is not None:
        return f"its permission {closed} is not open to everybody"
    if endpoint.cls is not None and issubclass(endpoint.cls, AccessMixin):
        return "it asks for a login"
    if _is_behind_login(endpoint.given):
        return "a decorator around it asks for a login"
    for name, code in _code_of(endpoint):
        if _reads(code, "request", "user"):
            return f"{name} reads request.user"
    return None


def undeclared_query(endpoint: Endpoint, declared: frozenset[str]) -> str | None:
    """What of the view reads the query string by itself, when nothing of what it reads is ``declared``."""
    if endpoint.method != "get":
        return None
    for name, code in _code_of(endpoint):
        if names_in(code) & {"query_params", "GET"} and not declared & _texts_in(code):
            return name
    return None


def _closed_permission(endpoint: Endpoint) -> str | None:
    if not endpoint.is_drf:
        return None
    try:
        asked = look_at(endpoint, "/").view.get_permissions()
    except Exception:  # the site's code, which may expect a request
        return None
    for each in asked:
        if isinstance(each, _OPEN_READS) and type(each).has_permission in _OPEN_CHECKS:
            continue
        if not _lets_reads_through(each):
            return type(each).__name__
    return None


_OPEN_CHECKS: Final = frozenset(each.has_permission for each in _OPEN_READS)


def _lets_reads_through(permission: Any) -> bool:
    """Whether a permission of the site's own decides by the method, or about objects only."""
    check = getattr(type(permission), "has_permission", None)
    if check is permissions.BasePermission.has_permission:
        return True
    code = getattr(check, "__code__", None)
    return code is not None and "SAFE_METHODS" in names_in(code)


def _is_behind_login(view: Any) -> bool:
    """Whether ``login_required`` or a relative of it (``user_passes_test``) stands around a view."""
    for _ in range(_MAX_LAYERS):
        code = getattr(view, "__code__", None)
        if code is not None and "test_func" in code.co_freevars:
            return True
        view = getattr(view, "__wrapped__", None)
        if view is None:
            break
    return False


def _code_of(endpoint: Endpoint) -> Iterator[tuple[str, CodeType]]:
    """The code that the site wrote for this endpoint, by the names of its functions."""
    cls: Any = endpoint.cls
    found = [endpoint.function]
    if cls is not None and endpoint.is_drf:
        found += [getattr(cls, name, None) for name in _OWN_METHODS if _is_called(endpoint, name)]
    for function in found:
        code = getattr(function, "__code__", None)
        if code is not None and not str(getattr(function, "__module__", "")).startswith(_FRAMEWORKS):
            yield getattr(function, "__name__", "it"), code


def _is_called(endpoint: Endpoint, name: str) -> bool:
    """Whether the handler comes to this method: DRF's own do, of the site's those that name it."""
    function = endpoint.function
    if str(getattr(function, "__module__", "")).startswith("rest_framework."):
        return True
    callers = {"get_queryset": ("get_queryset", "get_object", "list", "retrieve")}
    return endpoint.mentions(*callers.get(name, (name,)))


def _reads(code: CodeType, whole: str, part: str) -> bool:
    """Whether code, also of the functions inside it, reads ``whole.part`` (``self.request.user`` is one)."""
    before: Any = None
    for each in dis.get_instructions(code):
        # One instruction may load two names; the attribute is of the second.
        loaded = before[-1] if isinstance(before, tuple) and before else before
        if each.argval == part and loaded == whole and "ATTR" in each.opname:
            return True
        before = each.argval
    return any(_reads(each, whole, part) for each in code.co_consts if isinstance(each, CodeType))


def _texts_in(code: CodeType) -> frozenset[str]:
    found = {each for each in code.co_consts if isinstance(each, str)}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found |= _texts_in(each)
        elif isinstance(each, tuple):
            found |= {text for text in each if isinstance(text, str)}
    return frozenset(found)
