"""A form class as the source of an action's input: its schema, and the valid form of each call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from django import forms
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.forms.forms import BaseForm
from django.forms.models import BaseModelForm
from django.utils.datastructures import MultiValueDict

from agentweb.catalog.declaring import first_paragraph
from agentweb.catalog.forms.calling import given, unknown, wanted
from agentweb.catalog.forms.data import Unfit, add_value
from agentweb.catalog.forms.fields import field_schema, is_file, is_secret
from agentweb.catalog.schema_numbers import with_safe_numbers
from agentweb.catalog.schema_sources import Source, SourceError
from agentweb.catalog.validation_errors import input_error
from agentweb.wire.errors import InputError
from agentweb.wire.schema.problems import make_problem
from agentweb.wire.strict_json import Json

_HIDDEN: Final = "…"
_SHORTEST_SECRET: Final = 4
FORM_HINT: Final = (
    "Give a form class whose __init__ wants at most request and user beside a form's own arguments. A required file "
    "cannot be sent: make a smaller form without it."
)


def form_source(form: Any) -> Source:
    """The published schema of a form class, and the conversion of an input to its ``cleaned_data``.

    The conversion leaves the valid form in ``ctx.form``, and raises InputError with everything that the form says.
    Raises SourceError for what is no form class, cannot be made here, or wants a file.
    """
    _check_class(form)
    fields = _fields(form)
    properties: dict[str, Any] = {}
    for name, field in fields.items():
        try:
            found = field_schema(name, field, _model_validators(form, name))
            if isinstance(field, forms.JSONField) and not field.required and not _takes_null(form, name):
                found = {"not": {"type": "null"}, **found}
            properties[name] = found
        except SourceError as error:
            raise SourceError(f"{form.__qualname__}.{name}: {error}") from None
    required = [name for name, field in fields.items() if field.required]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    names = wanted(form.__init__, owner=form)

    def to_python(value: Json, ctx: Any) -> dict[str, Any]:
        bound = form(data=_data(form, fields, value), files=MultiValueDict(), **given(names, ctx))
        check(bound)
        ctx.form = bound
        cleaned: dict[str, Any] = bound.cleaned_data
        return cleaned

    # Of the types only the floats matter: what costs money may be none.
    cleaned_types = {name: float for name, field in fields.items() if isinstance(field, forms.FloatField)}
    safe = with_safe_numbers(schema)
    return Source(safe, to_python, hint=TypedDict(form.__name__, cleaned_types))  # type: ignore[operator]


def description_of(form: Any) -> str:
    """The first paragraph of the form's own docstring; that of a class it inherits from is about something else."""
    return first_paragraph(form) if isinstance(form, type) and vars(form).get("__doc__") else ""


def check(form: BaseForm) -> None:
    """Raise InputError with every problem that the form has; the texts of passwords are not repeated in it."""
    if form.is_valid():
        return
    error = input_error(ValidationError(form.errors.as_data()))
    values = [form[name].value() for name, field in form.fields.items() if is_secret(field)]
    secrets = [value.strip() for value in values if isinstance(value, str)]
    for problem in error.problems or []:
        for secret in secrets:
            # One of a letter or two stands in any sentence, and leaving it out there would tell it.
            if len(secret) >= _SHORTEST_SECRET:
                problem["message"] = problem["message"].replace(secret, _HIDDEN)
    raise error


def _check_class(form: Any) -> None:
    if not (isinstance(form, type) and issubclass(form, BaseForm)):
        raise SourceError(f"{form!r} is not a form class")
    if issubclass(form, BaseModelForm) and form._meta.model is None:
        raise SourceError(f"{form.__qualname__} has no model")
    if missing := unknown(form.__init__):
        raise SourceError(
            f"{form.__qualname__}() wants {', '.join(missing)}; of a call it can be given request and user"
        )


def _base_fields(form: type[BaseForm]) -> dict[str, forms.Field]:
    """As the class declares them: what ``__init__`` changes is known only to the form of a call."""
    found: dict[str, forms.Field] = form.base_fields  # type: ignore[attr-defined]
    return found


def _fields(form: type[BaseForm]) -> dict[str, forms.Field]:
    """What an agent fills in: all but disabled fields, and files that may be left out."""
    return {
        name: field
        for name, field in _base_fields(form).items()
        if not field.disabled and not (is_file(field) and not field.required)
    }


def _takes_null(form: type[BaseForm], name: str) -> bool:
    """Whether the column of a model form's field may be empty. A JSONField that may be left blank gives None for null
    whatever its column says, which then fails where the row is written."""
    if not issubclass(form, BaseModelForm):
        return True
    try:
        return bool(getattr(form._meta.model._meta.get_field(name), "null", True))
    except FieldDoesNotExist:
        return True


def _model_validators(form: type[BaseForm], name: str) -> list[Any]:
    """What the model of a model form checks beside the form's own field."""
    if not issubclass(form, BaseModelForm):
        return []
    try:
        found: list[Any] = list(getattr(form._meta.model._meta.get_field(name), "validators", ()))
    except FieldDoesNotExist:
        return []
    return found


def _data(form: type[BaseForm], fields: Mapping[str, forms.Field], value: Any) -> MultiValueDict[str, Any]:
    """The input as form data. Raises InputError with every value that no form can hold."""
    data: MultiValueDict[str, Any] = MultiValueDict()
    problems: list[dict[str, Any]] = []
    for name, member in value.items():
        try:
            add_value(data, f"{form.prefix}-{name}" if form.prefix else name, fields[name], member)
        except Unfit as error:
            problems.append(make_problem((name,), error.code, f"'{name}' {error}."))
    if problems:
        raise InputError(problems)
    return data
