"""What a view answers: one ``Endpoint`` for each method of it that an agent could call.

===================================== ======================================================= =====================
view                                  endpoints                                               named
===================================== ======================================================= =====================
a ViewSet class                       ``list`` ``retrieve`` ``create`` ``update``             ``<prefix>_<handler>``
                                      ``partial_update`` ``destroy`` that it has, and every
                                      ``@action`` with its further methods
what its ``as_view({...})`` made      the methods of that map                                 ``<prefix>_<handler>``
a generic view                        its methods, named by what they do                      ``<prefix>_list`` …
an APIView, ``@api_view``, Django's   its methods                                             ``<prefix>_get`` …
own class-based view
a function                            the methods that are given                              ``<prefix>_get`` …
===================================== ======================================================= =====================

Nothing is called and nothing is changed here: a view is only looked at.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final

from django.views import View
from rest_framework import mixins
from rest_framework.generics import GenericAPIView
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

METHODS: Final = ("get", "post", "put", "patch", "delete")
"""What an agent may call. HEAD is GET without the answer, OPTIONS speaks about the view and not of the site."""

_VIEWSET: Final = (
    ("get", "list", False),
    ("post", "create", False),
    ("get", "retrieve", True),
    ("put", "update", True),
    ("patch", "partial_update", True),
    ("delete", "destroy", True),
)
"""What DRF's routers bind: method, handler, whether of one object."""

_GENERIC: Final[dict[str, tuple[tuple[type, str], ...]]] = {
    "get": ((mixins.ListModelMixin, "list"), (mixins.RetrieveModelMixin, "retrieve")),
    "post": ((mixins.CreateModelMixin, "create"),),
    "put": ((mixins.UpdateModelMixin, "update"),),
    "patch": ((mixins.UpdateModelMixin, "partial_update"),),
    "delete": ((mixins.DestroyModelMixin, "destroy"),),
}
_OF_ONE_OBJECT: Final = frozenset({"retrieve", "update", "partial_update", "destroy"})
_GROUP: Final = re.compile(r"\(\?P<(?P<name>\w+)>(?P<regex>(?:[^()]|\([^()]*\))*)\)")
_CONVERTER: Final = re.compile(r"<(?:(?P<converter>\w+):)?(?P<name>\w+)>")
_HINTS: Final = {"int": "int", "UUID": "uuid", "uuid.UUID": "uuid"}
_DIGITS: Final = frozenset({r"\d+", r"[0-9]+", r"\d*", r"\d{1,}"})


class ViewError(ValueError):
    """What was given cannot be published as a view; the text says why."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A keyword argument of the URL: the converter or regular expression that says what it looks like, or ""."""

    looks: str = ""
    is_required: bool = True

    @property
    def is_digits(self) -> bool:
        """Whether digits are let through and nothing else."""
        return self.looks == "int" or self.looks in _DIGITS


Parameters = dict[str, Parameter]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Endpoint:
    """One method of one view.

    ``key`` names it in the author's dicts (``destroy``); ``method`` is lower-case; ``handler`` the name of the
    view's method that answers. ``cls`` is None for a plain function. ``given`` is the callable view that the author
    passed, None when a class was passed. ``parameters`` are the URL's keyword arguments that can be told from the
    view.
    """

    key: str
    method: str
    handler: str
    cls: type | None
    given: Callable[..., Any] | None = None
    actions: Mapping[str, str] | None = None
    initkwargs: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    is_alone: bool = False
    is_extra: bool = False

    @property
    def function(self) -> Any:
        """The function that does the work, without its decorators when they say what they wrap."""
        found = self.given if self.cls is None else _handler_of(self.cls, self.handler)
        return inspect.unwrap(found) if callable(found) else found

    @property
    def is_drf(self) -> bool:
        return self.cls is not None and issubclass(self.cls, APIView)

    @property
    def is_generic(self) -> bool:
        return self.cls is not None and issubclass(self.cls, GenericAPIView)

    def mentions(self, *names: str) -> bool:
        """Whether the code of the function uses one of these names; True for a function that cannot be read."""
        code = getattr(self.function, "__code__", None)
        return code is None or not names_in(code).isdisjoint(names)


def endpoints_of(
    view: Any,
    *,
    actions: Mapping[str, str] | None = None,
    methods: Iterable[str] = (),
    initkwargs: Mapping[str, Any] | None = None,
) -> list[Endpoint]:
    """All endpoints, in a fixed order. Raises ViewError.

    ``actions`` is what ``as_view`` of a ViewSet takes, ``methods`` what a plain function answers.
    """
    given = None if isinstance(view, type) else view
    if given is not None and not callable(given):
        raise ViewError(f"{view!r} is not a view")
    cls = view if given is None else getattr(given, "cls", None) or getattr(given, "view_class", None)
    if cls is None:
        return _of_function(given, methods)
    made_with = getattr(given, "initkwargs", None) or getattr(given, "view_initkwargs", None) or {}
    own = {**made_with, **(initkwargs or {})}
    if not isinstance(cls, type) or not issubclass(cls, View):
        raise ViewError(f"{_name(view)} is neither a view of DRF nor one of Django")
    unknown = [name for name in initkwargs or {} if not hasattr(cls, name)]
    if unknown:
        raise ViewError(f"{_name(view)} takes no {', '.join(unknown)} in as_view()")
    if issubclass(cls, ViewSetMixin):
        mapped = actions if actions is not None else getattr(given, "actions", None)
        found = _of_map(cls, mapped) if mapped is not None else _of_viewset(cls)
    else:
        found = _of_class(cls)
    allowed = {name.lower() for name in own.get("http_method_names", cls.http_method_names)}
    found = [each for each in found if each["method"] in allowed]
    if not found:
        raise ViewError(f"{_name(view)} answers none of {', '.join(METHODS).upper()}")
    alone = len(found) == 1 and not issubclass(cls, ViewSetMixin)
    return [
        Endpoint(
            **{**each, "initkwargs": {**each.get("initkwargs", {}), **own}},
            cls=cls,
            given=given,
            is_alone=alone,
        )
        for each in found
    ]


def _of_viewset(cls: type) -> list[dict[str, Any]]:
    """What the routers of DRF would bind."""
    found: list[dict[str, Any]] = []
    for method, handler, is_detail in _VIEWSET:
        if callable(getattr(cls, handler, None)):
            names = _named_parameters(getattr(cls, handler), skip=2)
            names |= _lookup(cls) if is_detail else {}
            found.append(_bound(method, handler, handler, names, {"detail": is_detail}))
    for extra in cls.get_extra_actions():  # type: ignore[attr-defined]
        found += _of_extra(cls, extra)
    return found


def _of_extra(cls: type, extra: Any) -> list[dict[str, Any]]:
    """One ``@action``. Where one method of the class answers several HTTP methods, these are part of the key."""
    names = {
        **_named_parameters(extra, skip=2),
        **(_lookup(cls) if extra.detail else {}),
        **_groups_in(extra.url_path),
    }
    handlers = list(extra.mapping.values())
    return [
        {
            **_bound(
                method,
                handler,
                handler if handlers.count(handler) == 1 else f"{handler}_{method}",
                names,
                {"detail": extra.detail, **extra.kwargs},
            ),
            "actions": dict(extra.mapping),
            "is_extra": True,
        }
        for method, handler in extra.mapping.items()
        if method in METHODS
    ]


def _of_map(cls: type, mapped: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the author's own ``as_view({...})`` binds."""
    found = []
    handlers = list(mapped.values())
    for method, handler in mapped.items():
        function = getattr(cls, handler, None)
        if not callable(function):
            raise ViewError(f"{cls.__name__} has no method {handler!r}")
        extra = function if hasattr(function, "mapping") and hasattr(function, "url_path") else None
        if method.lower() not in METHODS:
            continue
        is_detail = handler in _OF_ONE_OBJECT if extra is None else extra.detail
        names = {**_named_parameters(function, skip=2), **(_lookup(cls) if is_detail else {})}
        if extra is not None:
            names |= _groups_in(extra.url_path)
        key = handler if handlers.count(handler) == 1 else f"{handler}_{method.lower()}"
        found.append(
            {
                **_bound(method.lower(), handler, key, names, dict(extra.kwargs) if extra else {}),
                "actions": {each.lower(): name for each, name in mapped.items()},
                "is_extra": handler not in {name for _, name, _ in _VIEWSET},
            }
        )
    return found


def _of_class(cls: type) -> list[dict[str, Any]]:
    """The methods of a view that is no ViewSet."""
    found = []
    for method in METHODS:
        function = _handler_of(cls, method)
        if not callable(function):
            continue
        does = next((name for mixin, name in _GENERIC[method] if issubclass(cls, mixin)), None)
        is_method = function is getattr(cls, method)
        names = _named_parameters(function, skip=2 if is_method else 1)
        if does in _OF_ONE_OBJECT:
            names |= _lookup(cls)
        found.append(
            {
                "key": does or method,
                "method": method,
                "handler": method,
                "parameters": names,
                "is_extra": not does,
            }
        )
    return found


def _of_function(function: Any, methods: Iterable[str]) -> list[Endpoint]:
    chosen = [str(method).lower() for method in ([methods] if isinstance(methods, str) else methods)] or [
        "get"
    ]
    unknown = [method for method in chosen if method not in METHODS]
    if unknown:
        raise ViewError(f"{', '.join(unknown)} is no method; write one of {', '.join(METHODS).upper()}")
    names = _named_parameters(function, skip=1)
    return [
        Endpoint(
            key=method,
            method=method,
            handler=method,
            cls=None,
            given=function,
            parameters=names,
            is_alone=len(chosen) == 1,
            is_extra=True,
        )
        for method in chosen
    ]


def _bound(
    method: str, handler: str, key: str, parameters: Parameters, initkwargs: dict[str, Any]
) -> dict[str, Any]:
    return {
        "method": method,
        "handler": handler,
        "key": key,
        "parameters": parameters,
        "initkwargs": initkwargs,
        "actions": {method: handler},
    }


def _handler_of(cls: type, name: str) -> Any:
    """The method of a class; for the class that ``@api_view`` makes, the function that was decorated."""
    found = getattr(cls, name, None)
    if getattr(found, "__qualname__", "") != "api_view.<locals>.decorator.<locals>.handler":
        return found
    inner = [cell.cell_contents for cell in found.__closure__ or ()]  # type: ignore[union-attr]
    return inner[0] if len(inner) == 1 and callable(inner[0]) else found


def _lookup(cls: Any) -> Parameters:
    """The keyword argument by which a view finds its object, as DRF's routers name it."""
    name = getattr(cls, "lookup_url_kwarg", None) or getattr(cls, "lookup_field", "pk")
    looks = getattr(cls, "lookup_value_converter", None) or getattr(cls, "lookup_value_regex", None)
    return {str(name): Parameter(str(looks or ""))}


def _groups_in(url_path: str) -> Parameters:
    """The keyword arguments that a route of an ``@action`` captures."""
    found = {match["name"]: Parameter(match["regex"]) for match in _GROUP.finditer(url_path)}
    rest = _GROUP.sub("", url_path)
    return found | {match["name"]: Parameter(match["converter"] or "") for match in _CONVERTER.finditer(rest)}


def _named_parameters(function: Any, *, skip: int) -> Parameters:
    """The parameters behind ``request`` that a function names, with what their hints say."""
    try:
        parameters = list(inspect.signature(inspect.unwrap(function)).parameters.values())[skip:]
    except (TypeError, ValueError):
        return {}
    return {
        each.name: Parameter(
            _HINTS.get(getattr(each.annotation, "__name__", str(each.annotation)), ""),
            each.default is each.empty,
        )
        for each in parameters
        # ``format`` is how DRF passes the suffix of a URL, ``.json``.
        if each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY} and each.name != "format"
    }


def names_in(code: CodeType) -> frozenset[str]:
    """Every name that compiled code uses, also inside the functions that it makes."""
    found = set(code.co_names) | set(code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= names_in(constant)
    return frozenset(found)


def _name(view: Any) -> str:
    return str(getattr(view, "__name__", type(view).__name__))
