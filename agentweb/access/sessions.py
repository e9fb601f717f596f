"""Sessions: a bearer handle to a grant that the site issued (AIP 5). Whoever shows the token acts under the grant.

A session has a grant of its own, whose subject is ``session:<id>``: the same scopes, mandate and spending rules as
any agent's. The token is ``agw_`` and 43 base64url characters; only its SHA-256 digest is stored.

It ends when it is revoked or its grant is, when it expires, when its person is no longer active, when they change
their password, and when they log out in the browser in which they agreed to it, or another person logs in there.
Nothing of that is remembered between two requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import get_user_model
from django.db import connections, transaction
from django.db.models import BooleanField, Case, CharField, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Cast
from django.utils.crypto import constant_time_compare

from agentweb import conf
from agentweb.access import grants, limits, persons, revocation_log, revocations, tokens
from agentweb.access.callers import SESSION, Caller
from agentweb.access.database import first_write
from agentweb.access.issuing import problem
from agentweb.access.models import Nonce, Revocation, Session
from agentweb.access.reading import Maker
from agentweb.access.rows import database, insert_if_absent, refusing_when_the_store_fails
from agentweb.access.standing import TOUCH_EVERY
from agentweb.wire.clock import from_unix, now, now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AuthenticationError, AuthorizationError, Code, InputError
from agentweb.wire.grants import GrantDocument, Mandate, check_audience, check_time

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

SUBJECT_PREFIX: Final = "session:"
MAX_CLIENT_NAME: Final = 100

_LOGINS_THAT_ENDED: Final = "logged-out"
_BROWSER: Final = "browser:"
_IN_FLIGHT: Final = timedelta(days=1)
"""Longer than any request lasts that began before its person logged out."""


def create(
    *,
    user: Any,
    scopes: Sequence[str],
    expires_in: int,
    site: str,
    mandate: Mandate | None = None,
    one_time: bool = False,
    client_name: str = "",
    note: str = "",
    login: str = "",
) -> tuple[Session, str]:
    """Begin a session for ``user`` (None: for nobody in particular), with a grant of its own; (session, token).

    The token is shown here and never again. ``expires_in`` is seconds, ``site`` the audience ``host[:port]``,
    ``client_name`` what people call the program that gets the token, ``login`` the person's login in a browser whose
    end ends the session too. Raises ``invalid_input`` with every problem, and ``unavailable`` when the site has no key
    to sign with.
    """
    token = tokens.new()
    session, chain = draw_up(
        ident=random_id("ss_"),
        token_digest=tokens.digest_of(token),
        user=user,
        scopes=scopes,
        expires_in=expires_in,
        site=site,
        mandate=mandate,
        one_time=one_time,
        client_name=client_name,
        note=note,
        login=login,
    )
    with transaction.atomic(using=database()):
        store(session, chain)
    return session, token


def draw_up(
    *,
    ident: str,
    token_digest: str,
    user: Any,
    scopes: Sequence[str],
    expires_in: int,
    site: str,
    mandate: Mandate | None,
    one_time: bool = False,
    client_name: str,
    note: str = "",
    login: str = "",
) -> tuple[Session, tuple[GrantDocument, ...]]:
    """``create`` for a token that exists, up to the signature of its grant: nothing is written yet."""
    problems = check_client_name(client_name)
    try:
        chain = grants.draw_up(
            subject=SUBJECT_PREFIX + ident,
            scopes=scopes,
            expires_in=expires_in,
            site=site,
            mandate=mandate,
            one_time=one_time,
            user=user,
            note=note,
        )
    except InputError as error:
        raise InputError([*(error.problems or []), *problems]) from None
    if problems:
        raise InputError(problems)
    session = Session(
        id=ident,
        token_digest=token_digest,
        grant_id=chain[0].id,
        user=user,
        auth_hash="" if user is None else _auth_hash(user),
        login=login,
        client_name=client_name,
        created_at=now_datetime(),
        expires_at=from_unix(chain[0].expires),
    )
    return session, chain


def store(session: Session, chain: Sequence[GrantDocument]) -> None:
    """Write what ``draw_up`` gave, inside the caller's transaction. Raises ``not_allowed`` for a login that is over."""
    if session.login:
        # Of this and a logging out at the same moment, the one sees the other.
        revocation_log.lock()
        if Nonce.objects.filter(key=_LOGINS_THAT_ENDED, nonce=session.login).exists():
            raise AuthorizationError(
                Code.NOT_ALLOWED, "You have logged out in this browser. Log in, and begin again."
            )
    grants.store(chain, session.user_id)
    session.save(force_insert=True)


def check_client_name(name: str) -> list[dict[str, Any]]:
    """The problem of a client's name, if it has one."""
    if isinstance(name, str) and len(name) <= MAX_CLIENT_NAME and (name == "" or name.isprintable()):
        return []
    message = f"A client's name is one line of at most {MAX_CLIENT_NAME} characters."
    return [problem("client_name", "format", message)]


def authenticate(token: str, site: str, address: str) -> Caller:
    """The caller who shows this token. One query, and one for its limit.

    Raises 401 ``session_invalid``, ``session_expired`` or ``session_revoked``; ``grant_wrong_site`` after the site
    changed its name; ``rate_limited`` and, when the database fails, ``unavailable``.
    """
    with refusing_when_the_store_fails():
        caller, user, is_seen_lately = _established(token, site, address)
        allowance = limits.take(caller.rate_key, conf.get("CALLER_RATE"), limits.CALLER)
        if not is_seen_lately:
            _touch(caller)
    caller = replace(caller, allowance=allowance)
    if user is not None:
        # What cached_property would fetch once more; the caller is frozen, its cache is not.
        vars(caller)["user"] = user
    return caller


def revoke(ident: str, reason: str = "") -> bool:
    """End a session (``ss_…``) and its grant, for good; True unless it had ended or never was.

    A charge that has not committed by then does not happen.
    """

    def work() -> bool:
        with transaction.atomic(using=database()):
            with first_write():
                revocation_log.lock()
            grant = Session.objects.filter(pk=ident).values_list("grant_id", flat=True).first()
            return grant is not None and revocations.write(grant, reason)

    return revocations.in_turn(work)


def revoke_by_token(token: str, reason: str = "") -> bool:
    """``revoke`` the session that has this token."""
    ident = Session.objects.filter(token_digest=tokens.digest_of(token)).values_list("pk", flat=True).first()
    return ident is not None and revoke(ident, reason)


def log_out(login: str) -> int:
    """End every session that was agreed to in this login of a browser; how many."""

    def work() -> int:
        with transaction.atomic(using=database()):
            with first_write():
                revocation_log.lock()
            over = Nonce(key=_LOGINS_THAT_ENDED, nonce=login, expires_at=now_datetime() + _IN_FLIGHT)
            insert_if_absent([over])
            begun = Session.objects.filter(login=login, revoked_at=None)
            found = list(begun.values_list("grant_id", flat=True))
            begun.update(end=Session.End.LOGGED_OUT)
            revocations.write_grants(found, "logged out")
            return len(found)

    return revocations.in_turn(work)


def note_login(login: str, browser: str) -> None:
    """Keep that this login is the one of this browser (a digest, at most 43 characters), as long as sessions live."""
    until = now_datetime() + timedelta(days=conf.get("GRANT_MAX_DAYS"))
    key = _BROWSER + browser
    if not Nonce.objects.filter(key=key, nonce=login).update(expires_at=until):
        insert_if_absent([Nonce(key=key, nonce=login, expires_at=until)])


def logins_noted(browser: str) -> list[str]:
    """The logins that were noted for a browser."""
    if not browser:
        return []
    return list(Nonce.objects.filter(key=_BROWSER + browser).values_list("nonce", flat=True))


def _established(token: str, site: str, address: str) -> tuple[Caller, AbstractBaseUser | None, bool]:
    digest = tokens.digest_of(token)
    row, person = _fetch(digest) if tokens.is_well_formed(token) else (None, None)
    if row is None:
        tokens.refuse_waiting(digest)
        raise _ended(Code.SESSION_INVALID, "This site has no session with this token; ask for a new one.")
    user_id, auth_hash, text, is_revoked, is_over, is_seen_lately = row
    if is_revoked:
        raise _revoked(digest)
    if is_over:
        raise _ended(Code.SESSION_EXPIRED, "The session is over; ask the person for a new one.")
    chain = grants.parse_stored(text)
    check_audience(chain, site)
    try:
        check_time(chain, now())
    except AuthenticationError as error:
        raise _ended(
            Code.SESSION_EXPIRED, "The session's grant is over; ask the person for a new one."
        ) from error
    user_id = None if user_id is None else get_user_model()._meta.pk.to_python(user_id)
    caller = Caller(kind=SESSION, subject=chain[-1].subject, chain=chain, user_id=user_id, address=address)
    user = None if user_id is None else _checked(person or persons.find(user_id), auth_hash)
    return caller, user, bool(is_seen_lately)


def _checked(user: AbstractBaseUser | None, auth_hash: str) -> AbstractBaseUser:
    if user is None or not getattr(user, "is_active", True):
        raise _ended(
            Code.SESSION_REVOKED,
            "The person of this session is no longer active at this site.",
            reason="inactive",
        )
    if not _is_of_today(auth_hash, user):
        raise _ended(
            Code.SESSION_REVOKED,
            "The person of this session has changed their password; ask for a new one.",
            reason="password",
        )
    return user


def _revoked(digest: str) -> AuthenticationError:
    """Why a session was ended is asked for only when its token is refused."""
    end = Session.objects.filter(token_digest=digest).values_list("end", flat=True).first()
    if end == Session.End.LOGGED_OUT:
        message = "The person logged out where they had agreed to this session; ask for a new one."
        return _ended(Code.SESSION_REVOKED, message, reason=end)
    return _ended(Code.SESSION_REVOKED, "The session was ended; ask the person for a new one.")


def _ended(code: Code, message: str, **extra: Any) -> AuthenticationError:
    return AuthenticationError(code, message, headers=tokens.CHALLENGE, **extra)


def _auth_hash(user: AbstractBaseUser) -> str:
    """A digest of the person's session hash, or "" for a user model that has none."""
    made = getattr(user, "get_session_auth_hash", None)
    return "" if made is None else tokens.digest_of(made())


def _is_of_today(auth_hash: str, user: AbstractBaseUser) -> bool:
    """Whether the password is still that of the session's beginning; a SECRET_KEY that was rotated since is none."""
    if constant_time_compare(auth_hash, _auth_hash(user)):
        return True
    former = getattr(user, "get_session_auth_fallback_hash", None)
    return former is not None and any(
        constant_time_compare(auth_hash, tokens.digest_of(each)) for each in former()
    )


def _touch(caller: Caller) -> None:
    at = now_datetime()
    stale = Q(last_seen_at=None) | Q(last_seen_at__lte=at - TOUCH_EVERY)
    Session.objects.filter(stale, pk=caller.subject.removeprefix(SUBJECT_PREFIX)).update(last_seen_at=at)
    grants.touch(caller.chain[-1].id)


_DIGEST_SLOT: Final = "?digest"
_NOW_SLOT: Final = datetime(2001, 1, 1, tzinfo=UTC)
_LATELY_SLOT: Final = datetime(2001, 1, 2, tzinfo=UTC)
_COLUMNS: Final = 6
"""How many columns ``_statement`` selects before those of the person."""


def _fetch(digest: str) -> tuple[tuple[Any, ...] | None, AbstractBaseUser | None]:
    """(user id as text, auth hash, chain as text, is revoked, is over, was seen lately) and the person, in one query.

    The person is None where there is none, and where the site's own manager has to find them.
    """
    alias = database()
    connection = connections[alias]
    prepared = connection.ops.adapt_datetimefield_value
    sql, params, maker = _statement(alias, persons.are_plain(alias))
    at = now_datetime()
    given = {
        _DIGEST_SLOT: digest,
        prepared(_NOW_SLOT): prepared(at),
        prepared(_LATELY_SLOT): prepared(at - TOUCH_EVERY),
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, [given.get(param, param) for param in params])
        row = cursor.fetchone()
    if row is None:
        return None, None
    found, columns = row[:_COLUMNS], row[_COLUMNS:]
    return found, None if found[0] is None or maker is None else maker.make(columns)


# Composed once: that costs many times what running it does (see ``standing``).
@cache
def _statement(alias: str, with_person: bool) -> tuple[str, tuple[Any, ...], Maker[AbstractBaseUser] | None]:
    user_model = get_user_model()
    counts_no_longer = Revocation.objects.filter(
        Q(ident=OuterRef("grant_id")) | Q(ident=OuterRef("grant__issuer")), by=""
    )
    rows = Session.objects.filter(token_digest=_DIGEST_SLOT).values_list(
        Cast("user_id", CharField(max_length=255)),
        "auth_hash",
        F("grant__chain"),
        _flag(Q(revoked_at__isnull=False) | Q(grant__revoked_at__isnull=False) | Q(Exists(counts_no_longer))),
        _flag(Q(expires_at__lte=_NOW_SLOT)),
        _flag(Q(last_seen_at__gt=_LATELY_SLOT)),
        *[f"user__{field.attname}" for field in user_model._meta.concrete_fields if with_person],
    )
    compiler = rows.query.get_compiler(using=alias)
    sql, params = compiler.as_sql()
    return sql, tuple(params), Maker(user_model, compiler, alias) if with_person else None


def _flag(condition: Q) -> Case:
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())
