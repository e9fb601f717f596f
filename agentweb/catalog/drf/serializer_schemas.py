"""The JSON Schema of a DRF serializer: what it takes, or what it gives out."""

from __future__ import annotations

from typing import Any

from agentweb.catalog.schema_numbers import with_safe_numbers
from agentweb.catalog.type_schemas import SourceError


def instance_of(serializer: Any) -> Any:
    """The instance that is given, or one of the class, in the context of no call."""
    if not isinstance(serializer, type):
        return serializer
    return serializer(context={"request": None, "view": None, "ctx": None})


def schema_of_serializer(serializer: Any, *, for_output: bool = False) -> dict[str, Any]:
    """The schema of a serializer, JSON Schema 2020-12, with ``$defs`` for what is recursive or used more than once.

    ``serializer`` is a class, or an instance (``many=True``, ``partial=True``). The objects of an input are closed,
    and hold neither read-only nor hidden fields; those of an output are open, without write-only fields. No request is
    needed and no query made. Bounds beyond ±(2^53-1) are left out. drf-spectacular is imported here and not before,
    because that takes a while.

    Raises SourceError for what is no serializer, and for one of which no schema can be made.
    """
    from rest_framework.serializers import BaseSerializer  # noqa: PLC0415

    from agentweb.catalog.drf.spectacular import derived  # noqa: PLC0415

    is_class = isinstance(serializer, type)
    if not (issubclass(serializer, BaseSerializer) if is_class else isinstance(serializer, BaseSerializer)):
        raise SourceError(f"{serializer!r} is not a serializer of Django REST framework")
    name = (serializer if is_class else type(serializer)).__name__
    try:
        return with_safe_numbers(derived(instance_of(serializer), for_output=for_output))
    except SourceError:
        raise
    except Exception as error:  # a serializer is the site's code, and may raise anything
        raise SourceError(
            f"{name} cannot be read: {type(error).__name__}: {str(error).rstrip('.')}"
        ) from error
