"""What a page shows to one person: the state function is called, and its answer made plain JSON without secrets.

Models, querysets and forms are converted here, beside what an action's result may hold. Whatever cannot be sent is
the site's mistake: ``state_error`` for the caller, without a word of the data, and the reason in the site's log.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import async_to_sync
from django import forms
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.db.models.fields.files import FieldFile
from django.http import Http404

from agentweb import conf
from agentweb.access.callers import Caller
from agentweb.aip.bridge.live import NOT_OPEN, Live
from agentweb.catalog.pages import Page
from agentweb.invoke.redaction import redact
from agentweb.invoke.results import ResultError, plain
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError, Code, RequestError, ServerError
from agentweb.wire.json_values import check_value
from agentweb.wire.json_writing import dumps

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.http import HttpRequest

logger = logging.getLogger("agentweb.aip")

MAX_ROWS: Final = 10_000
"""Rows of one queryset; a page that shows more shows them in pages."""
MAX_TOLD: Final = 10_000

_told: Final[set[tuple[str, str]]] = set()


@dataclass(frozen=True, slots=True)
class PageContext:
    """A page, as its ``state`` and ``markdown`` functions see it: who looks, and at which URL.

    ``user`` is the person for whom the caller acts, AnonymousUser when there is none. ``kwargs`` are the parameters
    of the page's path, converted as in ``urls.py``.
    """

    caller: Caller
    request: HttpRequest
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def user(self) -> AbstractBaseUser | AnonymousUser:
        return self.caller.user

    @property
    def now(self) -> datetime:
        """The current time in UTC, from the same clock as every rule of a call."""
        return now_datetime()


def state_of(
    page: Page, context: PageContext, *, request_id: str, browser: Live = NOT_OPEN
) -> dict[str, Any]:
    """The state of the page for this caller, with what the open page in a browser added: a plain object.

    Raises not_found when the state function says that there is no such page, an AgentError (4xx) that it raised, and
    state_error.
    """
    label = f"the page {page.path} ({request_id})"
    try:
        shown = {} if page.state is None else _called(page, context)
        state = _object(plain({} if shown is None else shown, _converted))
        state = _merged(state, browser)
        check_value({"state": state})
        redacted, removed = redact(state)
        state = _object(redacted)
        size, limit = len(dumps(state)), conf.get("PAGE_STATE_BYTES")
        if size > limit:
            raise ResultError(f"it has {size} bytes as JSON; AGENTWEB['PAGE_STATE_BYTES'] is {limit}")
    except (Http404, PermissionDenied):
        raise RequestError(Code.NOT_FOUND, "Nothing is here.") from None
    except Exception as error:
        if isinstance(error, AgentError) and error.status < 500:
            raise
        logger.error("The state of %s, %s, cannot be sent: %s", label, page.where, error, exc_info=error)
        raise ServerError(
            Code.STATE_ERROR,
            "The page could not say what it shows; nothing is known to be wrong with the request. Its actions can be "
            "called all the same. Report the request id.",
        ) from None
    _tell(page, removed)
    return state


def _called(page: Page, context: PageContext) -> Any:
    assert page.state is not None  # noqa: S101 - the caller looked
    shown = page.state(context)
    return async_to_sync(_awaited)(shown) if inspect.isawaitable(shown) else shown


async def _awaited(shown: Awaitable[Any]) -> Any:
    return await shown


def _object(state: Any) -> dict[str, Any]:
    if not isinstance(state, dict):
        raise ResultError(f"it is a {type(state).__name__}, and not an object of named members")
    return state


def _merged(state: dict[str, Any], browser: Live) -> dict[str, Any]:
    """The state with what the browser added; where both name a thing, the site's own word stands.

    What a browser says could be made up by whatever runs in it, and an agent may act on the state.
    """
    return {**state, **{name: value for name, value in browser.state.items() if name not in state}}


def _tell(page: Page, removed: list[str]) -> None:
    """Once for each page and name in a process: the same state is read every few seconds."""
    new = sorted({name for name in removed if (page.path, name) not in _told})
    if not new:
        return
    if len(_told) >= MAX_TOLD:
        _told.clear()
    _told.update((page.path, name) for name in new)
    logger.warning(
        "The state of the page %s (%s) had members named like secrets; removed: %s",
        page.path,
        page.where,
        ", ".join(new),
    )


def _converted(value: Any) -> Any:
    """One step from what Django has for a page to plain JSON. Raises ResultError for anything else."""
    if isinstance(value, Model):
        return _row(value)
    if isinstance(value, QuerySet):
        return _rows(value)
    if isinstance(value, forms.BaseForm):
        return _form(value)
    if isinstance(value, FieldFile):
        return value.name or None
    raise ResultError(f"a {type(value).__module__}.{type(value).__qualname__} cannot be sent")


def _rows(queryset: QuerySet[Any]) -> list[Any]:
    rows = list(islice(queryset[: MAX_ROWS + 1], MAX_ROWS + 1))
    if len(rows) > MAX_ROWS:
        raise ResultError(f"a queryset has more than {MAX_ROWS} rows")
    return rows


def _row(row: Model) -> dict[str, Any]:
    """The row's own columns by name, a foreign key as ``<name>_id``. What was not loaded is left out, not fetched."""
    absent = row.get_deferred_fields()
    return {name: getattr(row, name) for name in _columns(type(row)) if name not in absent}


@lru_cache(maxsize=1_024)
def _columns(model: type[Model]) -> tuple[str, ...]:
    """Names of the columns that may be shown: passwords are known by their model and by the widget of their field."""
    hidden = {"password"} if issubclass(model, AbstractBaseUser) else set()
    names = []
    for each in model._meta.concrete_fields:
        widget = None
        with suppress(
            Exception
        ):  # a field of the site's own may have no form field, in whatever way it says so
            widget = each.formfield().widget  # type: ignore[union-attr]
        if each.name not in hidden and not isinstance(widget, forms.PasswordInput):
            names.append(each.attname)
    return tuple(names)


def _form(form: forms.BaseForm) -> dict[str, Any]:
    """What the fields of a form hold, those for passwords aside."""
    return {
        name: form[name].value()
        for name, each in form.fields.items()
        if not isinstance(each.widget, forms.PasswordInput)
    }
