"""What a page shows to one person: the state function is called, and its answer made plain JSON without secrets.

Models, querysets and forms are converted here, beside what an action's result may hold. Whatever cannot be sent is
the site's mistake: ``state_error`` for the caller, without a word of the data, and the reason in the site's log.
"""

from __future__ import annotations

import inspect
import logging
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final

from asgiref.sync import async_to_sync
from django import forms
from django.contrib.auth.forms import ReadOnlyPasswordHashWidget
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.db.models.fields.files import FieldFile
from django.http import Http404

from agentweb import conf
from agentweb.aip.bridge.live import NOT_OPEN, Live
from agentweb.aip.query_columns import is_secret_by_type, secret_columns
from agentweb.catalog.pages import Page
from agentweb.http.page_context import PageContext
from agentweb.invoke.handlers import awaited
from agentweb.invoke.redaction import redact
from agentweb.invoke.results import ResultError, listed, plain
from agentweb.wire.errors import AgentError, Code, RequestError, ServerError
from agentweb.wire.json_values import check_value
from agentweb.wire.json_writing import dumps
from agentweb.wire.visible import text_of

logger = logging.getLogger("agentweb.aip")

MAX_ROWS: Final = 10_000
"""Rows of one queryset; a page that shows more shows them in pages."""
MAX_PARTS: Final = 90_000
"""Values in one state; the manifest around it has parts of its own, and no more than 100,000 together."""
MAX_TOLD: Final = 10_000

_told: Final[set[tuple[str, str, str]]] = set()


def state_of(
    page: Page, context: PageContext, *, request_id: str, browser: Live = NOT_OPEN
) -> dict[str, Any]:
    """The state of the page for this caller, with what the open page in a browser added: a plain object.

    Raises not_found when the state function says that there is no such page, an AgentError (4xx) that it raised, and
    state_error. Of what the browser added, what does not fit is left out.
    """
    label = f"the page {page.path} ({request_id})"
    removed: list[str] = []
    try:
        shown = {} if page.state is None else _called(page, context)
        state = _object(plain({} if shown is None else shown, partial(_converted, removed)))
        check_value({"state": state}, max_nodes=MAX_PARTS)
        redacted, named = redact(state)
        state = _object(redacted)
        size, limit = len(dumps(state)), conf.get("PAGE_STATE_BYTES")
        if size > limit:
            raise ResultError(f"it has {size} bytes as JSON; AGENTWEB['PAGE_STATE_BYTES'] is {limit}")
    except (Http404, PermissionDenied):
        raise RequestError(Code.NOT_FOUND, "Nothing is here.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # SystemExit too: what ends a program is no answer to a request, and the server goes on.
        if isinstance(error, AgentError) and error.status < 500:
            raise
        logger.error(
            "The state of %s, %s, cannot be sent: %s",
            label,
            page.where,
            text_of(error),
            exc_info=error,
        )
        raise ServerError(
            Code.STATE_ERROR,
            "The page could not say what it shows; nothing is known to be wrong with the request. Its actions can be "
            "called all the same. Report the request id.",
        ) from None
    _tell(page, "had secrets; removed", [*removed, *named])
    return _with_browser(page, state, browser, limit) if browser.state else state


def _called(page: Page, context: PageContext) -> Any:
    assert page.state is not None  # noqa: S101 - the caller looked
    shown = page.state(context)
    return async_to_sync(awaited)(shown) if inspect.isawaitable(shown) else shown


def _object(state: Any) -> dict[str, Any]:
    if not isinstance(state, dict):
        raise ResultError(f"it is a {type(state).__name__}, and not an object of named members")
    return state


def _with_browser(page: Page, state: dict[str, Any], browser: Live, limit: int) -> dict[str, Any]:
    """The state with what the browser added, as far as there is room.

    Where both name a thing, the site's own word stands: what a browser says could be made up by whatever runs in it,
    and an agent may act on the state.
    """
    added, named = redact(dict(browser.state))
    merged, left_out = dict(state), []
    room, parts = limit - len(dumps(state)), MAX_PARTS - _parts_of(state)
    for name, value in added.items():
        if name in state:
            continue
        try:
            check_value({"state": {name: value}})
            # The braces stand there already; a comma before every member but the first does not.
            size, count = len(dumps({name: value})) - 2 + bool(merged), 1 + _parts_of(value)
        except ValueError:
            size = count = max(limit, MAX_PARTS) + 1
        if size <= room and count <= parts:
            merged[name] = value
            room, parts = room - size, parts - count
        else:
            left_out.append(name)
    _tell(page, "had secrets; removed", named)
    _tell(page, "had no room for what the browser published; left out", left_out)
    return merged


def _parts_of(value: Any) -> int:
    """How many values are in a value, at any depth."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return len(inner) + sum(_parts_of(each) for each in inner if isinstance(each, (dict, list)))


def _tell(page: Page, what: str, names: list[str]) -> None:
    """Once for each page and name in a process: the same state is read every few seconds."""
    new = sorted({name for name in names if (page.path, what, name) not in _told})
    if not new:
        return
    if len(_told) >= MAX_TOLD:
        _told.clear()
    _told.update((page.path, what, name) for name in new)
    logger.warning("The state of the page %s (%s) %s: %s", page.path, page.where, what, listed(new))


def _converted(removed: list[str], value: Any) -> Any:
    """One step from what Django has for a page to plain JSON; ``removed`` gets the names of columns of secrets.

    Raises ResultError for anything else.
    """
    if isinstance(value, Model):
        return _row(value)
    if isinstance(value, QuerySet):
        return _rows(value, removed)
    if isinstance(value, forms.BaseForm):
        return _form(value)
    if isinstance(value, FieldFile):
        return value.name or None
    raise ResultError(f"a {type(value).__module__}.{type(value).__qualname__} cannot be sent")


def _rows(queryset: QuerySet[Any], removed: list[str]) -> list[Any]:
    secrets = [name for name, is_secret in secret_columns(queryset) if is_secret]
    rows = list(islice(queryset[: MAX_ROWS + 1], MAX_ROWS + 1))
    if len(rows) > MAX_ROWS:
        raise ResultError(f"a queryset has more than {MAX_ROWS} rows")
    if not secrets:
        return rows
    if not all(isinstance(row, dict) for row in rows):
        # Without its place the others would mean something else.
        raise ResultError(
            f"values_list() takes {listed(secrets)} from a secret; use values(), which leaves it out"
        )
    removed += secrets
    return [{name: value for name, value in row.items() if name not in secrets} for row in rows]


def _row(row: Model) -> dict[str, Any]:
    """The row's own columns by name, a foreign key as ``<name>_id``. What was not loaded is left out, not fetched."""
    absent = row.get_deferred_fields()
    return {name: getattr(row, name) for name in _shown_columns(type(row)) if name not in absent}


@lru_cache(maxsize=1_024)
def _shown_columns(model: type[Model]) -> tuple[str, ...]:
    """Names of all columns but those that are secret whatever their names are; of names, ``redact`` is the judge."""
    return tuple(each.attname for each in model._meta.concrete_fields if not is_secret_by_type(each))


def _form(form: forms.BaseForm) -> dict[str, Any]:
    """What the fields of a form hold, those for passwords aside."""
    return {name: form[name].value() for name, each in form.fields.items() if not _asks_for_password(each)}


def _asks_for_password(field: forms.Field) -> bool:
    widgets = (field.widget, *getattr(field.widget, "widgets", ()))
    kinds = (forms.PasswordInput, ReadOnlyPasswordHashWidget)
    return any(isinstance(widget, kinds) for widget in widgets)
