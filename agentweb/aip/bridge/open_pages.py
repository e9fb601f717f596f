"""Pages that are open in somebody's browser: they come, say what they show and do, and go.

Everything here is one person's: each function takes the person and the mark of their login, and sees nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q

from agentweb import conf
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.aip.retention import FORGOTTEN
from agentweb.catalog.pages import Page
from agentweb.invoke.redaction import redact
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import Code, InputError, RequestError
from agentweb.wire.schema.problems import make_problem
from agentweb.wire.strict_json import Json, dumps

STREAMED: Final = timedelta(seconds=45)
"""How long a page counts as connected after its stream was last seen: three heartbeats."""
GRACE: Final = timedelta(seconds=5)
"""How long a page may be without a stream, while it comes again."""
ARRIVING: Final = timedelta(seconds=10)
MAX_OPEN: Final = 20
"""Pages that one person may have open; the ones longest unused close first."""
LAPSED: Final = timedelta(seconds=30)
"""How long a page may come back after nothing was heard of it, when its person has opened others meanwhile."""
AT_ONCE: Final = 100

CLOSED: Final = "closed"
"""Why a call was dropped: its page was closed."""

_State: Final = BrowserCall.State


@dataclass(frozen=True, slots=True)
class Owner:
    """A person, the mark of the login by which they sit there, and a digest of its session's key ("" for none).

    ``seal`` makes the text by which the login is looked up later.
    """

    user_id: Any
    login: str
    browser: str
    seal: Callable[[], str]


@dataclass(slots=True)
class News:
    """What a page has to say; None for what has not changed."""

    state: dict[str, Json] | None = None
    offers: Sequence[str] | None = None
    is_active: bool = False


def arrive(owner: Owner, path: str, page: Page, news: News) -> str:
    """A page was opened at ``path``; its id. Raises as ``tell``."""
    at = now_datetime()
    columns = {"state": "{}", "offers": "[]", **_columns(page, news), "active_at": at}
    row = OpenPage(
        id=random_id("op_"),
        user_id=owner.user_id,
        login=owner.login,
        session=owner.seal(),
        browser=owner.browser,
        page=path,
        connected_until=at + ARRIVING,
        **columns,
    )
    row.save(force_insert=True)
    _close_the_oldest(owner)
    _forget(owner, at)
    return row.id


def page_of(owner: Owner, ident: str) -> str:
    """The path of an open page. Raises not_found."""
    row = _own(owner, ident).values_list("page", "browser").first()
    if row is None:
        raise gone()
    path, browser = row
    if browser != owner.browser:
        # The login goes on under another key of its session.
        _own(owner, ident).update(browser=owner.browser, session=owner.seal())
    return str(path)


def tell(owner: Owner, ident: str, page: Page, news: News) -> None:
    """Take what the page says. Raises not_found, and invalid_input for offers that the site has not declared."""
    columns = _columns(page, news)
    if columns and not _own(owner, ident).update(**columns):
        raise gone()


def leave(owner: Owner, ident: str) -> None:
    """The page was closed: nothing of it is shown or called any more."""
    _close(_own(owner, ident))


def log_out(login: str) -> None:
    """Every page of a login is closed with it."""
    _close(OpenPage.objects.filter(login=login))


def leave_browser(browser: str, login: str) -> None:
    """Every page of this browser's session is closed, but for those of this login, which goes on."""
    _close(OpenPage.objects.filter(browser=browser).exclude(login__in=["", login]))


def close(idents: Sequence[str]) -> None:
    """These are closed, because their login is over."""
    if idents:
        _close(OpenPage.objects.filter(pk__in=idents))


def logins(idents: Sequence[str]) -> list[tuple[str, Any, str, str]]:
    """Of those of these pages that are open: (id, person's key, mark of the login, ``session``)."""
    return list(_open(idents).values_list("pk", "user_id", "login", "session"))


def connect(idents: Sequence[str], stream: str) -> None:
    """These have got a new stream."""
    _open(idents).update(connected_until=now_datetime() + STREAMED, stream=stream)


def stay(idents: Sequence[str]) -> None:
    """These still have their streams."""
    _open(idents).update(connected_until=now_datetime() + STREAMED)


def disconnect(idents: Sequence[str], streams: Sequence[str]) -> None:
    """These had these streams until now. One that has another by now stays connected."""
    _open(idents).filter(stream__in=streams).update(connected_until=now_datetime() + GRACE)


def _open(idents: Sequence[str]) -> Any:
    return OpenPage.objects.filter(pk__in=idents).exclude(login="")


def gone() -> RequestError:
    return RequestError(Code.NOT_FOUND, "This page is not open any more; say page again, and get a new tab.")


def _own(owner: Owner, ident: str) -> Any:
    return OpenPage.objects.filter(pk=ident, user_id=owner.user_id, login=owner.login)


def _close(rows: Any) -> None:
    # Not deleted at once: who waits for an answer from it is to learn what became of it.
    idents = list(rows.values_list("pk", flat=True))
    if not idents:
        return
    closed = {"login": "", "session": "", "browser": "", "state": "{}", "offers": "[]"}
    OpenPage.objects.filter(pk__in=idents).update(**closed, connected_until=now_datetime())
    waiting = BrowserCall.objects.filter(page_id__in=idents, state=_State.WAITING)
    waiting.update(state=_State.DROPPED, answer=CLOSED, input="")


def _close_the_oldest(owner: Owner) -> None:
    mine = OpenPage.objects.filter(user_id=owner.user_id, connected_until__gt=now_datetime())
    close(list(mine.order_by("-active_at").values_list("pk", flat=True)[MAX_OPEN : MAX_OPEN + AT_ONCE]))


def _forget(owner: Owner, at: datetime) -> None:
    """Delete what is left of pages: this person's, and some of anybody's that ended long ago.

    So one person's rows are few, whatever their script does, and whether or not the site runs ``clear_expired``.
    """
    asked = BrowserCall.objects.filter(page=OuterRef("pk"), deadline__gt=at).exclude(state=_State.OVER)
    over = OpenPage.objects.filter(connected_until__lt=at)
    mine = over.filter(
        Q(login="") | Q(connected_until__lt=at - LAPSED), ~Exists(asked), user_id=owner.user_id
    )
    long_ago = at - FORGOTTEN
    found = {*mine.values_list("pk", flat=True)[:AT_ONCE]}
    found |= {*over.filter(connected_until__lt=long_ago).values_list("pk", flat=True)[:AT_ONCE]}
    if found:
        over.filter(pk__in=found).delete()
    calls = list(BrowserCall.objects.filter(deadline__lt=long_ago).values_list("pk", flat=True)[:AT_ONCE])
    if calls:
        BrowserCall.objects.filter(pk__in=calls).delete()


def _columns(page: Page, news: News) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if news.state is not None:
        columns["state"] = _state_text(news.state)
    if news.offers is not None:
        columns["offers"] = _offers_text(page, news.offers)
    if news.is_active:
        columns["active_at"] = now_datetime()
    return columns


def _state_text(state: dict[str, Json]) -> str:
    text = dumps(redact(state)[0])
    largest: int = conf.get("PAGE_STATE_BYTES")
    if len(text) > largest:
        raise RequestError(
            Code.PAYLOAD_TOO_LARGE,
            f"Publish a state of at most {largest} bytes.",
            field="state",
            limit=largest,
        )
    return text.decode()


def _offers_text(page: Page, offers: Sequence[str]) -> str:
    declared = sorted(each.name for each in page.browser_actions)
    problems = [
        make_problem(
            ("offers", number),
            "enum",
            f"{page.path} has no browser action of this name; the site declares them with page(browser_actions=…).",
            allowed=declared,
        )
        for number, name in enumerate(offers)
        if name not in declared
    ]
    if problems:
        raise InputError(problems)
    return dumps([*sorted(set(offers))]).decode()
