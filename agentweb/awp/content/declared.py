"""The text that a page's declaration gives for itself: ``markdown=`` a text, the name of a template, or a function."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import SplitResult

from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404
from django.template import Template
from django.template.context import make_context
from django.template.loader import get_template
from django.utils import timezone, translation

from agentweb.access.callers import anonymous
from agentweb.awp.content.outcomes import Failed, LeftOut, Reason
from agentweb.awp.content.rendering import LEFT_OPEN, PAGE_SECONDS, USER_AGENT, detail_of
from agentweb.awp.content.timing import OutOfTime, at_most, telling_interrupts
from agentweb.awp.content.transactions import depths, leave_as_found
from agentweb.catalog.pages import Page
from agentweb.http.asking import environ_of
from agentweb.http.page_context import PageContext
from agentweb.invoke.handlers import awaited
from agentweb.wire.errors import AgentError

logger = logging.getLogger("agentweb.awp")

_TEMPLATE: Final = re.compile(r"[^\s<>*#`]+\.(?:md|markdown|txt)")
_STATUS: Final = {401: Reason.LOGIN, 403: Reason.LOGIN, 404: Reason.GONE, 410: Reason.GONE}


def is_template(markdown: str) -> bool:
    """Whether ``markdown=`` of a page is the name of a template: one word that ends in .md, .markdown or .txt."""
    return _TEMPLATE.fullmatch(markdown) is not None


def text_of(
    page: Page, kwargs: Mapping[str, Any], path: str, language: str, origin: SplitResult
) -> str | LeftOut | Failed:
    """What the declaration says to an anonymous visitor in this language. A function may raise Http404 and
    PermissionDenied; whatever else it raises is logged."""
    context = PageContext(anonymous(""), _request(path, language, origin), kwargs)
    before = depths()
    with translation.override(language), timezone.override(None):
        try:
            with at_most(PAGE_SECONDS), telling_interrupts() as is_interrupted:
                said = _said(page, context)
        except OutOfTime:
            return Failed(Reason.TIMEOUT, f"more than {PAGE_SECONDS:g} seconds")
        except Http404:
            return LeftOut(Reason.GONE)
        except PermissionDenied:
            return LeftOut(Reason.LOGIN)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and is_interrupted():
                raise
            # SystemExit too: a page that ends the program ends itself only.
            if isinstance(error, AgentError) and error.status in _STATUS:
                return LeftOut(_STATUS[error.status], error.message)
            logger.error("markdown of the page %s (%s) failed", path, page.where, exc_info=error)
            return Failed(Reason.RAISED, detail_of(error))
        finally:
            is_as_found = leave_as_found(before)
    if not is_as_found:
        return Failed(Reason.RAISED, LEFT_OPEN)
    if said is None:
        return LeftOut(Reason.EMPTY)
    if not isinstance(said, str):
        return Failed(Reason.RAISED, f"markdown answered a {type(said).__name__}, and not a text")
    return str(said)


def _said(page: Page, context: PageContext) -> Any:
    if callable(page.markdown):
        said = page.markdown(context)
        return async_to_sync(awaited)(said) if inspect.isawaitable(said) else said
    if page.markdown is not None and is_template(page.markdown):
        return _rendered(page.markdown, {"page": page, "ctx": context}, context)
    return page.markdown


def _rendered(name: str, values: dict[str, Any], context: PageContext) -> str:
    template: Any = get_template(name)
    inner = getattr(template, "template", None)
    if isinstance(inner, Template):
        # Markdown is no HTML: an apostrophe in it is one.
        return str(inner.render(make_context(values, context.request, autoescape=False)))
    return str(template.render(values, context.request))


def _request(path: str, language: str, origin: SplitResult) -> WSGIRequest:
    """A visitor's request for the page, without cookies."""
    headers = {"Accept-Language": language}
    request: Any = WSGIRequest(environ_of(origin, "GET", path, headers, user_agent=USER_AGENT))
    visitor = AnonymousUser()

    async def auser() -> AnonymousUser:
        return visitor

    request.user, request.auser, request.LANGUAGE_CODE = visitor, auser, language
    return request  # type: ignore[no-any-return]
