"""drf-spectacular, asked about one serializer: what the site has overwritten there holds here too.

It is a private schema of a private view, so nothing of it reaches the site's own OpenAPI document, and the site's
SPECTACULAR_SETTINGS, which would leak between threads if they were changed, are left as they are: what depends on
them is decided here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.core.exceptions import FieldDoesNotExist
from drf_spectacular.drainage import GENERATOR_STATS, get_override, has_override
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent, force_instance, get_type_hints
from rest_framework import serializers
from rest_framework.views import APIView

from agentweb.catalog.drf import input_fields, output_fields, words
from agentweb.catalog.drf.openapi import assembled, converted, or_null
from agentweb.catalog.type_schemas import SourceError

REQUEST: Final = "request"
RESPONSE: Final = "response"

_MAX_OPEN: Final = 30
_SAID_ELSEWHERE: Final = frozenset(
    {"source", "label", "help_text", "read_only", "write_only", "required", "default", "initial", "style"}
    | {"error_messages", "allow_null", "many", "context", "data", "instance", "allow_empty"}
)
"""Arguments of a nested serializer that change nothing of what its object looks like."""

_NO_NAME: Final = re.compile(r"[^\w.-]")

_quiet: Final = threading.RLock()

Schema = dict[str, Any]


def derived(serializer: Any, *, for_output: bool) -> Schema:
    """The schema of a serializer's instance. Raises SourceError, or what the site's own code raises."""
    deriver = _Deriver(RESPONSE if for_output else REQUEST)
    with without_a_trace():
        root = deriver.of(serializer)
    return assembled(root, {**deriver.named_fields(), **deriver.components})


@contextmanager
def without_a_trace() -> Iterator[None]:
    """Print no warnings, and leave none behind: ``spectacular --fail-on-warn`` counts them."""
    stats = GENERATOR_STATS
    with _quiet:
        kept = dict(stats._warn_cache), dict(stats._error_cache)
        try:
            with stats.silence():
                yield
        finally:
            for cache, before in zip((stats._warn_cache, stats._error_cache), kept, strict=True):
                cache.clear()
                cache.update(before)


class _View(APIView):
    """Where the derivation takes place; drf-spectacular refuses a view whose schema is another."""

    schema = AutoSchema()


class _Deriver(AutoSchema):
    """One derivation. Every field comes to ``_map_serializer_field``, from here or from drf-spectacular."""

    def __init__(self, direction: str) -> None:
        super().__init__()
        self.direction = direction
        self.drop = "readOnly" if direction == REQUEST else "writeOnly"
        self.registry = ComponentRegistry()
        self.path = self.path_regex = self.path_prefix = "/"
        self.method = "POST" if direction == REQUEST else "GET"
        self.view = _View()
        self.view.request = None  # type: ignore[assignment]
        self.view.args, self.view.kwargs = (), {}
        self.components: dict[str, Schema] = {}
        self.known: dict[str, Any] = {}
        self.open = 0

    def of(self, field: Any) -> Schema:
        """The whole schema of a field or serializer in 2020-12."""
        found: Schema | None = self._map_serializer_field(field, self.direction)
        if found is None:
            raise SourceError(f"drf-spectacular leaves {_named(field)} out")
        return found

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> Any:
        if self.is_told(field, bypass_extensions):
            found = super()._map_serializer_field(field, direction, bypass_extensions)
            return None if found is None else converted(found, drop=self.drop)
        schema = self.bare(field)
        if schema is None:
            found = super()._map_serializer_field(field, direction, bypass_extensions)
            if found is None:
                return None
            schema = converted(found, drop=self.drop)
        elif field.allow_null or (self.direction == RESPONSE and _may_hold_null(field)):
            schema = or_null(schema)
        return words.described(schema, field, with_default=self.direction == REQUEST)

    def is_told(self, field: Any, bypass_extensions: bool) -> bool:
        """Whether ``@extend_schema_field`` or an extension says what the field is."""
        if has_override(field, "field"):
            return True
        return not bypass_extensions and OpenApiSerializerFieldExtension.get_match(field) is not None

    def bare(self, field: Any) -> Schema | None:
        """What a field of DRF's is, without null; None leaves it to drf-spectacular."""
        if isinstance(field, serializers.ListSerializer):
            return input_fields.sized_list({"type": "array", "items": self.of(field.child)}, field)
        if isinstance(field, serializers.BaseSerializer):
            return dict(self.resolve_serializer(field, self.direction).ref)
        if self.direction == RESPONSE:
            return output_fields.field_schema(field, self.of)
        found = input_fields.field_schema(field, self.of)
        if found is None and not isinstance(field, serializers.ModelField):
            raise SourceError(
                f"nothing says what a {type(field).__name__} takes; say it with @extend_schema_field"
            )
        return found

    def resolve_serializer(self, serializer: Any, direction: Any, bypass_extensions: bool = False) -> Any:
        """The component of a serializer: the same for one of the same class and arguments."""
        serializer = force_instance(serializer)
        for name, other in self.known.items():
            if _are_alike(serializer, other):
                return self.component(name, serializer)
        name = self.new_name(_component_name(serializer))
        self.known[name] = serializer
        self.open += 1
        if self.open > _MAX_OPEN:
            raise SourceError(f"{_named(serializer)} contains serializers without end")
        schema = self._map_serializer(serializer, direction, bypass_extensions)
        self.components[name] = converted(schema, drop=self.drop)
        self.open -= 1
        return self.component(name, serializer)

    def component(self, name: str, serializer: Any) -> ResolvedComponent:
        return ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=type(serializer))

    def named_fields(self) -> dict[str, Schema]:
        """The components that ``@extend_schema_field(..., component_name=...)`` and extensions have made."""
        found = self.registry._components.values()
        return {component.name: converted(component.schema, drop=self.drop) for component in found}

    def new_name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self.known:
            name, number = f"{wanted}{number}", number + 1
        return name

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Schema:
        if not isinstance(serializer, serializers.Serializer):
            raise SourceError(
                f"{_named(serializer)} has no fields; say what it takes with @extend_schema_serializer"
            )
        is_output = self.direction == RESPONSE
        schema: Schema = {"type": "object"}
        described = words.documented(type(serializer))
        if described:
            schema["description"] = described
        properties: dict[str, Schema] = {}
        required: list[str] = []
        excluded = get_override(serializer, "exclude_fields", [])
        for name, field in serializer.fields.items():
            if not _travels(field, is_output=is_output) or (is_output and name in excluded):
                continue
            try:
                found = self.of(field)
            except SourceError as error:
                raise SourceError(f"{type(serializer).__name__}.{name}: {error}") from None
            is_old = name in get_override(serializer, "deprecate_fields", [])
            properties[name] = {**found, "deprecated": True} if is_old else found
            if is_output or (field.required and not getattr(field.root, "partial", False)):
                required.append(name)
        schema["properties"] = properties
        if required:
            schema["required"] = required
        if not is_output:
            schema["additionalProperties"] = False
        return schema

    def _map_response_type_hint(self, method: Any) -> Any:
        """A method or property without a hint gives anything; drf-spectacular says that it gives a text."""
        if not has_override(method, "field") and not _is_hinted(method):
            return {}
        return super()._map_response_type_hint(method)

    def _postprocess_serializer_schema(self, schema: Any, serializer: Any, direction: Any) -> Any:
        return schema


def _travels(field: Any, *, is_output: bool) -> bool:
    if isinstance(field, serializers.HiddenField):
        return False
    return not field.write_only if is_output else not field.read_only


def _may_hold_null(field: Any) -> bool:
    """Whether a read-only field shows a column that may be empty; DRF does not say so of it."""
    model = getattr(getattr(field.parent, "Meta", None), "model", None)
    if not field.read_only or model is None:
        return False
    try:
        return bool(getattr(model._meta.get_field(field.source), "null", False))
    except FieldDoesNotExist:
        return False


def _is_hinted(method: Any) -> bool:
    try:
        return "return" in get_type_hints(method)
    except Exception:  # a hint is code, and may raise anything
        return False


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two instances make the same object: of one class, given the same."""
    return type(one) is type(other) and one._args == other._args and _telling(one) == _telling(other)


def _telling(serializer: Any) -> dict[str, Any]:
    found = {name: value for name, value in serializer._kwargs.items() if name not in _SAID_ELSEWHERE}
    return {**found, "partial": getattr(serializer.root, "partial", False)}


def _component_name(serializer: Any) -> str:
    """As drf-spectacular names it, but without the words for directions, which depend on the site's settings."""
    told = get_override(serializer, "component_name") or getattr(
        getattr(serializer, "Meta", None), "ref_name", None
    )
    name = str(told or type(serializer).__name__)
    return _NO_NAME.sub("_", name.removesuffix("Serializer") or name)


def _named(field: Any) -> str:
    return type(field).__name__
