"""``/awp/validate``: a page where a person has a manifest validated, their own text or what this site publishes.

Nothing is stored and nobody's address is called. It needs no login and no JavaScript; a form comes with its CSRF token,
so that no other site can have its own text shown here. What is validated counts as a call of the reader's address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final
from urllib.parse import urlsplit

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from agentweb.access import limits
from agentweb.awp import protocol
from agentweb.awp.compliance.excerpts import excerpt
from agentweb.awp.compliance.manifest import Validation, validate
from agentweb.awp.compliance.problems import Problem, counts
from agentweb.awp.languages import readable
from agentweb.awp.publishing import counted, published
from agentweb.http import headers
from agentweb.http.addresses import address_of
from agentweb.http.documents import Place
from agentweb.http.mount import mount_prefix
from agentweb.http.target import origin_of, site_of
from agentweb.people.views import HEADERS, with_a_form_that_can_be_read
from agentweb.wire.errors import AgentError

MAX_CHARACTERS: Final = 65_536
"""Of a text that is pasted: ten times as long as any discovery manifest that was seen."""
MAX_BODY: Final = 12 * MAX_CHARACTERS + 1_000
"""Bytes of a form: a character has up to four bytes, and a byte up to three signs."""
OWN: Final = "own"

_TEMPLATE: Final = "agentweb/awp/validate.html"
_METHODS: Final = ("get", "head", "post", "options")


@dataclass(frozen=True, slots=True)
class Shown:
    """A problem as the page has it; ``line`` is the line where it is, ``mark`` what stands below it."""

    problem: Problem
    line: str
    mark: str


def _as_awp(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """What every answer under /awp/ has, also those to a form that cannot be read."""

    @wraps(view)
    def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase
        if str(request.method).lower() not in _METHODS:
            # Before CSRF protection, which would answer for it: no form sends these.
            response = HttpResponseNotAllowed([method.upper() for method in _METHODS])
        else:
            response = view(request, *args, **kwargs) if _may_be_read(request) else _too_large()
        if isinstance(response, HttpResponse):
            headers.allow_every_origin(request, response)
        response[protocol.HEADER] = protocol.VERSION
        for name, value in HEADERS.items():
            response[name] = value
        response["Content-Security-Policy"] = _policy()
        return response

    return answering


@method_decorator(
    # Exempt from the middleware, which is asked before any view and would refuse a DELETE with a page of Django's.
    [csrf_exempt, login_not_required, _as_awp, with_a_form_that_can_be_read, csrf_protect],
    name="dispatch",
)
class ValidateView(View):
    """GET: the form, with ``?manifest=own`` also what is to be said of this site's own. POST: of the text in it."""

    http_method_names = [*_METHODS]  # noqa: RUF012 - Django's own name

    def get(self, request: HttpRequest) -> HttpResponse:
        if request.GET.get("manifest") != OWN:
            return _page(request)
        refused = _limited(request)
        if refused is not None:
            return refused
        try:
            text = _own(request)
        except AgentError as error:
            return _page(request, error=error.message, status=error.status)
        return _validated(request, text, is_own=True)

    def post(self, request: HttpRequest) -> HttpResponse:
        text = request.POST.get("manifest", "")
        if not text.strip():
            return _page(request, text=text, is_empty=True, status=422)
        if len(text) > MAX_CHARACTERS:
            return _page(request, is_too_long=True, status=413)
        refused = _limited(request, text)
        # A form sends line ends as CR LF whatever they were.
        return refused or _validated(request, text.replace("\r\n", "\n"))

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if headers.is_preflight(request):
            return headers.preflight(", ".join(method.upper() for method in _METHODS))
        response = headers.no_content()
        response["Allow"] = ", ".join(method.upper() for method in self.http_method_names)
        return response


def _may_be_read(request: HttpRequest) -> bool:
    """Whether the form is of a size that is read at all: Django bounds no files in it."""
    given = request.META.get("CONTENT_LENGTH") or "0"
    # "²" is a digit, of which no number is made.
    return not (given.isascii() and given.isdigit()) or int(given[:20]) <= MAX_BODY


def _too_large() -> HttpResponse:
    return HttpResponse("The form is too large.", status=413, content_type="text/plain; charset=utf-8")


def _own(request: HttpRequest) -> str:
    """This site's own manifest, as everybody gets it. Raises the AgentError that they get."""
    origin = origin_of(request)
    place = Place(origin, site_of(origin), mount_prefix())
    return published.well_known(place, readable("")).content.decode()


def _limited(request: HttpRequest, text: str = "") -> HttpResponse | None:
    try:
        limits.admit_anonymous(address_of(request))
    except AgentError as refusal:
        response = _page(request, text=text, wait=refusal.retry_after, status=429)
        response["Retry-After"] = str(refusal.retry_after)
        return response
    return None


def _validated(request: HttpRequest, text: str, *, is_own: bool = False) -> HttpResponse:
    # A browser may send half of a surrogate pair, which no UTF-8 has.
    data = text.encode("utf-8", errors="replace")
    found = validate(data, measure=counted.current().measure) if is_own else validate(data)
    return _page(request, text=text, found=found, is_own=is_own)


def _page(
    request: HttpRequest, *, text: str = "", found: Validation | None = None, status: int = 200, **said: Any
) -> HttpResponse:
    context = {
        "text": text,
        "most": MAX_CHARACTERS,
        "found": found,
        "problems": [] if found is None else [_shown(each, found) for each in found.problems],
        "counts": {} if found is None else counts(found.problems),
        "version": protocol.VERSION,
        **said,
    }
    return render(request, _TEMPLATE, context, status=status)


def _shown(problem: Problem, found: Validation) -> Shown:
    lines = [] if problem.spot is None else excerpt(found.reading.text, problem.spot)
    line, mark = lines if lines else ("", "")
    return Shown(problem, line, mark)


def _policy() -> str:
    """No script at all, no frame, and forms to this site; style sheets, pictures and fonts from here and from where
    the site has its static files."""
    try:
        address = urlsplit(static("agentweb/people.css"))
    except ValueError:  # a storage with a list of files, in which this one is not
        address = urlsplit("")
    elsewhere = f" {address.scheme or 'https'}://{address.netloc}" if address.netloc else ""
    return (
        f"default-src 'none'; style-src 'self' 'unsafe-inline'{elsewhere}; img-src 'self' data:{elsewhere}; "
        f"font-src 'self'{elsewhere}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
