"""Looking at a view through drf-spectacular, in private: nothing of the site's or of its settings is touched.

``look_at(endpoint)`` makes an instance of the view without a request and a schema generator for it alone. The
generator derives from what ``@extend_schema`` put on the view, where there is something, so what the author said
to drf-spectacular counts here too.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Final

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from rest_framework.generics import GenericAPIView
from rest_framework.settings import api_settings

from agentweb.catalog.drf.spectacular import without_a_trace
from agentweb.catalog.drf.view_endpoints import Endpoint

UNKNOWN: Final = object()
"""What a body is of which nothing says anything."""

_READS_INPUT: Final = ("data", "POST", "FILES", "body")
_USES_SERIALIZER: Final = (
    "get_serializer",
    "get_serializer_class",
    "serializer_class",
    "create",
    "update",
    "partial_update",
    "perform_create",
    "perform_update",
)
_MADE_BY_AS_VIEW: Final = ("name", "description", "suffix", "detail", "basename")
_STANDARD: Final = frozenset({"create", "update", "partial_update"})


@dataclass(frozen=True, slots=True)
class Look:
    """An endpoint's view without a request, and the generator that was made for it."""

    endpoint: Endpoint
    view: Any
    schema: Any

    def parameters(self) -> list[dict[str, Any]]:
        """Path, query, header and cookie parameters, as OpenAPI 3.0 has them. Raises whatever the view raises."""
        with without_a_trace():
            found: list[dict[str, Any]] = self.schema._get_parameters()
            return found

    def request_serializer(self) -> Any:
        """A serializer class or instance, None when there is no body, or UNKNOWN.

        Raises what the view raises when it cannot answer without a request.
        """
        with without_a_trace():
            found = self.schema.get_request_serializer()
        failure = self.schema.failure
        if failure is not None:
            raise failure
        return found


def look_at(endpoint: Endpoint, path: str) -> Look:
    """``path`` is a path with the URL's keyword arguments in braces. Raises what the view's ``__init__`` raises."""
    cls: Any = endpoint.cls
    view = cls(**endpoint.initkwargs)
    view.request, view.args, view.kwargs, view.format_kwarg = None, (), {}, None
    view.swagger_fake_view = True
    if endpoint.actions is not None:
        view.action_map, view.action = dict(endpoint.actions), endpoint.handler
        for name in _MADE_BY_AS_VIEW:
            if not hasattr(view, name):
                setattr(view, name, None)
    schema = _schema_class(endpoint)()
    schema.endpoint, schema.failure = endpoint, None
    # The instance is told its view by hand: as an attribute of a class it would be shared between threads.
    schema.view = view
    schema.registry, schema.method = ComponentRegistry(), endpoint.method.upper()
    schema.path, schema.path_regex, schema.path_prefix = path, path, ""
    return Look(endpoint, view, schema)


class _Private:
    """What differs from AutoSchema: evidence in the view's code counts, and a failure is kept, not swallowed."""

    endpoint: Endpoint
    failure: Exception | None
    view: Any

    def _get_serializer(self) -> Any:
        try:
            return _serializer_of(self.endpoint, self.view)
        except Exception as error:  # the site's code, which expects a request here
            self.failure = error
            return None

    def _is_list_view(self, serializer: Any = None) -> bool:
        if self.endpoint.key == "list":
            return True
        return bool(super()._is_list_view(serializer))  # type: ignore[misc]

    def get_filter_backends(self) -> list[Any]:
        found: list[Any] = super().get_filter_backends()  # type: ignore[misc]
        if not found and self._asks_for("filter_queryset"):
            return list(getattr(self.view, "filter_backends", ()))
        return found

    def _get_pagination_parameters(self) -> list[Any]:
        found: list[Any] = super()._get_pagination_parameters()  # type: ignore[misc]
        if found or not self._asks_for("paginate_queryset"):
            return found
        paginator = getattr(self.view, "paginator", None)
        return list(paginator.get_schema_operation_parameters(self.view)) if paginator is not None else []

    def _get_format_parameters(self) -> list[Any]:
        return []  # an agent gets JSON

    def _asks_for(self, name: str) -> bool:
        """Whether the author's own code calls this: ``@action`` lists are filtered and paged by hand."""
        return self.endpoint.method == "get" and self.endpoint.is_extra and self.endpoint.mentions(name)


def _schema_class(endpoint: Endpoint) -> Any:
    """AutoSchema with ``_Private`` in front, and with what ``@extend_schema`` said in between."""
    named = getattr(getattr(endpoint.cls, endpoint.handler, None), "kwargs", {}).get("schema")
    said = named or endpoint.initkwargs.get("schema") or inspect.getattr_static(endpoint.cls, "schema", None)
    base = said if isinstance(said, type) else type(said)
    if not issubclass(base, AutoSchema):
        # @extend_schema builds on the site's default, which need not be drf-spectacular's: keep what it added.
        site_default: Any = api_settings.DEFAULT_SCHEMA_CLASS
        default = site_default.__mro__
        added = tuple(
            each for each in base.__mro__ if each not in default and each.__name__ == "ExtendedSchema"
        )
        # In front of the site's default, to which what @extend_schema added would turn otherwise.
        first = type("FirstSchema", (AutoSchema, site_default), {}) if added else AutoSchema
        return type("PrivateSchema", (_Private, *added, first), {})
    return type("PrivateSchema", (_Private, base), {})


def _serializer_of(endpoint: Endpoint, view: Any) -> Any:
    """What the body of a request is made of, by what the view declares and what its code does with it."""
    if endpoint.method in {"get", "delete"}:
        return None
    # The serializer of a whole ViewSet says nothing of an @action that does not use it.
    is_used = (
        endpoint.key in _STANDARD
        or not endpoint.is_generic
        or "serializer_class" in endpoint.initkwargs
        or endpoint.mentions(*_USES_SERIALIZER)
    )
    if is_used and _declares_serializer(endpoint, view):
        return _made_by(view)
    return UNKNOWN if endpoint.mentions(*_READS_INPUT) else None


def _declares_serializer(endpoint: Endpoint, view: Any) -> bool:
    """Whether the view says by which serializer it reads."""
    if getattr(view, "serializer_class", None) is not None:
        return True
    cls: Any = endpoint.cls
    own = GenericAPIView if endpoint.is_generic else None
    return any(
        getattr(cls, name, None) is not getattr(own, name, None)
        for name in ("get_serializer", "get_serializer_class")
    )


def _made_by(view: Any) -> Any:
    """The serializer that the view would use. Raises what it raises without a request."""
    if isinstance(view, GenericAPIView) and type(view).get_serializer is not GenericAPIView.get_serializer:
        return view.get_serializer()
    if callable(getattr(view, "get_serializer_class", None)):
        made = view.get_serializer_class()
        if made is None:
            return None
        context = view.get_serializer_context() if hasattr(view, "get_serializer_context") else {}
        return made(context=context)
    if callable(getattr(view, "get_serializer", None)):
        return view.get_serializer()
    return view.serializer_class
