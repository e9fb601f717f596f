"""Every setting, with its group, its default and a sentence."""

from __future__ import annotations

from typing import Final

from agentweb.conf import values
from agentweb.conf.values import Setting

GROUPS: Final[dict[str, dict[str, Setting]]] = {
    "AWP": {
        "NAME": Setting(
            "content",
            None,
            "The site's name. Unset, what the titles of its pages end in, else the title of its front page, else the "
            "host of ORIGIN.",
            values.text_or_none(100),
        ),
        "DESCRIPTION": Setting(
            "content",
            None,
            "What the site is, in a few sentences of at most 200 tokens together. Unset, made from its pages and "
            "actions.",
            values.text_or_none(20_000),
        ),
        "SUMMARY": Setting(
            "content",
            None,
            "What an agent should know of the site, in Markdown of at most 500 tokens. Unset, made from its pages and "
            "actions.",
            values.text_or_none(100_000),
        ),
        "INSTRUCTIONS": Setting(
            "content",
            None,
            "How agents should go about it here, in Markdown of at most 300 tokens. Unset, made from what is switched "
            "on.",
            values.text_or_none(100_000),
        ),
        "SITEMAPS": Setting(
            "content",
            None,
            "The dict that the site gives to Django's sitemap view, or where it is, 'shop.urls.sitemaps': their pages "
            "become content too.",
            values.sitemaps,
        ),
        "SELECTOR": Setting(
            "content",
            None,
            "A CSS selector of the main content of pages, '#main'. Unset, main, article or role=main.",
            values.text_or_none(1_000),
        ),
        "LANGUAGES": Setting(
            "content",
            None,
            "The languages in which content is kept, some of LANGUAGES. Unset, all that the site sets there if it has "
            "LocaleMiddleware, else LANGUAGE_CODE.",
            values.languages,
        ),
        "ANALYTICS": Setting(
            "content",
            True,
            "Whether requests of agents are counted: how many a day, protocol and kind of agent, and nothing else "
            "about them.",
            values.switch,
        ),
        "ANALYTICS_DAYS": Setting("content", 400, "How long these counts are kept.", values.whole(1, 3_650)),
    },
    "INDEX": {
        "SUBMISSIONS": Setting(
            "index",
            True,
            "Whether anybody may name a site at /agent-index/manifests, whose manifest the server then fetches.",
            values.switch,
        ),
        "SUBMISSION_RATE": Setting(
            "index", (0.05, 20), "Sites that one address may name: (a second, burst).", values.rate
        ),
        "FETCHES": Setting(
            "index",
            2,
            "Sites that one process asks at a time for who names them, each for up to 20 seconds; the others wait for "
            "the worker. With 0, all do.",
            values.whole(0, 100),
        ),
        "REFRESH_HOURS": Setting(
            "index",
            24,
            "How long a manifest is good before its site is asked again; after twice as long it is stale.",
            values.whole(1, 8_760),
        ),
        "SITES": Setting(
            "index", 10_000, "Sites that others may have named at most.", values.whole(1, 10_000_000)
        ),
        "ALLOW_HOSTS": Setting(
            "index",
            (),
            "Hosts that are called although their addresses are not public, also without TLS: your own, "
            "'intranet.example' or '127.0.0.1'.",
            values.names,
        ),
    },
}
"""The keys of those settings that are dicts themselves."""

SETTINGS: Final[dict[str, Setting]] = {
    "ORIGIN": Setting(
        "site",
        None,
        "Scheme and host that agents see, 'https://shop.example'. It fixes the manifest's site, the audience of "
        "grants and every absolute URL. Unset, the request's host is used, under DEBUG only.",
        values.origin,
    ),
    "ROOMS": Setting(
        "site",
        None,
        "The protocols that the site speaks, some of 'aip', 'awp', 'agent_actions', 'aim', 'index'; those that are "
        "left out answer nothing. Unset, all but 'index', with which the site calls others. Read when the site starts.",
        values.rooms,
    ),
    "ACTION_PREFIX": Setting(
        "site",
        "agent",
        "First part of an action's default path, '/agent/<name>'. What is there and neither an action nor a URL of "
        "the site's own is 404 in JSON.",
        values.prefix,
    ),
    "PEOPLE_PREFIX": Setting(
        "site",
        "agent-access",
        "First part of the paths of the pages for people, '/agent-access/approvals'. Read when the site starts.",
        values.prefix,
    ),
    "MANIFEST_MAX_AGE": Setting(
        "site",
        60,
        "Seconds for which public documents may be cached; those of AWP for an hour, which AWP says itself.",
        values.whole(0, 86_400),
    ),
    "PAGE_NEGOTIATION": Setting(
        "site",
        False,
        "Whether a page itself answers with its manifest to who prefers JSON or TOON to HTML in Accept. Needs the "
        "middleware agentweb.middleware.PageLinksMiddleware.",
        values.switch,
    ),
    "FLOWS_ON_SERVER": Setting(
        "site",
        False,
        "Whether the site runs flows itself, at endpoints.flows of the manifest; one grant must then cover every step.",
        values.switch,
    ),
    "GRANT_REQUESTS": Setting(
        "site",
        False,
        "Whether agents may ask people for grants, at endpoints.grants of the manifest. Needs the pages for people.",
        values.switch,
    ),
    "MAX_BODY_BYTES": Setting(
        "limits", 1_048_576, "Largest request body that is read.", values.whole(1_024, 104_857_600)
    ),
    "MAX_RESULT_BYTES": Setting(
        "limits", 4_194_304, "Largest result of an action, as JSON.", values.whole(1_024, 104_857_600)
    ),
    "PAGE_STATE_BYTES": Setting(
        "limits",
        262_144,
        "Largest state of a page, as JSON; a page whose state is larger has no session manifest.",
        values.whole(1_024, 104_857_600),
    ),
    "CALLER_RATE": Setting(
        "limits",
        (20, 60),
        "Signed requests of one person, or under one of the site's grants: (a second, burst). Shared by all "
        "processes.",
        values.rate,
    ),
    "ANONYMOUS_RATE": Setting(
        "limits",
        (2, 60),
        "Unsigned calls from one address: (a second, burst). Shared by all processes.",
        values.rate,
    ),
    "OPEN_APPROVALS": Setting(
        "limits",
        20,
        "Calls of one agent that may wait for a person's approval at once.",
        values.whole(1, 1_000),
    ),
    "PAIRING_RATE": Setting(
        "limits",
        (0.05, 20),
        "Requests for a session or a grant that one address may make: (a second, burst).",
        values.rate,
    ),
    "OPEN_PAIRINGS": Setting(
        "limits",
        10_000,
        "Requests for a session or a grant that may wait for a person at once, of all programs together.",
        values.whole(1, 10_000_000),
    ),
    "OPEN_PAIRINGS_PER_ADDRESS": Setting(
        "limits",
        100,
        "Requests for a session or a grant that may wait for a person at once, of all programs at one address.",
        values.whole(1, 10_000_000),
    ),
    "OPEN_GRANT_REQUESTS": Setting(
        "limits",
        5,
        "Requests for a grant that may wait for a person at once, of one key.",
        values.whole(1, 1_000),
    ),
    "CODE_RATE": Setting(
        "limits",
        (0.05, 30),
        "Codes of waiting programs that one person, and that one address, may enter: (a second, burst).",
        values.rate,
    ),
    "NEGOTIATION_RATE": Setting(
        "limits",
        (0.02, 30),
        "Offers that one person, or one holder of a site's grant, may make: (a second, burst).",
        values.rate,
    ),
    "OPEN_NEGOTIATIONS": Setting(
        "limits",
        20,
        "Negotiations that one agent may have open at once under one grant.",
        values.whole(1, 1_000),
    ),
    "FAILURE_RATE": Setting(
        "limits",
        (1, 60),
        "Requests of one address whose signature, grant or session does not hold: (a second, burst); more are "
        "refused before they are verified.",
        values.rate,
    ),
    "NEW_GRANT_RATE": Setting(
        "limits",
        (0.1, 100),
        "Grants that one person, or one holder of a site's grant, brings for the first time: (a second, burst).",
        values.rate,
    ),
    "STREAMS_PER_CALLER": Setting(
        "limits",
        20,
        "Streams that one person or agent may have open in one process.",
        values.whole(1, 10_000),
    ),
    "STREAMS_PER_PROCESS": Setting(
        "limits", 2_000, "Streams that may be open in one process under ASGI.", values.whole(1, 100_000)
    ),
    "STREAM_THREADS": Setting(
        "limits",
        2,
        "Threads of one process under WSGI that may wait in streams, for pages and for events of the messenger: half "
        "of the server's threads. Requests for events have half of these, or one. With 0, streams and requests for "
        "events are answered at once and asked for again every second.",
        values.whole(0, 1_000),
    ),
    "BRIDGE_CALLS_PER_PROCESS": Setting(
        "limits",
        200,
        "Calls that may wait for pages in people's browsers in one process under ASGI, each in a thread, and as many "
        "requests for events of the messenger; under WSGI STREAM_THREADS bounds them.",
        values.whole(1, 10_000),
    ),
    "TRUSTED_PROXIES": Setting(
        "limits",
        (),
        "Addresses and networks of the site's own proxies, whose X-Forwarded-For is believed; 'unix' for a Unix "
        "socket. Empty, the client's address is REMOTE_ADDR.",
        values.proxies,
    ),
    "GRANT_MAX_DAYS": Setting("grants", 90, "Longest life of a grant.", values.whole(1, 3_650)),
    "PAIRING_MINUTES": Setting(
        "grants", 15, "How long a request for a session or a grant waits for a person.", values.whole(1, 60)
    ),
    "SIGNATURE_MAX_SECONDS": Setting(
        "grants", 300, "Longest time between a signature's created and expires.", values.whole(1, 300)
    ),
    "SIGNATURE_SKEW_SECONDS": Setting(
        "grants", 60, "How far ahead of ours a caller's clock may be.", values.whole(0, 300)
    ),
    "IDEMPOTENCY_DAYS": Setting(
        "invocation", 7, "How long the answer to an Idempotency-Key is kept.", values.whole(1, 365)
    ),
    "IDEMPOTENCY_LEASE_SECONDS": Setting(
        "invocation",
        60,
        "How long a call with an Idempotency-Key may run before a repeated call may take it over.",
        values.whole(1, 3_600),
    ),
    "APPROVAL_MINUTES": Setting(
        "invocation",
        10,
        "How long a person may take to decide about a call, and how long an approval is then good for.",
        values.whole(1, 1_440),
    ),
    "NEGOTIATOR": Setting(
        "invocation",
        None,
        "Where the site's function is that answers offers of agents, 'shop.prices.negotiate'. Unset, there is no "
        "bargaining.",
        values.dotted_or_none("shop.prices.negotiate"),
    ),
    "NEGOTIATION_ROUNDS": Setting(
        "invocation", 5, "Offers that an agent may make in one negotiation.", values.whole(1, 100)
    ),
    "NEGOTIATION_MINUTES": Setting(
        "invocation", 15, "How long a negotiation stays open.", values.whole(1, 1_440)
    ),
    "AGREEMENT_MINUTES": Setting(
        "invocation", 60, "How long a price that was agreed on is good for.", values.whole(1, 525_600)
    ),
    "BRIDGE_SECONDS": Setting(
        "invocation",
        15,
        "How long a browser action waits for the page in the person's browser to answer.",
        values.whole(1, 120),
    ),
    "PAYMENTS": Setting(
        "money",
        None,
        "Where the site's payment provider is, 'shop.payments.Provider'. Unset, charges are entries of the site's own "
        "ledger, and nobody is asked for the money.",
        values.dotted_or_none("shop.payments.Provider"),
    ),
    "PAYMENT_TIMEOUT_SECONDS": Setting(
        "money",
        20,
        "How long one answer of the payment provider is waited for.",
        values.whole(1, 300),
    ),
    "PAYMENT_ABANDONED_MINUTES": Setting(
        "money",
        60,
        "How long a call may come back for a payment that it has begun. Then what was captured is refunded, and "
        "what the provider has not done is cancelled.",
        values.whole(5, 1_440),
    ),
    "REFUND_POLICY": Setting(
        "money",
        None,
        "Where the function is that decides about refunds for which agents ask, 'shop.refunds.policy': "
        "(receipt, amount, ctx) -> 'approve', 'pending' or 'refuse'. Unset, all wait for the staff.",
        values.dotted_or_none("shop.refunds.policy"),
    ),
    "REFUND_RESTORES_MANDATE": Setting(
        "money",
        True,
        "Whether what is refunded may be spent again under the same mandate. Uses of a grant never come back.",
        values.switch,
    ),
    "AUTHORITIES": Setting(
        "messenger",
        (),
        "Other hosts, beside ORIGIN's, for which agents may sign their requests: former names of the site. Addresses "
        "are at ORIGIN's.",
        values.authorities,
    ),
    "RESERVED_NAMES": Setting(
        "messenger", (), "Names that no agent may choose, beside the built-in ones.", values.names
    ),
    "CONFUSABLE_NAMES": Setting(
        "messenger",
        False,
        "Whether names are refused that look like another agent's, 'a1ice' like 'alice'. Also 'modern' then looks like "
        "'modem'.",
        values.switch,
    ),
    "CHALLENGE_DIFFICULTY": Setting(
        "messenger",
        18,
        "Leading zero bits that a newcomer's proof of work has; each one more doubles the work.",
        values.whole(0, 24),
    ),
    "CHALLENGES_PER_HOUR": Setting(
        "messenger", 30, "Challenges that one address may ask for in an hour.", values.whole(1, 1_000_000)
    ),
    "REGISTRATIONS_PER_HOUR": Setting(
        "messenger", 10, "Agents that may register from one address in an hour.", values.whole(1, 1_000_000)
    ),
    "MESSAGE_RATE": Setting(
        "messenger", (1, 30), "Messages of one agent that are accepted: (a second, burst).", values.rate
    ),
    "MESSAGES_PER_DAY": Setting(
        "messenger",
        5_000,
        "Messages of one agent that are accepted in a day. As of all limits a day or an hour, that many are there at "
        "once and come back evenly, so on the first day after a pause it is up to twice as many.",
        values.whole(1, 100_000_000),
    ),
    "NEW_CONTACTS_PER_DAY": Setting(
        "messenger", 20, "Strangers to whom one agent may write first in a day.", values.whole(1, 1_000_000)
    ),
    "CONTACT_CHANGES_PER_HOUR": Setting(
        "messenger",
        300,
        "How often one agent may accept, block or forget another in an hour.",
        values.whole(1, 1_000_000),
    ),
    "UNACCEPTED_PER_PAIR": Setting(
        "messenger",
        3,
        "Messages that an agent may send to one that has not accepted it.",
        values.whole(1, 1_000),
    ),
    "EVENTS_DAYS": Setting("messenger", 30, "How long events can be read again.", values.whole(1, 3_650)),
    "MESSAGES_DAYS": Setting("messenger", 90, "How long messages are kept.", values.whole(1, 3_650)),
    "REQUESTS_DAYS": Setting(
        "messenger",
        14,
        "How long messages of strangers are kept that were not accepted.",
        values.whole(1, 3_650),
    ),
    "WAKE_UPS": Setting(
        "messenger",
        "",
        "A Redis URL, 'redis://127.0.0.1:6379/0', through which processes tell each other of new events. Empty, each "
        "looks into the database. What gets lost on the way costs time only.",
        values.url_or_empty("redis", "rediss", "unix"),
    ),
    "AWP": Setting(
        "content",
        {},
        "What the site is called and says of itself, and where the texts of its pages come from: a dict with the keys "
        "below.",
        values.dict_of(GROUPS["AWP"]),
    ),
    "INDEX": Setting(
        "index",
        {},
        "The index of other sites' actions, where ROOMS has 'index': a dict with the keys below.",
        values.dict_of(GROUPS["INDEX"]),
    ),
    "AUDIT_DAYS": Setting("invocation", 90, "How long audit rows are kept.", values.whole(1, 3_650)),
    "SENSITIVE_NAMES": Setting(
        "invocation", (), "Names of members to remove from results, beside the built-in list.", values.names
    ),
}
