"""Settings: one ``AGENTWEB`` dict in the site's settings module.

Every key stands in ``SETTINGS`` with its group, default and a sentence; ``get()`` reads at use, so
``override_settings`` works and nothing has to be reloaded. ``problems()`` says what is wrong with the
dict as it stands; the system checks report it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.functional import Promise

from agentweb.wire.http_signature import authority_of

_Check = Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class Setting:
    """``check`` answers what is wrong with a value, or None."""

    group: str
    default: Any
    sentence: str
    check: _Check


def _origin(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        return "must be a string like 'https://shop.example'"
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        return "must begin with https:// (or http://) and name a host"
    if parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username is not None:
        return "must be scheme and host only, without a path, query or user"
    try:
        authority_of(value)
    except ValueError:
        return "must be plain ASCII without spaces, and name one host; write other letters in their xn-- form"
    return None


def _whole(low: int, high: int) -> _Check:
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            return f"must be a whole number from {low} to {high}"
        return None

    return check


def _rate(value: Any) -> str | None:
    # (steady requests a second, burst); beyond these bounds the arithmetic of a bucket means nothing
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(map(_is_number, value)):
        return "must be (requests a second, burst), for example (20, 60)"
    steady, burst = value
    if not 0.0001 <= steady <= 1_000_000 or not 1 <= burst <= 1_000_000 or burst != int(burst):
        return (
            "must be (requests a second, burst), for example (20, 60): from 0.0001 to 1000000 a second, "
            "and a whole number from 1 to 1000000"
        )
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _names(value: Any) -> str | None:
    if isinstance(value, str) or not all(isinstance(name, str) and name for name in _iterable(value)):
        return "must be a list of names"
    return None


def _iterable(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [None]


_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
UNIX: Final = "unix"
"""In TRUSTED_PROXIES: whoever comes by a Unix socket, which has no address."""
Proxy = IPv4Network | IPv6Network | str


def proxy_of(value: Any) -> Proxy | None:
    """The network (or UNIX) that one entry of TRUSTED_PROXIES names; None for what may not be trusted."""
    if value == UNIX:
        return UNIX
    try:
        # Of text only: a number would be an address too.
        network = ip_network(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return network if network is None or network.prefixlen else None


def _proxies(value: Any) -> str | None:
    if not isinstance(value, (list, tuple)):
        return "must be a list of networks, for example ['10.0.0.0/8', '2001:db8::/32']"
    wrong = [entry for entry in value if proxy_of(entry) is None]
    if not wrong:
        return None
    return (
        f"has what is no network of proxies: {', '.join(map(repr, wrong))}; write addresses or networks such as "
        "'10.0.0.7' or '10.0.0.0/8' (no bits behind the prefix, and not the whole internet), or 'unix'"
    )


def _rooms(value: Any) -> str | None:
    if value is None:
        return None
    wrong = sorted({str(name) for name in _iterable(value)} - set(ROOMS))
    if not isinstance(value, (list, tuple)) or wrong:
        return f"must be a list of these: {', '.join(ROOMS)}"
    return None


def _authorities(value: Any) -> str | None:
    if not isinstance(value, (list, tuple)):
        return "must be a list of hosts, for example ['chat.example', 'chat.example:8443']"
    for host in value:
        try:
            right = isinstance(host, str) and authority_of(f"https://{host}") == host
        except ValueError:
            right = False
        if not right:
            return (
                f"has what is no host as agents write it: {host!r}; write 'chat.example' or 'chat.example:8443', "
                "in lower case, without a scheme and without its usual port"
            )
    return None


def _url_or_empty(*schemes: str) -> _Check:
    def check(value: Any) -> str | None:
        if value == "" or (
            isinstance(value, str) and value.partition("://")[0] in schemes and "://" in value
        ):
            return None
        return f"must be empty or a URL that begins with {' or '.join(f'{each}://' for each in schemes)}"

    return check


def _switch(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be True or False"


def _text_or_none(longest: int) -> _Check:
    def check(value: Any) -> str | None:
        # A lazy translation is a text once it is asked for.
        if value is None or (isinstance(value, (str, Promise)) and 0 < len(str(value).strip()) <= longest):
            return None
        return f"must be a text of 1 to {longest:,} characters"

    return check


def _sitemaps(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and _DOTTED.fullmatch(value)):
        return None
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return None
    return "must be the dict of the site's sitemaps, or where it is: 'shop.urls.sitemaps'"


def _languages(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(each, str) for each in value):
        return "must be a list of language codes, for example ['en', 'nl']"
    known = dict(settings.LANGUAGES)
    wrong = [code for code in value if code not in known]
    return f"has what is not in LANGUAGES: {', '.join(map(repr, wrong))}" if wrong else None


def _prefix(value: Any) -> str | None:
    if not isinstance(value, str) or not value or value != value.strip("/") or "//" in value:
        return "must be a path without slashes at its ends, for example 'agent'"
    return None


def _group(name: str) -> _Check:
    """Of a dict with settings of its own, which ``problems`` looks at one by one."""

    def check(value: Any) -> str | None:
        return None if isinstance(value, Mapping) else f"must be a dict of {', '.join(GROUPS[name])}"

    return check


ROOMS: Final = ("aip", "awp", "aim", "agent_actions")
"""The protocols that there are, in the order in which they are asked for a URL."""

SETTINGS: Final[dict[str, Setting]] = {
    "ORIGIN": Setting(
        "site",
        None,
        "Scheme and host that agents see, 'https://shop.example'. It fixes the manifest's site, the audience of "
        "grants and every absolute URL. Unset, the request's host is used, under DEBUG only.",
        _origin,
    ),
    "ROOMS": Setting(
        "site",
        None,
        "The protocols that the site speaks, some of 'aip', 'awp', 'agent_actions', 'aim'; those that are left out "
        "answer nothing. Unset, all. Read when the site starts.",
        _rooms,
    ),
    "ACTION_PREFIX": Setting(
        "site",
        "agent",
        "First part of an action's default path, '/agent/<name>'. What is there and neither an action nor a URL of "
        "the site's own is 404 in JSON.",
        _prefix,
    ),
    "PEOPLE_PREFIX": Setting(
        "site",
        "agent-access",
        "First part of the paths of the pages for people, '/agent-access/approvals'. Read when the site starts.",
        _prefix,
    ),
    "MANIFEST_MAX_AGE": Setting(
        "site",
        60,
        "Seconds for which public documents may be cached; those of AWP for an hour, which AWP says itself.",
        _whole(0, 86_400),
    ),
    "PAGE_NEGOTIATION": Setting(
        "site",
        False,
        "Whether a page itself answers with its manifest to who prefers JSON or TOON to HTML in Accept. Needs the "
        "middleware agentweb.middleware.PageLinksMiddleware.",
        _switch,
    ),
    "MAX_BODY_BYTES": Setting(
        "limits", 1_048_576, "Largest request body that is read.", _whole(1_024, 104_857_600)
    ),
    "MAX_RESULT_BYTES": Setting(
        "limits", 4_194_304, "Largest result of an action, as JSON.", _whole(1_024, 104_857_600)
    ),
    "PAGE_STATE_BYTES": Setting(
        "limits",
        262_144,
        "Largest state of a page, as JSON; a page whose state is larger has no session manifest.",
        _whole(1_024, 104_857_600),
    ),
    "CALLER_RATE": Setting(
        "limits",
        (20, 60),
        "Signed requests of one person, or under one of the site's grants: (a second, burst). Shared by all "
        "processes.",
        _rate,
    ),
    "ANONYMOUS_RATE": Setting(
        "limits",
        (2, 60),
        "Unsigned calls from one address: (a second, burst). Shared by all processes.",
        _rate,
    ),
    "OPEN_APPROVALS": Setting(
        "limits", 20, "Calls of one agent that may wait for a person's approval at once.", _whole(1, 1_000)
    ),
    "PAIRING_RATE": Setting(
        "limits",
        (0.05, 20),
        "Requests for a session that one address may make: (a second, burst).",
        _rate,
    ),
    "OPEN_PAIRINGS": Setting(
        "limits",
        10_000,
        "Requests for a session that may wait for a person at once, of all programs together.",
        _whole(1, 10_000_000),
    ),
    "OPEN_PAIRINGS_PER_ADDRESS": Setting(
        "limits",
        100,
        "Requests for a session that may wait for a person at once, of all programs at one address.",
        _whole(1, 10_000_000),
    ),
    "CODE_RATE": Setting(
        "limits",
        (0.05, 30),
        "Codes of waiting programs that one person, and that one address, may enter: (a second, burst).",
        _rate,
    ),
    "FAILURE_RATE": Setting(
        "limits",
        (1, 60),
        "Requests of one address whose signature, grant or session does not hold: (a second, burst); more are "
        "refused before they are verified.",
        _rate,
    ),
    "NEW_GRANT_RATE": Setting(
        "limits",
        (0.1, 100),
        "Grants that one person, or one holder of a site's grant, brings for the first time: (a second, burst).",
        _rate,
    ),
    "STREAMS_PER_CALLER": Setting(
        "limits", 20, "Streams that one person or agent may have open in one process.", _whole(1, 10_000)
    ),
    "STREAMS_PER_PROCESS": Setting(
        "limits", 2_000, "Streams that may be open in one process under ASGI.", _whole(1, 100_000)
    ),
    "STREAM_THREADS": Setting(
        "limits",
        2,
        "Threads of one process under WSGI that may wait in streams, for pages and for events of the messenger: half "
        "of the server's threads. Requests for events have half of these, or one. With 0, streams and requests for "
        "events are answered at once and asked for again every second.",
        _whole(0, 1_000),
    ),
    "BRIDGE_CALLS_PER_PROCESS": Setting(
        "limits",
        200,
        "Calls that may wait for pages in people's browsers in one process under ASGI, each in a thread, and as many "
        "requests for events of the messenger; under WSGI STREAM_THREADS bounds them.",
        _whole(1, 10_000),
    ),
    "TRUSTED_PROXIES": Setting(
        "limits",
        (),
        "Addresses and networks of the site's own proxies, whose X-Forwarded-For is believed; 'unix' for a Unix "
        "socket. Empty, the client's address is REMOTE_ADDR.",
        _proxies,
    ),
    "GRANT_MAX_DAYS": Setting("grants", 90, "Longest life of a grant.", _whole(1, 3_650)),
    "PAIRING_MINUTES": Setting(
        "grants", 15, "How long a program's request for a session waits for a person.", _whole(1, 60)
    ),
    "SIGNATURE_MAX_SECONDS": Setting(
        "grants", 300, "Longest time between a signature's created and expires.", _whole(1, 300)
    ),
    "SIGNATURE_SKEW_SECONDS": Setting(
        "grants", 60, "How far ahead of ours a caller's clock may be.", _whole(0, 300)
    ),
    "IDEMPOTENCY_DAYS": Setting(
        "invocation", 7, "How long the answer to an Idempotency-Key is kept.", _whole(1, 365)
    ),
    "IDEMPOTENCY_LEASE_SECONDS": Setting(
        "invocation",
        60,
        "How long a call with an Idempotency-Key may run before a repeated call may take it over.",
        _whole(1, 3_600),
    ),
    "APPROVAL_MINUTES": Setting(
        "invocation",
        10,
        "How long a person may take to decide about a call, and how long an approval is then good for.",
        _whole(1, 1_440),
    ),
    "BRIDGE_SECONDS": Setting(
        "invocation",
        15,
        "How long a browser action waits for the page in the person's browser to answer.",
        _whole(1, 120),
    ),
    "AUTHORITIES": Setting(
        "messenger",
        (),
        "Other hosts, beside ORIGIN's, for which agents may sign their requests: former names of the site. Addresses "
        "are at ORIGIN's.",
        _authorities,
    ),
    "RESERVED_NAMES": Setting(
        "messenger", (), "Names that no agent may choose, beside the built-in ones.", _names
    ),
    "CONFUSABLE_NAMES": Setting(
        "messenger",
        False,
        "Whether names are refused that look like another agent's, 'a1ice' like 'alice'. Also 'modern' then looks like "
        "'modem'.",
        _switch,
    ),
    "CHALLENGE_DIFFICULTY": Setting(
        "messenger",
        18,
        "Leading zero bits that a newcomer's proof of work has; each one more doubles the work.",
        _whole(0, 24),
    ),
    "CHALLENGES_PER_HOUR": Setting(
        "messenger", 30, "Challenges that one address may ask for in an hour.", _whole(1, 1_000_000)
    ),
    "REGISTRATIONS_PER_HOUR": Setting(
        "messenger", 10, "Agents that may register from one address in an hour.", _whole(1, 1_000_000)
    ),
    "MESSAGE_RATE": Setting(
        "messenger", (1, 30), "Messages of one agent that are accepted: (a second, burst).", _rate
    ),
    "MESSAGES_PER_DAY": Setting(
        "messenger",
        5_000,
        "Messages of one agent that are accepted in a day. As of all limits a day or an hour, that many are there at "
        "once and come back evenly, so on the first day after a pause it is up to twice as many.",
        _whole(1, 100_000_000),
    ),
    "NEW_CONTACTS_PER_DAY": Setting(
        "messenger", 20, "Strangers to whom one agent may write first in a day.", _whole(1, 1_000_000)
    ),
    "CONTACT_CHANGES_PER_HOUR": Setting(
        "messenger",
        300,
        "How often one agent may accept, block or forget another in an hour.",
        _whole(1, 1_000_000),
    ),
    "UNACCEPTED_PER_PAIR": Setting(
        "messenger",
        3,
        "Messages that an agent may send to one that has not accepted it.",
        _whole(1, 1_000),
    ),
    "EVENTS_DAYS": Setting("messenger", 30, "How long events can be read again.", _whole(1, 3_650)),
    "MESSAGES_DAYS": Setting("messenger", 90, "How long messages are kept.", _whole(1, 3_650)),
    "REQUESTS_DAYS": Setting(
        "messenger", 14, "How long messages of strangers are kept that were not accepted.", _whole(1, 3_650)
    ),
    "WAKE_UPS": Setting(
        "messenger",
        "",
        "A Redis URL, 'redis://127.0.0.1:6379/0', through which processes tell each other of new events. Empty, each "
        "looks into the database. What gets lost on the way costs time only.",
        _url_or_empty("redis", "rediss", "unix"),
    ),
    "AWP": Setting(
        "content",
        {},
        "What the site is called and says of itself, and where the texts of its pages come from: a dict with the keys "
        "below.",
        _group("AWP"),
    ),
    "AUDIT_DAYS": Setting("invocation", 90, "How long audit rows are kept.", _whole(1, 3_650)),
    "SENSITIVE_NAMES": Setting(
        "invocation", (), "Names of members to remove from results, beside the built-in list.", _names
    ),
}

GROUPS: Final[dict[str, dict[str, Setting]]] = {
    "AWP": {
        "NAME": Setting("content", None, "The site's name. Unset, the host of ORIGIN.", _text_or_none(100)),
        "DESCRIPTION": Setting(
            "content",
            None,
            "What the site is, in a few sentences of at most 200 tokens together. Unset, made from its pages and "
            "actions.",
            _text_or_none(20_000),
        ),
        "SUMMARY": Setting(
            "content",
            None,
            "What an agent should know of the site, in Markdown of at most 500 tokens. Unset, made from its pages and "
            "actions.",
            _text_or_none(100_000),
        ),
        "INSTRUCTIONS": Setting(
            "content",
            None,
            "How agents should go about it here, in Markdown of at most 300 tokens. Unset, made from what is switched "
            "on.",
            _text_or_none(100_000),
        ),
        "SITEMAPS": Setting(
            "content",
            None,
            "The dict that the site gives to Django's sitemap view, or where it is, 'shop.urls.sitemaps': their pages "
            "become content too.",
            _sitemaps,
        ),
        "SELECTOR": Setting(
            "content",
            None,
            "A CSS selector of the main content of pages, '#main'. Unset, main, article or role=main.",
            _text_or_none(1_000),
        ),
        "LANGUAGES": Setting(
            "content",
            None,
            "The languages in which content is kept, some of LANGUAGES. Unset, all that the site sets there if it has "
            "LocaleMiddleware, else LANGUAGE_CODE.",
            _languages,
        ),
        "ANALYTICS": Setting(
            "content",
            True,
            "Whether requests of agents are counted: how many a day, protocol and kind of agent, and nothing else "
            "about them.",
            _switch,
        ),
        "ANALYTICS_DAYS": Setting("content", 400, "How long these counts are kept.", _whole(1, 3_650)),
    },
}
"""The keys of those settings that are dicts themselves."""


# Where Django's settings object remembers what it was asked for, emptied when a setting changes: a call asks us a dozen
# times, and going through the object takes ten times as long.
_remembered: Final[dict[str, Any]] = object.__getattribute__(settings, "__dict__")


def get(name: str) -> Any:
    """The site's value of a setting, else its default. An unknown name is a programming error (KeyError)."""
    default = SETTINGS[name].default
    values = _remembered.get("AGENTWEB")
    if values is None:
        values = getattr(settings, "AGENTWEB", {})
    return values.get(name, default) if type(values) is dict or isinstance(values, Mapping) else default


def get_in(group: str, name: str) -> Any:
    """The same of a setting in one that is a dict: ``get_in("AWP", "NAME")``."""
    default = GROUPS[group][name].default
    values = get(group)
    return values.get(name, default) if isinstance(values, Mapping) else default


def setting_of(key: str) -> Setting | None:
    """The setting that a key of ``problems`` names, None for what is no setting."""
    group, _, name = key.partition(".")
    return GROUPS.get(group, {}).get(name) if name else SETTINGS.get(key)


def problems() -> list[tuple[str, str, str | None]]:
    """What is wrong with the AGENTWEB dict: (key, what is wrong, nearest known key or None).

    A key in a setting that is a dict itself is ``AWP.NAME``.
    """
    values = getattr(settings, "AGENTWEB", {})
    if not isinstance(values, Mapping):
        return [("AGENTWEB", "must be a dict", None)]
    found = _problems(values, SETTINGS)
    for group, known in GROUPS.items():
        if isinstance(values.get(group), Mapping):
            found += [
                (f"{group}.{key}", wrong, nearest) for key, wrong, nearest in _problems(values[group], known)
            ]
    return found


def _problems(values: Mapping[Any, Any], known: Mapping[str, Setting]) -> list[tuple[str, str, str | None]]:
    found: list[tuple[str, str, str | None]] = []
    for key, value in values.items():
        setting = known.get(key)
        if setting is None:
            nearest = difflib.get_close_matches(str(key).upper(), known, n=1)
            found.append((str(key), "is not a setting of agentweb", nearest[0] if nearest else None))
        elif (wrong := setting.check(value)) is not None:
            found.append((key, wrong, None))
    return found


def dangers() -> list[tuple[str, str, str]]:
    """What in the settings beside AGENTWEB makes us answer wrongly: (id of the check, what is wrong, hint).

    These also keep the site from starting, for servers do not run checks.
    """
    if settings.USE_TZ:
        return []
    return [
        (
            "agentweb.E005",
            "USE_TZ is False: ends of grants, leases and limits are instants, and the database would keep local "
            "times without their zone, an hour of which comes twice a year.",
            "Write USE_TZ = True, Django's default since 5.0; TIME_ZONE stays what people see.",
        )
    ]
