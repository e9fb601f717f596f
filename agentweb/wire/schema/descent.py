"""Steps from a keyword into its subschemas.

jsonschema's ``descend`` loses the path when the subschema is ``false`` and formats the value into a message.
"""

from __future__ import annotations

from typing import Any

from agentweb.wire.schema.failures import Errors, Failure
from agentweb.wire.schema.run import current


def descend(
    validator: Any, instance: Any, schema: Any, path: str | int | None = None, *, code: str = "not_allowed"
) -> Errors:
    """The failures of ``instance``, which is at ``path`` here; ``code`` is for a schema that is ``false``."""
    if schema is False:
        yield Failure(code=code, path=() if path is None else (path,))
    elif schema is not True:
        yield from validator.descend(instance, schema, path=path)


def is_valid(validator: Any, schema: Any, instance: Any) -> bool:
    """Whether ``instance`` fits a subschema of where ``validator`` stands."""
    return next(descend(validator, instance, schema), None) is None


def referenced(validator: Any, reference: str, schema: dict[str, Any]) -> tuple[Any, Any]:
    """The schema that ``reference`` in ``schema`` leads to, and the resolver to go on with."""
    targets = current().targets
    if targets is not None:
        return targets[id(schema)], validator._resolver
    # jsonschema's own keywords look references up in the same way; there is no public door to it.
    resolved = validator._resolver.lookup(reference)
    return resolved.contents, resolved.resolver
