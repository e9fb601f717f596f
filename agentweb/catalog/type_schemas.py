"""Type hints as JSON Schema, each with the conversion from an accepted JSON value to the typed value.

Known are str, int, bool, float, Decimal, date, datetime, time, UUID, None, Any; Literal, Enum, Optional and
unions; list, tuple, set, dict and their abstract kinds; dataclasses and TypedDicts, nested and recursive; NewType,
``type`` aliases, and ``Annotated`` (see ``type_constraints``). For everything else SourceError says what it is.

Objects of inputs are closed. Of a union the first member whose schema accepts the value is taken. A class that
contains itself becomes a ``$ref`` into ``$defs``.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections import abc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from agentweb.catalog.declaring import first_paragraph, text_of
from agentweb.catalog.schema_shapes import types_of
from agentweb.catalog.type_constraints import ConstraintError, constrained
from agentweb.catalog.type_scalars import Convert, NotJson, as_json, scalar_schema
from agentweb.wire.schema import compile_schema
from agentweb.wire.schema.equality import key_of

_LISTS: Final = (list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable)
_SETS: Final = (set, abc.Set, abc.MutableSet)
_DICTS: Final = (dict, abc.Mapping, abc.MutableMapping)
_MEMBER_WORDS: Final = tuple(
    word
    for word in (
        typing.Required,
        typing.NotRequired,
        getattr(typing, "ReadOnly", None),
    )
    if word is not None
)
_ALIAS: Final = getattr(typing, "TypeAliasType", ())
_EMPTY_FACTORIES: Final = (list, dict, set, frozenset, tuple)


class SourceError(ValueError):
    """No schema can be made of what was given; the text says why."""


@dataclass(frozen=True, slots=True)
class Derived:
    """``convert`` is None when the JSON value is the typed value; ``is_hashable`` is of the typed value."""

    schema: dict[str, Any]
    convert: Convert | None = None
    is_hashable: bool = True


def derive(hint: Any, *, for_output: bool = False) -> Derived:
    """The schema and conversion of a type. Raises SourceError.

    ``for_output`` describes what is answered rather than what is accepted: a dataclass's fields are all there,
    and objects are open, so that an answer may grow.
    """
    deriver = _Deriver(for_output=for_output)
    found = deriver.of(hint)
    return dataclasses.replace(found, schema=deriver.finished(found.schema))


def is_record(hint: Any) -> bool:
    """Whether this is a dataclass or a TypedDict."""
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or _is_typed_dict(hint))


class _Deriver:
    def __init__(self, *, for_output: bool) -> None:
        self.for_output = for_output
        self.open: dict[Any, str] = {}
        self.recursive: set[str] = set()
        self.names: set[str] = set()
        self.done: dict[Any, Derived] = {}
        self.converts: dict[str, Convert | None] = {}
        self.defs: dict[str, dict[str, Any]] = {}
        self.unions: list[_Union] = []
        self.defaults: list[tuple[dict[str, Any], Any]] = []

    def finished(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The whole schema: definitions beside it, unions compiled, defaults that fit written into it."""
        for union in self.unions:
            union.compile(self.defs)
        for member, default in self.defaults:
            if compile_schema({**member, "$defs": self.defs}).is_valid(default):
                member["default"] = default
        if not self.defs:
            return schema
        reference = schema.get("$ref", "")
        if reference:
            # The outermost schema says its type and members where every reader looks for them.
            schema = {**self.defs[reference.removeprefix("#/$defs/")], **schema}
            del schema["$ref"]
        return {**schema, "$defs": self.defs}

    def of(self, hint: Any) -> Derived:
        scalar = scalar_schema(hint)
        if scalar is not None:
            return Derived(*scalar)
        if hint is Any or hint is object:
            return Derived({}, is_hashable=False)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self.annotated(arguments[0], hint.__metadata__)
        if origin in {typing.Union, types.UnionType}:
            return self.union(arguments)
        if origin is typing.Literal:
            return self.choices([(_plain(value), value) for value in arguments], str(hint))
        if _ALIAS and isinstance(hint, _ALIAS):
            return self.named(hint, hint.__name__, lambda: self.of(hint.__value__))
        if hasattr(hint, "__supertype__"):  # NewType
            return self.of(hint.__supertype__)
        if is_record(hint):
            build = self.typed_dict if _is_typed_dict(hint) else self.data_class
            return self.named(hint, hint.__name__, lambda: build(hint))
        if isinstance(hint, type) and origin is None and issubclass(hint, Enum):
            return self.choices([(_plain(member), member) for member in hint], hint.__name__)
        return self.container(hint, origin or hint, arguments)

    def container(self, hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Derived:
        if origin in _LISTS:
            return self.array(self.of(arguments[0]) if arguments else None, list, is_hashable=False)
        if origin in _SETS or origin is frozenset:
            item = self.of(arguments[0]) if arguments else Derived({}, is_hashable=False)
            if not item.is_hashable:
                raise SourceError(f"what is in {_said(hint)} cannot be in a set; write set[str], say")
            kind = frozenset if origin in {frozenset, abc.Set} else set
            made = self.array(item, kind, is_hashable=kind is frozenset)
            return dataclasses.replace(made, schema={**made.schema, "uniqueItems": True})
        if origin is tuple:
            return self.fixed(arguments, is_bare=hint is tuple)
        if origin in _DICTS:
            return self.mapping(hint, arguments)
        raise SourceError(f"{_said(hint)} has no form in JSON that is known here")

    def annotated(self, hint: Any, extras: Iterable[Any]) -> Derived:
        found = self.of(hint)
        kinds = types_of(found.schema, {"$defs": self.defs})
        try:
            return dataclasses.replace(found, schema=constrained(found.schema, extras, kinds))
        except ConstraintError as error:
            raise SourceError(f"in an Annotated {_said(hint)}, {error}") from None

    def named(self, key: Any, name: str, build: Callable[[], Derived]) -> Derived:
        """A class or alias, which may contain itself: then it is built once and referred to."""
        if key in self.done:
            return self.done[key]
        if key in self.open:
            name = self.open[key]
            self.recursive.add(name)
            # Hashable until shown otherwise; the class that contains it decides by its other members.
            return Derived({"$ref": f"#/$defs/{name}"}, lambda value: self.convert_named(name, value))
        name = self.free_name(name)
        self.open[key] = name
        try:
            made = build()
        finally:
            del self.open[key]
        if name not in self.recursive:
            self.names.discard(name)
            return made
        if not made.schema.keys() - {"$ref"}:
            raise SourceError(f"{name} says nothing but itself")
        self.defs[name] = made.schema
        self.converts[name] = made.convert
        self.done[key] = dataclasses.replace(made, schema={"$ref": f"#/$defs/{name}"})
        return self.done[key]

    def free_name(self, wanted: str) -> str:
        name, again = wanted, 2
        while name in self.names:
            name, again = f"{wanted}{again}", again + 1
        self.names.add(name)
        return name

    def convert_named(self, name: str, value: Any) -> Any:
        convert = self.converts[name]
        return value if convert is None else convert(value)

    def union(self, members: tuple[Any, ...]) -> Derived:
        found = [self.of(member) for member in members]
        is_hashable = all(member.is_hashable for member in found)
        schema = _united([member.schema for member in found])
        converts = [member.convert for member in found]
        if not any(converts):
            return Derived(schema, None, is_hashable)
        others = [member for member in found if member.schema != {"type": "null"}]
        if len(others) == 1:
            return Derived(schema, _optional(others[0].convert), is_hashable)
        union = _Union([(member.schema, member.convert) for member in found])
        self.unions.append(union)
        return Derived(schema, union.convert, is_hashable)

    def choices(self, pairs: list[tuple[Any, Any]], said: str) -> Derived:
        """An enum: (JSON value, typed value) of each choice."""
        values: dict[Any, Any] = {}
        typed: dict[Any, Any] = {}
        for value, choice in pairs:
            if not isinstance(value, (str, int, float, Decimal, types.NoneType)):
                raise SourceError(f"{said} has a choice that is not a text, number, boolean or None")
            values.setdefault(key_of(value), value)
            typed.setdefault(key_of(value), choice)
        if not values:
            raise SourceError(f"{said} has no choices")
        listed = list(values.values())
        schema: dict[str, Any] = {"const": listed[0]} if len(listed) == 1 else {"enum": listed}
        if all(isinstance(value, str) for value in listed):
            schema = {"type": "string", **schema}
            if all(type(choice) is str for choice in typed.values()):
                return Derived(schema)
        return Derived(schema, lambda value: typed[key_of(value)])

    def array(self, item: Derived | None, kind: Callable[..., Any], *, is_hashable: bool) -> Derived:
        schema: dict[str, Any] = {"type": "array"}
        if item is not None and item.schema:
            schema["items"] = item.schema
        convert = item.convert if item is not None else None
        if convert is None:
            return Derived(schema, None if kind is list else kind, is_hashable)
        each: Convert = convert
        if kind is list:
            return Derived(schema, lambda value: [each(part) for part in value], is_hashable)
        return Derived(schema, lambda value: kind([each(part) for part in value]), is_hashable)

    def fixed(self, arguments: tuple[Any, ...], *, is_bare: bool) -> Derived:
        if is_bare:
            return self.array(None, tuple, is_hashable=False)
        if len(arguments) == 2 and arguments[1] is ...:
            item = self.of(arguments[0])
            return self.array(item, tuple, is_hashable=item.is_hashable)
        found = [self.of(argument) for argument in arguments]
        schema: dict[str, Any] = {"type": "array", "maxItems": 0}
        if found:
            schema = {
                "type": "array",
                "prefixItems": [each.schema for each in found],
                "items": False,
                "minItems": len(found),
            }
        converts = [each.convert or _same for each in found]

        def convert(value: list[Any]) -> Any:
            return tuple([each(part) for each, part in zip(converts, value, strict=True)])

        return Derived(schema, convert, all(each.is_hashable for each in found))

    def mapping(self, hint: Any, arguments: tuple[Any, ...]) -> Derived:
        if not arguments:
            return Derived({"type": "object"}, is_hashable=False)
        key, value = self.of(arguments[0]), self.of(arguments[1])
        if types_of(key.schema, {"$defs": self.defs}) != {"string"}:
            raise SourceError(f"the names in {_said(hint)} are not texts")
        schema: dict[str, Any] = {"type": "object"}
        if key.schema != {"type": "string"}:
            schema["propertyNames"] = key.schema
        if value.schema:
            schema["additionalProperties"] = value.schema
        if key.convert is None and value.convert is None:
            return Derived(schema, is_hashable=False)
        name_of, value_of = key.convert or _same, value.convert or _same
        return Derived(
            schema,
            lambda members: {name_of(name): value_of(member) for name, member in members.items()},
            is_hashable=False,
        )

    def typed_dict(self, hint: Any) -> Derived:
        members: dict[str, Derived] = {}
        required: list[str] = []
        for name, member in _hints_of(hint).items():
            inner, is_required = _unwrapped(member, default=name in hint.__required_keys__)
            members[name] = self.member(hint, name, inner)
            if is_required:
                required.append(name)
        schema = self.object_schema(hint, members, required)
        converts = {name: member.convert for name, member in members.items() if member.convert is not None}
        if not converts:
            return Derived(schema, is_hashable=False)

        def convert(value: dict[str, Any]) -> dict[str, Any]:
            typed = dict(value)
            for name, each in converts.items():
                if name in typed:
                    typed[name] = each(typed[name])
            return typed

        return Derived(schema, convert, is_hashable=False)

    def data_class(self, hint: Any) -> Derived:
        fields = [field for field in dataclasses.fields(hint) if field.init or self.for_output]
        if not self.for_output:
            _check_constructor(hint, {field.name for field in fields})
        hints = _hints_of(hint)
        members: dict[str, Derived] = {}
        required: list[str] = []
        for field in fields:
            found = self.member(hint, field.name, hints[field.name])
            said = text_of(field.metadata.get("description"))
            schema = dict(found.schema) if said is None else {**found.schema, "description": said}
            members[field.name] = dataclasses.replace(found, schema=schema)
            has_default = field.default is not dataclasses.MISSING
            if self.for_output or not (has_default or field.default_factory is not dataclasses.MISSING):
                required.append(field.name)
            elif has_default:
                self.note_default(schema, field.default)
            elif field.default_factory in _EMPTY_FACTORIES:
                self.note_default(schema, field.default_factory())
        converts = {name: member.convert or _same for name, member in members.items()}

        def convert(value: dict[str, Any]) -> Any:
            return hint(**{name: converts[name](part) for name, part in value.items()})

        is_hashable = hint.__hash__ is not None and all(member.is_hashable for member in members.values())
        return Derived(self.object_schema(hint, members, required), convert, is_hashable)

    def note_default(self, schema: dict[str, Any], default: Any) -> None:
        """Written at the end, if it has a JSON form that its own schema accepts (a sloppy None does not)."""
        try:
            self.defaults.append((schema, as_json(default)))
        except NotJson:
            return

    def member(self, owner: Any, name: str, hint: Any) -> Derived:
        try:
            return self.of(hint)
        except SourceError as error:
            raise SourceError(f"{owner.__name__}.{name}: {error}") from None

    def object_schema(self, hint: Any, members: Mapping[str, Derived], required: list[str]) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object"}
        said = _documented(hint)
        if said:
            schema["description"] = said
        schema["properties"] = {name: member.schema for name, member in members.items()}
        if required:
            schema["required"] = required
        if not self.for_output:
            schema["additionalProperties"] = False
        return schema


class _Union:
    """Converts by the first member whose schema accepts the value."""

    def __init__(self, members: list[tuple[dict[str, Any], Convert | None]]) -> None:
        self.members = members
        self.branches: list[tuple[Callable[[Any], bool], Convert | None]] = []

    def compile(self, defs: Mapping[str, Any]) -> None:
        self.branches = [
            (compile_schema({**schema, "$defs": dict(defs)}).is_valid, convert)
            for schema, convert in self.members
        ]

    def convert(self, value: Any) -> Any:
        for accepts, convert in self.branches:
            if accepts(value):
                return value if convert is None else convert(value)
        return value


def _united(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """``anyOf``, or shorter where ``type`` or ``enum`` can say it."""
    distinct = [schema for place, schema in enumerate(schemas) if schema not in schemas[:place]]
    if len(distinct) == 1:
        return distinct[0]
    if {} in distinct:
        return {}
    if all(schema.keys() == {"type"} for schema in distinct):
        kinds: list[str] = []
        for schema in distinct:
            kinds += [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        return {"type": list(dict.fromkeys(kinds))}
    null = {"type": "null"}
    if len(distinct) == 2 and null in distinct:
        (other,) = (schema for schema in distinct if schema != null)
        kinds_of_other = other.get("type")
        if isinstance(kinds_of_other, str) and not other.keys() & {"enum", "const", "$ref"}:
            return {**other, "type": [kinds_of_other, "null"]}
    return {"anyOf": distinct}


def _optional(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    each: Convert = convert
    return lambda value: None if value is None else each(value)


def _same(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """The value of an Enum member, and of one whose value is one."""
    while isinstance(value, Enum):
        value = value.value
    return value


def _is_typed_dict(hint: Any) -> bool:
    # Also those of typing_extensions, which typing.is_typeddict does not know on older Pythons.
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def _hints_of(owner: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except NameError as error:
        raise SourceError(
            f"the name {error.name!r} in the hints of {owner.__qualname__} is not known in its module"
        ) from None
    except Exception as error:  # an annotation is code, and may raise anything
        raise SourceError(f"the hints of {owner.__qualname__} cannot be read: {error}") from None


def _unwrapped(hint: Any, *, default: bool) -> tuple[Any, bool]:
    """A TypedDict member's type without Required, NotRequired and ReadOnly, and whether it is required.

    ``__required_keys__`` is the default only: it is wrong where annotations are texts (PEP 563).
    """
    is_required = default
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            inner, is_required = _unwrapped(hint.__origin__, default=is_required)
            return typing.Annotated[(inner, *hint.__metadata__)], is_required
        if origin not in _MEMBER_WORDS:
            return hint, is_required
        if origin is typing.Required or origin is typing.NotRequired:
            is_required = origin is typing.Required
        (hint,) = typing.get_args(hint)


def _check_constructor(hint: Any, known: set[str]) -> None:
    """A dataclass is built from its fields; one that needs more (InitVar, an own __init__) cannot be."""
    for parameter in inspect.signature(hint).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        if parameter.name not in known and parameter.default is parameter.empty:
            raise SourceError(f"{hint.__name__} needs {parameter.name!r}, which is not one of its fields")


def _documented(hint: Any) -> str:
    """The first paragraph of the class's own docstring, not the one that dataclass writes."""
    text = hint.__dict__.get("__doc__")
    if not isinstance(text, str) or text.startswith(f"{hint.__name__}("):
        return ""
    return first_paragraph(hint)


def _said(hint: Any) -> str:
    if isinstance(hint, typing.TypeVar):
        return f"the type variable {hint.__name__}"
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
