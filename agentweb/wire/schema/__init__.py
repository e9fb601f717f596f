"""JSON Schema 2020-12, hardened: compile once, list every problem, prepare values for handlers.

The validator is jsonschema's, with the guards of the ``schema_*`` modules: no retrieval, ECMA-262 patterns
under a time limit, hashed ``uniqueItems``, asserted formats, exact decimals, limits on depth, size and work,
and messages that never hold a value of the instance.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import Any, Final

from referencing import Registry

from agentweb.wire.errors import InputError
from agentweb.wire.schema.coercion import coerce_strings, coerce_text
from agentweb.wire.schema.examples import NO_EXAMPLE, find_example
from agentweb.wire.schema.fast import NotSure, compile_fast
from agentweb.wire.schema.guard import Survey, guard_problem, survey
from agentweb.wire.schema.keywords import HardenedValidator, failures_of
from agentweb.wire.schema.loading import SchemaError, copy_schema, load
from agentweb.wire.schema.prepare import compile_prepare
from agentweb.wire.schema.problems import Problem, list_problems, make_problem
from agentweb.wire.schema.run import LimitExceeded, Run, limited
from agentweb.wire.schema.rust import compile_rust

__all__ = ["NO_EXAMPLE", "CompiledSchema", "SchemaError", "compile_schema", "example_from"]

OWN_SECONDS: Final = 2.0
FOREIGN_SECONDS: Final = 1.0
"""Processor time that one validation may take, with our own schemas and with those of other sites."""

_MAX_FAILURES: Final = 1_000
_CACHE_SIZE: Final = 1_024
_CACHE_CHARACTERS: Final = 4_000_000
"""Of all schemas that are kept: those of others are up to 100,000 each, and a compiled one takes many times more."""


class CompiledSchema:
    """A checked schema and everything made from it once. Share it freely between threads."""

    def __init__(self, copied: Any, *, foreign: bool = False, accelerate: bool = True) -> None:
        self._loaded = load(copied, foreign=foreign)
        self._foreign = foreign
        self._validator = HardenedValidator(self._loaded.schema, registry=Registry())
        # A foreign schema is always walked under its time limit.
        quick = accelerate and not foreign
        self._rust = compile_rust(self._loaded) if quick else None
        self._fast = compile_fast(self._loaded) if quick else None
        self._prepare = compile_prepare(self._loaded, self._fits)

    def is_valid(self, instance: Any) -> bool:
        """Whether there are no problems."""
        return not self.problems(instance)[0]

    def problems(self, instance: Any, also: Iterable[Problem] = ()) -> tuple[list[Problem], bool]:
        """Every problem, sorted by pointer and code, at most 100; and whether some were left out.

        ``also`` are problems found earlier (by ``coerce_strings``, say); at their pointers they stand alone.

        A value nested deeper than 64, with more than 100,000 nodes, or with a number that is not finite is
        one problem (``too_deep``, ``too_large``, ``number_out_of_range``) and is not looked at further; so
        is one that takes too much work (``too_complex``).
        """
        earlier = list(also)
        found = survey(instance)
        if not earlier and self._is_surely_valid(instance, found):
            return [], False
        refused = guard_problem(instance, found)
        if refused is not None:
            return [refused], False
        try:
            with limited(self._run()):
                failures = failures_of(self._validator, instance, _MAX_FAILURES)
        except LimitExceeded:
            return [_too_complex()], False
        problems, truncated = list_problems(failures, earlier)
        return problems, truncated or len(failures) == _MAX_FAILURES

    def check(self, instance: Any, *, also: Iterable[Problem] = (), **extra: Any) -> None:
        """Raise InputError with every problem, if there is one. ``extra`` becomes members of the error."""
        problems, truncated = self.problems(instance, also)
        if problems:
            if truncated:
                extra["truncated"] = True
            raise InputError(problems, **extra)

    def prepare(self, instance: Any) -> Any:
        """A valid ``instance`` with int at every ``integer`` and Decimal at every ``number`` position."""
        if self._prepare is None:
            return instance
        try:
            with limited(self._run()):
                return self._prepare(instance)
        except LimitExceeded:
            raise InputError([_too_complex()]) from None

    def coerce_strings(self, pairs: list[tuple[str, str]]) -> tuple[dict[str, Any], list[Problem]]:
        """Query-string names and texts as the input object they stand for, and the problems met.

        Pass the problems on to ``check(instance, also=problems)`` so that all are reported at once.
        """
        return coerce_strings(self._loaded, pairs)

    def coerce_text(self, text: str) -> tuple[Any, list[Problem]]:
        """The same for an input that is itself a scalar: the value that its text stands for."""
        return coerce_text(self._loaded, text)

    def example(self) -> Any:
        """The smallest valid example that could be made, or NO_EXAMPLE."""
        try:
            with limited(self._run()):
                return find_example(self._loaded, self._fits)
        except LimitExceeded:
            return NO_EXAMPLE

    def _is_surely_valid(self, instance: Any, found: Survey) -> bool:
        """Whether a shortcut says yes. A no is left to the validator, which words the problems."""
        if found is Survey.PLAIN and self._rust is not None and self._rust(instance):
            return True
        if self._fast is None or (found is not Survey.PLAIN and found is not Survey.NUMERIC):
            return False
        try:
            return self._fast(instance)
        except NotSure:
            return False

    def _fits(self, subschema: Any, instance: Any) -> bool:
        """Whether ``instance`` is valid against a part of this schema. Inside ``limited`` only."""
        return not failures_of(self._validator.evolve(schema=subschema), instance, 1)

    def _run(self) -> Run:
        seconds = FOREIGN_SECONDS if self._foreign else OWN_SECONDS
        return Run(seconds, self._loaded.targets if self._loaded.is_static else None)


def _too_complex() -> Problem:
    return make_problem((), "too_complex", "Checking this input takes too much work; send less, or flatter.")


_cache: OrderedDict[tuple[str, bool, bool], CompiledSchema] = OrderedDict()
_cache_lock = Lock()


def compile_schema(
    schema: dict[str, Any] | bool, *, foreign: bool = False, accelerate: bool = True
) -> CompiledSchema:
    """The compiled schema; equal schemas share one. Raises SchemaError, which lists what is wrong.

    ``foreign`` is for schemas of other sites and adds limits on size, patterns and time. ``accelerate=False``
    leaves out every shortcut, for comparison.
    """
    copied = copy_schema(schema, foreign=foreign)
    # The text of a copy tells every two schemas apart, Decimal("1.5") and "1.5" too.
    key = (repr(copied), foreign, accelerate)
    with _cache_lock:
        known = _cache.get(key)
        if known is not None:
            _cache.move_to_end(key)
            return known
    try:
        compiled = CompiledSchema(copied, foreign=foreign, accelerate=accelerate)
    except RecursionError:
        message = "The schema's references lead through too many levels."
        raise SchemaError([make_problem((), "too_deep", message)]) from None
    with _cache_lock:
        _cache[key] = compiled
        size = sum(len(text) for text, _, _ in _cache)
        while len(_cache) > 1 and (len(_cache) > _CACHE_SIZE or size > _CACHE_CHARACTERS):
            (text, _, _), _ = _cache.popitem(last=False)
            size -= len(text)
    return compiled


def example_from(schema: dict[str, Any] | bool) -> Any:
    """The smallest valid example of ``schema``, always the same one, or NO_EXAMPLE. Raises SchemaError."""
    return compile_schema(schema).example()
