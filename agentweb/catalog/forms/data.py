"""An input as the data of a form: what a browser would send of it.

A text for each widget, under the widget's own names; a ticked box as ``on`` and an empty one not at all. Numbers and
dates are written so that the form reads them again whatever formats the site or the language has; where no text is
certain to be read back, the value itself is given, which Django's fields take as well.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.forms.utils import to_current_timezone
from django.utils import timezone
from django.utils.datastructures import MultiValueDict

from agentweb.catalog.type_scalars import to_datetime
from agentweb.wire import strict_json
from agentweb.wire.strict_json import Json

_LARGEST_KEY: Final = 2**63 - 1


class Unfit(ValueError):
    """A value that the schema accepts and no form or database can hold; the text says why, ``code`` is its code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def add_value(
    data: MultiValueDict[str, Any],
    name: str,
    field: forms.Field,
    value: Json,
    widget: forms.Widget | None = None,
) -> None:
    """Write one member of the input into the data of a form. Raises Unfit."""
    widget = widget or field.widget
    if value is None and not isinstance(field, forms.JSONField):
        return
    if isinstance(field, forms.ModelChoiceField):
        _check_keys(value)
    if isinstance(widget, forms.MultiWidget):
        _add_parts(data, name, field, value, widget)
    elif isinstance(field, forms.MultiValueField):
        data[name] = [
            _text(each, part) for each, part in zip(field.fields, _parts(field, value), strict=False)
        ]
    elif isinstance(field, (forms.MultipleChoiceField, forms.ModelMultipleChoiceField)):
        data.setlist(name, [_word(item) for item in _values(value)])
    elif isinstance(widget, forms.CheckboxInput):
        if value:
            data[name] = "on"
    else:
        data[name] = _text(field, value)


def _check_keys(value: Json) -> None:
    """Raises Unfit for a key that SQLite cannot even be asked for."""
    if any(isinstance(key, int) and abs(key) > _LARGEST_KEY for key in _values(value)):
        raise Unfit("invalid_choice", "is no key of a row")


def _add_parts(
    data: MultiValueDict[str, Any], name: str, field: forms.Field, value: Json, widget: forms.MultiWidget
) -> None:
    parts = (
        _parts(field, value) if isinstance(field, forms.MultiValueField) else widget.decompress(value) or []
    )
    suffixes: list[str] = widget.widgets_names  # type: ignore[attr-defined]
    fields = field.fields if isinstance(field, forms.MultiValueField) else [field] * len(widget.widgets)
    for suffix, inner, each, part in zip(suffixes, widget.widgets, fields, parts, strict=False):
        add_value(data, name + suffix, each, part, inner)


def _parts(field: forms.MultiValueField, value: Json) -> list[Any]:
    if not isinstance(field, forms.SplitDateTimeField):
        return _values(value)
    moment = to_current_timezone(_moment(value))
    return [moment.date().isoformat(), moment.time().isoformat()]


def _values(value: Json) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(field: forms.Field, value: Any) -> Any:
    match field:
        case _ if value is None and not isinstance(field, forms.JSONField):
            return None
        case forms.JSONField():
            return strict_json.dumps(value).decode()
        case forms.ChoiceField():
            return _word(value)
        case forms.IntegerField():
            return _number(value, is_localized=field.localize)
        case forms.DateTimeField():
            return _moment(value).isoformat()
        case forms.DateField():
            return _written(field, date.fromisoformat(value))
        case forms.TimeField():
            return _written(field, time.fromisoformat(value))
    return _word(value)


def _word(value: Any) -> str:
    """A scalar as Python writes it: so does a browser with the values of Django's choices."""
    if isinstance(value, (float, Decimal)) and value == int(value):
        value = int(value)  # a JSON 2.0 is the choice 2
    return value if isinstance(value, str) else str(value)


def _number(value: Any, *, is_localized: bool) -> Any:
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    # 1.500 is 1.5: JSON has one number for both, and the form counts digits.
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    # A localized field would read the point in its own language.
    return Decimal(text) if is_localized else text


def _moment(value: Any) -> datetime:
    """In ISO 8601, which every DateTimeField reads first. Raises Unfit near the ends of the calendar."""
    moment = to_datetime(value)
    try:
        moment.astimezone(UTC)
        timezone.localtime(moment)
    except OverflowError:
        raise Unfit("out_of_range", "must be a moment that exists in every time zone") from None
    return moment


def _written(field: Any, value: date | time) -> Any:
    """The value in a format of the field that tells all of it, else the value itself."""
    for form in field.input_formats:
        text = value.strftime(form)
        try:
            if field.strptime(text, form) == value:
                return text
        except (ValueError, TypeError):
            continue
    return value
