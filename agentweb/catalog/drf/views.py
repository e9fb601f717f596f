"""``action.from_view``: the views that a site has become actions, and stay the views that they are.

Each endpoint becomes one action whose handler calls the view with a fresh request. The view's own permissions,
throttles, filters, pagination and validation decide, exactly as they do over HTTP; the effect and the scope are what
agentweb adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from agentweb.catalog.actions import declare
from agentweb.catalog.drf.serializer_schemas import schema_of_serializer
from agentweb.catalog.drf.view_effects import effect_by_method, sounds_like
from agentweb.catalog.drf.view_endpoints import Endpoint, ViewError, endpoints_of
from agentweb.catalog.drf.view_evidence import needs_person, undeclared_query
from agentweb.catalog.drf.view_handlers import ViewHandler
from agentweb.catalog.drf.view_inputs import UnknownInput, ViewInput, derived, stated, takes_json
from agentweb.catalog.drf.view_texts import default_prefix, description_of
from agentweb.catalog.drf.view_words import PLURALS, ViewWords
from agentweb.catalog.faults import FaultId, fault
from agentweb.catalog.reading import Written
from agentweb.catalog.registry import registry
from agentweb.catalog.schema_shapes import nested_members
from agentweb.catalog.schema_sources import schema_of

_VIEW_HINT: Final = (
    "Give a class of Django REST framework (OrderViewSet), an @api_view function, or a view of Django."
)


def publish(view: Any, words: ViewWords) -> None:
    """Declare an action for each chosen endpoint. Faults are recorded; with a wrong choice nothing is published."""
    where = _where(view)
    words = replace(words, only=_names(words.only), exclude=_names(words.exclude))
    try:
        found = endpoints_of(view, actions=words.actions, methods=words.methods, initkwargs=words.initkwargs)
    except ViewError as error:
        registry.record(fault(FaultId.VIEW, f"It cannot be published: {error}.", _VIEW_HINT, where))
        return
    wrong = list(_misnamed(found, words))
    chosen = _chosen(found, words)
    if not wrong and not chosen:
        wrong.append(("only and exclude leave nothing of it.", "Leave them out, or correct them."))
    if not wrong and words.for_all.get("name") is not None and len(chosen) > 1:
        keys = ", ".join(each.key for each in chosen)
        wrong.append((f"name= is given for several actions: {keys}.", "Write prefix=, or names={...}."))
    for message, hint in wrong:
        registry.record(fault(FaultId.VIEW, message, hint, where))
    if wrong:
        return
    prefix = words.prefix if words.prefix is not None else default_prefix(view)
    for endpoint in chosen:
        _publish(endpoint, words, prefix)


def _publish(endpoint: Endpoint, words: ViewWords, prefix: str) -> None:
    key = endpoint.key
    name = words.word("name", key) or (prefix if endpoint.is_alone else f"{prefix}_{key}")
    effect = words.word("effect", key) or effect_by_method(endpoint)
    try:
        taken = _input(endpoint, words)
        if taken.has_body and not takes_json(endpoint):
            raise UnknownInput("agents send JSON, and none of the view's parsers takes it")
    except ValueError as error:
        registry.record(
            fault(
                FaultId.VIEW_INPUT,
                f"The input of {name!r} cannot be derived: {error}.",
                f"Say what it takes: inputs={{{key!r}: SomeSerializer}}, a type or a JSON Schema; None for nothing.",
                _where(endpoint.function or endpoint.cls),
            )
        )
        return
    _ask_for_effect(endpoint, words, str(name))
    idempotent = words.for_all.get("idempotent")
    if idempotent is None and endpoint.method == "put" and effect == "write":
        idempotent = True
    written = Written(
        name=name,
        title=words.word("title", key),
        description=words.word("description", key) or description_of(endpoint, str(name)),
        effect=effect,
        scope=words.word("scope", key),
        input=taken.schema,
        serializer=None,
        form=None,
        output=_schema(words.word("output", key), for_output=True),
        example=words.word("example", key, ...),
        method="GET" if effect == "read" and not nested_members(taken.schema) else None,
        path=None,
        cost=words.word("cost", key),
        consequential=words.for_all.get("consequential"),
        idempotent=idempotent,
        confirm=words.word("confirm", key),
        pages=words.for_all.get("pages", ()),
        tags=words.for_all.get("tags", ()),
        visible=words.for_all.get("visible"),
        rate=words.word("rate", key),
    )
    _ask_for_scope(endpoint, key, written)
    is_said = words.by_key.get("inputs", {}).get(key, words.for_all.get("input", ...)) is not ...
    _ask_for_query(endpoint, key, str(name), frozenset(taken.query.values()), is_said=is_said)
    declare(ViewHandler(endpoint, taken, words.url_kwargs), written)


def _ask_for_effect(endpoint: Endpoint, words: ViewWords, name: str) -> None:
    likely = sounds_like(endpoint, name)
    if likely is None or words.word("effect", endpoint.key) is not None:
        return
    registry.record(
        fault(
            FaultId.VIEW_EFFECT,
            f"{name!r} is published as a write, and sounds like something that is to {likely}.",
            f"Say which: effects={{{endpoint.key!r}: '{likely}'}}, or 'write' if that is all it does.",
            _where(endpoint.function),
        )
    )


def _ask_for_scope(endpoint: Endpoint, key: str, written: Written) -> None:
    """A read without a scope is sent unsigned, so the view gets nobody where it expects the person."""
    if written.effect != "read" or written.scope is not None:
        return
    why = needs_person(endpoint)
    if why is None:
        return
    registry.record(
        fault(
            FaultId.VIEW_SCOPE,
            f"The read {written.name!r} has no scope, so agents call it unsigned and stand for nobody; {why}.",
            f"Give it a scope: scopes={{{key!r}: 'notes:read'}}. If everybody gets the same answer, silence this.",
            _where(endpoint.function or endpoint.cls),
        )
    )


def _ask_for_query(
    endpoint: Endpoint, key: str, name: str, declared: frozenset[str], *, is_said: bool
) -> None:
    """Query parameters that only the code knows cannot be sent: nothing publishes them."""
    reader = None if is_said else undeclared_query(endpoint, declared)
    if reader is None:
        return
    registry.record(
        fault(
            FaultId.VIEW_QUERY,
            f"{name!r}: {reader} reads the query string by itself, and none of what it reads is published as input.",
            "Say it on the view, beside what is known: @extend_schema(parameters=[OpenApiParameter('mine', bool)]); "
            f"or say the whole input: inputs={{{key!r}: {{'type': 'object', 'properties': {{...}}}}}}.",
            _where(endpoint.function or endpoint.cls),
        )
    )


def _chosen(found: list[Endpoint], words: ViewWords) -> list[Endpoint]:
    only, exclude = set(_names(words.only)), set(_names(words.exclude))
    return [each for each in found if (not only or each.key in only) and each.key not in exclude]


def _misnamed(found: list[Endpoint], words: ViewWords) -> Iterable[tuple[str, str]]:
    """(message, hint) for each word that names an action which the view does not have: a slip could publish it."""
    keys = [each.key for each in found]
    hint = f"The view has: {', '.join(keys)}."
    given = {"only": words.only, "exclude": words.exclude, **words.by_key}
    for word, value in given.items():
        if word in PLURALS.values() and not isinstance(value, Mapping):
            yield f"{word}={value!r} is no dict.", f"Write {word}={{{keys[0]!r}: ...}}."
            continue
        for name in _names(value):
            if name not in keys:
                yield f"{word} names {name!r}, which the view does not have.", hint


def _names(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def _input(endpoint: Endpoint, words: ViewWords) -> ViewInput:
    """Raises UnknownInput, or ValueError (SourceError is one)."""
    given = words.by_key.get("inputs", {}).get(endpoint.key, words.for_all.get("input", ...))
    if given is not ...:
        return stated(endpoint, _schema(given), words.url_kwargs)
    if not endpoint.is_drf:
        raise UnknownInput("a view that is not of Django REST framework does not say what it takes")
    return derived(endpoint, words.url_kwargs)


def _schema(given: Any, *, for_output: bool = False) -> Any:
    """A schema of what the author gave: None and an empty dict say that there is nothing."""
    if given is None or given == {}:
        return None
    if for_output and not _is_serializer(given):
        return given
    return schema_of_serializer(given, for_output=for_output) if _is_serializer(given) else schema_of(given)


def _is_serializer(given: Any) -> bool:
    return hasattr(given, "to_internal_value") or hasattr(given, "child")


def _where(view: Any) -> str:
    """Where a view is: ``shop.api.OrderViewSet``."""
    cls = (
        view
        if isinstance(view, type)
        else getattr(view, "cls", None) or getattr(view, "view_class", None) or view
    )
    name = getattr(cls, "__qualname__", None) or repr(cls)
    return f"{getattr(cls, '__module__', None) or '?'}.{name}"
