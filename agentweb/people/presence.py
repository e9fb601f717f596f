"""Whether the login of a browser is still there, asked of the session store and the users' table at this moment.

A page that is open in somebody's browser goes on long after the request that opened it. No signal tells of every end
of a login: ``session.flush()`` sends none, and neither does a new password, an account that is closed, or a session
that is deleted in the store. So whoever acts for such a page looks here first.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from django.conf import settings
from django.contrib.auth import (
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
    get_user_model,
    load_backend,
)
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends import db, signed_cookies
from django.db import router
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from agentweb.access import sealing
from agentweb.access.tokens import digest_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

_T = TypeVar("_T")

_SEALED: Final = "people.presence"


@dataclass(frozen=True, slots=True)
class Login:
    """A login as a request showed it.

    ``mark`` is (name, value) of a member that stands in its session, ``session`` the session's key: empty for a store
    that keeps everything in the cookie, and so can tell nothing. ``password`` is a digest of the person's session hash.
    """

    user_id: Any
    mark: tuple[str, str]
    session: str
    password: str
    backend: str

    def sealed(self) -> str:
        """All but person and mark, as a text that is no use to who reads the database."""
        text = json.dumps([self.session, self.password, self.backend])
        return sealing.seal(text.encode(), f"{_SEALED}:{self.mark[1]}")


def login_of(request: HttpRequest, person: AbstractBaseUser, mark: tuple[str, str]) -> Login:
    """The login of this person by which the request came."""
    session: Any = request.session
    made = session.get(HASH_SESSION_KEY)
    return Login(
        user_id=person.pk,
        mark=mark,
        session="" if _is_in_the_cookie() else str(session.session_key or ""),
        password=digest_of(made) if made else "",
        backend=str(session.get(BACKEND_SESSION_KEY) or ""),
    )


def opened(sealed: str, user_id: Any, mark: tuple[str, str]) -> Login | None:
    """The login that was sealed; None when the site's SECRET_KEY is another one by now."""
    try:
        text = sealing.unseal(sealed, f"{_SEALED}:{mark[1]}", sealing.secret_keys())
    except ValueError:
        return None
    session, password, backend = json.loads(text)
    return Login(user_id, mark, session, password, backend)


def present(logins: Mapping[_T, Login | None]) -> dict[_T, AbstractBaseUser]:
    """The persons of those logins that are still there. One query for all persons, and one for all sessions where
    Django keeps these in the database."""
    given = {ident: login for ident, login in logins.items() if login is not None}
    if not given:
        return {}
    persons = _persons({(login.backend, login.user_id) for login in given.values()})
    stored = _stored({login.session for login in given.values() if login.session})
    found: dict[_T, AbstractBaseUser] = {}
    for ident, login in given.items():
        person = persons.get((login.backend, login.user_id))
        if person is None or not getattr(person, "is_active", True):
            continue
        if login.password and not has_password(person, login.password):
            continue
        if login.session and not _is_in(stored.get(login.session, {}), login, person):
            continue
        found[ident] = person
    return found


def has_password(person: AbstractBaseUser, digest: str) -> bool:
    """Whether this is the digest of the person's session hash, under today's SECRET_KEY or one that it replaced."""
    made = getattr(person, "get_session_auth_hash", None)
    if made is None:
        return False
    if constant_time_compare(digest, digest_of(made())):
        return True
    former = getattr(person, "get_session_auth_fallback_hash", None)
    return former is not None and any(constant_time_compare(digest, digest_of(each)) for each in former())


def password_of(person: AbstractBaseUser) -> str:
    """What ``has_password`` compares, "" for a user model that has none."""
    made = getattr(person, "get_session_auth_hash", None)
    return "" if made is None else digest_of(made())


def session_before(request: HttpRequest | None) -> tuple[str, Mapping[str, Any]]:
    """(key, members) of the session whose cookie the request brought, whatever has become of it in between.

    Of one that is gone the members are gone too; only a store that keeps all in the cookie still has them.
    """
    key = str(getattr(request, "COOKIES", {}).get(settings.SESSION_COOKIE_NAME) or "")
    if not key or not _is_in_the_cookie():
        return key, {}
    members: Mapping[str, Any] = _store()(key).load()
    return "", members


def _is_in(stored: Mapping[str, Any], login: Login, person: AbstractBaseUser) -> bool:
    name, mark = login.mark
    if stored.get(SESSION_KEY) != person._meta.pk.value_to_string(person):
        return False
    return constant_time_compare(str(stored.get(name) or ""), mark)


def _stored(keys: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """The members of the sessions with these keys, without those that are over."""
    store = _store()
    if not keys:
        return {}
    if issubclass(store, db.SessionStore):
        # Of the database that is written to: a replica may not know yet.
        model: Any = store.get_model_class()
        rows = model._default_manager.using(router.db_for_write(model))
        rows = rows.filter(session_key__in=keys, expire_date__gt=timezone.now())
        reading = store()
        return {key: reading.decode(data) for key, data in rows.values_list("session_key", "session_data")}
    return {key: store(key).load() for key in keys}


def _persons(keys: Collection[tuple[str, Any]]) -> dict[tuple[str, Any], AbstractBaseUser]:
    """The persons as their authentication backends know them, by (path of the backend, primary key)."""
    found: dict[tuple[str, Any], AbstractBaseUser] = {}
    plain: dict[tuple[str, Any], Any] = {}
    for path, user_id in keys:
        # Without a path somebody else than Django keeps the login; the person is looked for all the same.
        if path and path not in settings.AUTHENTICATION_BACKENDS:
            continue
        backend = load_backend(path) if path else ModelBackend()
        if isinstance(backend, ModelBackend) and type(backend).get_user is ModelBackend.get_user:
            plain[path, user_id] = backend
        elif (person := backend.get_user(user_id)) is not None:
            found[path, user_id] = person
    model: Any = get_user_model()
    rows = model._default_manager.using(router.db_for_write(model))
    by_key = rows.in_bulk({user_id for _, user_id in plain}) if plain else {}
    for (path, user_id), backend in plain.items():
        person = by_key.get(user_id)
        if person is not None and backend.user_can_authenticate(person):
            found[path, user_id] = person
    return found


def _is_in_the_cookie() -> bool:
    return issubclass(_store(), signed_cookies.SessionStore)


def _store() -> type[Any]:
    return _store_of(settings.SESSION_ENGINE)


@cache
def _store_of(engine: str) -> type[Any]:
    store: type[Any] = import_module(engine).SessionStore
    return store
