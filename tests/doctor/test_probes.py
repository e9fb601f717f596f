"""Each probe sees its fault: one is planted in a sound site, and the doctor names this id and no other."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.core.checks import Warning as CheckWarning
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from agentweb import AgentError, action, page
from agentweb.access.models import Bucket, Nonce, SiteKey
from agentweb.agent_actions import manifest, published
from agentweb.aip import manifest as aip_manifest
from agentweb.aip import published as aip_published
from agentweb.awp.content.models import ContentRun
from agentweb.catalog.registry import registry
from agentweb.doctor import advertised, database_probes, keys_probes, probes, queue_probes
from agentweb.doctor.examination import Examination, Finding
from agentweb.http import cors, doors
from agentweb.http.doors import Door
from agentweb.invoke.models import AuditEntry
from agentweb.ledger.payment_models import Payment
from agentweb.wire.clock import clock, now_datetime
from agentweb.wire.errors import InputError
from tests.aim.filling import agent, post
from tests.awp.pages import end_run, write_page
from tests.doctor import tampering
from tests.doctor.conftest import FOUND, ORDER
from tests.site.models import Note

ON_SQLITE = "sqlite"
ON_POSTGRES = "postgresql"


@dataclass
class Bench:
    """What a planted fault may take hold of."""

    settings: Any
    patch: pytest.MonkeyPatch
    exits: list[Callable[[], None]] = field(default_factory=list)

    def middleware(self, name: str) -> None:
        self.settings.MIDDLEWARE = [f"{tampering.HERE}.{name}", *self.settings.MIDDLEWARE]

    def database(self, **changes: Any) -> None:
        for name, value in changes.items():
            self.patch.setitem(connection.settings_dict, name, value)


Plant = Callable[[Bench], Any]
PLANTS: list[Any] = []


def plant(*ids: str, only: str | None = None, also: str = "", fix: str = "") -> Callable[[Plant], Plant]:
    """A fault by the ids that it brings; ``also`` are words of the text, ``fix`` of the advice."""

    def add(function: Plant) -> Plant:
        PLANTS.append(
            pytest.param(set(ids), only, also, fix, function, id=f"{'-'.join(ids)}-{function.__name__}")
        )
        return function

    return add


@pytest.mark.parametrize(("ids", "only", "also", "fix", "planted"), PLANTS)
def test_a_planted_fault_is_found_under_its_id(
    ids: set[str],
    only: str | None,
    also: str,
    fix: str,
    planted: Plant,
    wrong: Callable[[], list[Finding]],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if only not in {None, connection.vendor}:
        pytest.skip(f"a fault of {only}")
    bench = Bench(settings, monkeypatch)
    planted(bench)
    try:
        found = wrong()
    finally:
        for leave in bench.exits:
            leave()
    assert {each.id for each in found} == ids, found
    assert also in " ".join(each.text for each in found)
    assert fix in " ".join(each.fix for each in found)
    assert all(each.text and each.fix for each in found)
    assert "hunter2" not in str(found)


def test_every_probe_has_a_planted_fault() -> None:
    planted = {each for parameters in PLANTS for each in parameters.values[0]}
    # In tests of their own: no database in test_examination, and a redirect above.
    assert {probe.id for probe in probes.all_probes()} - planted == {"D020", "D052"}


# -- the database


@plant("D021", also="0001_initial")
def not_migrated(bench: Bench) -> None:
    MigrationRecorder.Migration.objects.filter(app="agentweb").delete()


@plant("D022", only=ON_SQLITE, fix="IMMEDIATE")
def deferred(bench: Bench) -> None:
    bench.database(OPTIONS={"timeout": 20})


@plant("D023", only=ON_SQLITE, fix="journal_mode=WAL")
def no_wal(bench: Bench) -> None:
    # What journal_mode says of a database in memory is "memory".
    bench.patch.setattr(connection, "is_in_memory_db", lambda: False)


@plant("D024", only=ON_SQLITE, also="power cut")
def not_synchronous(bench: Bench) -> None:
    # Inside the test's transaction the real setting cannot be changed; tests/access/test_checks.py does it.
    warning = CheckWarning("a power cut", hint="FULL", id="agentweb.W032")
    bench.patch.setattr(connection, "is_in_memory_db", lambda: False)
    bench.patch.setattr(database_probes, "check_durability", lambda databases: [warning])


@plant("D024", only=ON_POSTGRES, also="synchronous_commit is off")
def commits_are_not_flushed(bench: Bench) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")


@plant("D025", only=ON_SQLITE, also="5 seconds")
def impatient(bench: Bench) -> None:
    bench.database(OPTIONS={"transaction_mode": "IMMEDIATE"})


@plant("D026", also="600")
def kept_under_asgi(bench: Bench) -> None:
    bench.settings.ASGI_APPLICATION = "shop.asgi.application"
    bench.database(CONN_MAX_AGE=600)


@plant("D027", also="nonces, limits, audit rows", fix="clear_expired")
def never_cleared(bench: Bench) -> None:
    Nonce.objects.create(key="k", nonce="n", expires_at=now_datetime() - timedelta(days=3))
    Bucket.objects.create(key="k", tat=1)
    audit(at=now_datetime() - timedelta(days=93))


# -- settings


@plant("D010", also="agentweb.E001", fix="CALLER_RATE")
def a_misspelt_setting(bench: Bench) -> None:
    bench.settings.AGENTWEB = {**bench.settings.AGENTWEB, "CALLER_RAET": (1, 1)}


@plant("D011", also="agentweb.W010")
def an_action_without_a_scope(bench: Bench) -> None:
    action("free", effect="write", description="No scope.", input=None)(lambda _, ctx: None)


@plant("D012", fix="DEBUG = False")
def debug_in_public(bench: Bench) -> None:
    bench.settings.DEBUG = True


@plant("D013", also="ALLOWED_HOSTS does not have shop.example")
def another_host(bench: Bench) -> None:
    bench.settings.ALLOWED_HOSTS = ["other.example"]


@plant("D014", fix="https://")
def in_clear(bench: Bench) -> None:
    bench.settings.AGENTWEB = {"ORIGIN": "http://shop.example"}
    bench.settings.SECURE_SSL_REDIRECT = False


# -- keys and clock


@plant("D030", fix="agentweb_keys create")
def no_key(bench: Bench) -> None:
    SiteKey.objects.all().delete()
    published.forget()


@plant("D031", fix="SECRET_KEY_FALLBACKS")
def another_secret_key(bench: Bench) -> None:
    bench.settings.SECRET_KEY = "another-secret-key-another-secret-key-another-one"


@plant("D032", fix="reseal")
def a_former_secret_key(bench: Bench) -> None:
    bench.settings.SECRET_KEY_FALLBACKS = [bench.settings.SECRET_KEY]
    bench.settings.SECRET_KEY = "another-secret-key-another-secret-key-another-one"


@plant("D033", also="500 days", fix="rotate")
def an_old_key(bench: Bench) -> None:
    SiteKey.objects.update(created_at=now_datetime() - timedelta(days=500, hours=1))


@plant("D034", also="which is over")
def a_clock_of_the_past(bench: Bench) -> None:
    moved = clock(lambda: 1_600_000_000.0)
    moved.__enter__()
    bench.exits.append(lambda: moved.__exit__(None, None, None))


@plant("D034", also="newest audit row")
def a_row_from_the_future(bench: Bench) -> None:
    audit(at=now_datetime() + timedelta(hours=1))


@plant("D035", only=ON_POSTGRES, also="ahead of this machine")
def a_database_in_the_future(bench: Bench) -> None:
    bench.patch.setattr(keys_probes, "now_datetime", lambda: now_datetime() - timedelta(minutes=2))


def test_the_other_clock_is_not_asked_for_on_sqlite() -> None:
    if connection.vendor == "sqlite":
        assert keys_probes.other_clock_in_the_database(None) is None  # type: ignore[arg-type]


# -- payments


@plant("D046", also="1 payments", fix="agentweb_payments")
def payments_that_nobody_settles(bench: Bench) -> None:
    at = now_datetime() - timedelta(hours=3)
    Payment.objects.create(
        id="rc_x", intent="x", ordinal=0, provider="x", amount=1, currency="USD", created_at=at, next_at=at
    )


# -- cache and broker


@plant("D040", also="LocMemCache")
def throttles_in_every_process(bench: Bench) -> None:
    bench.settings.REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.AnonRateThrottle"]
    }
    bench.settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}


def test_throttles_of_one_published_view_are_seen_too(settings: Any) -> None:
    from rest_framework.throttling import UserRateThrottle
    from rest_framework.views import APIView

    class Throttled(APIView):
        """Throttled."""

        throttle_classes = (UserRateThrottle,)

        def get(self, request: Any) -> None: ...

    settings.REST_FRAMEWORK = {}
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    with registry.only():
        assert queue_probes.throttles_in_a_process(None) is None  # type: ignore[arg-type]
        action.from_view(Throttled, name="throttled", input=None)
        [problem] = queue_probes.throttles_in_a_process(None) or []  # type: ignore[arg-type]
    assert "'throttled' has throttles" in problem.text


@plant("D041", also="no socket_connect_timeout and no socket_timeout")
def a_broker_without_timeouts(bench: Bench) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    bench.exits.append(listener.close)
    bench.settings.CELERY_BROKER_URL = f"redis://:hunter2@127.0.0.1:{listener.getsockname()[1]}/0"


@plant("D042", also="cannot be reached")
def a_broker_that_is_away(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    bench.settings.CELERY_BROKER_URL = f"redis://:hunter2@127.0.0.1:{port}/0"
    bench.settings.CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 0.5, "socket_timeout": 1}


@plant("D043")
def eager_tasks(bench: Bench) -> None:
    bench.settings.CELERY_TASK_ALWAYS_EAGER = True


# -- the messenger's background work


@plant("D400", also="No worker has looked at the messenger's log ever; 2 events are left")
def messages_and_no_worker(bench: Bench) -> None:
    post(agent("ann"), agent("bob"))


@plant("D401", also="does not answer: ConnectionError")
def wake_ups_by_a_redis_that_is_away(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    bench.settings.AGENTWEB = {
        **bench.settings.AGENTWEB,
        "WAKE_UPS": f"redis://:hunter2@127.0.0.1:{port}/0",
    }


@plant("D402", also="PUT /v2/contacts/agentweb-doctor answers 418 by another view")
def a_middleware_that_takes_an_address_of_the_messenger(bench: Bench) -> None:
    bench.middleware("takes_contacts")


@plant("D403", also="does not arrive", fix="WSGIPassAuthorization")
def a_server_that_keeps_the_signature(bench: Bench) -> None:
    bench.middleware("drops_the_token")


@plant("D404", also="/v2/events?after=now&limit=5&utm_source=x at shop.example")
def a_middleware_that_changes_the_query(bench: Bench) -> None:
    bench.middleware("adds_to_the_query")


# -- answers


@plant("D050", "D051", "D062", also="answers 503")
def no_manifest(bench: Bench) -> None:
    bench.middleware("knows_no_manifest")


@plant("D051", also="/no/such/door is advertised and answers 404", fix="agentweb.urls")
def a_door_to_nowhere(bench: Bench) -> None:
    bench.patch.setitem(doors._doors, "nowhere", Door("nowhere", "/no/such/door", "application/json"))


def test_a_door_that_is_somebody_else_s_is_found(wrong: Callable[[], list[Finding]], settings: Any) -> None:
    settings.ROOT_URLCONF = tampering.NotIncluded
    assert {"D050", "D051", "D011"} <= {each.id for each in wrong()}


def test_a_front_end_that_takes_everything_is_found_although_it_answers_200(
    wrong: Callable[[], list[Finding]], settings: Any
) -> None:
    settings.ROOT_URLCONF = tampering.EverythingFirst
    found = wrong()
    assert {each.id for each in found} == {"D011", "D050", "D051", "D101", "D102", "D106"}
    assert "answers 200 by another view, as text/html" in " ".join(each.text for each in found)


def test_a_site_under_a_path_without_its_well_known_is_found(
    wrong: Callable[[], list[Finding]], settings: Any
) -> None:
    settings.ROOT_URLCONF = tampering.UnderAPath
    found = wrong()
    assert "agentweb.W041" in " ".join(each.text for each in found)
    assert any(each.id == "D050" and "well_known" in each.fix for each in found)


def test_a_redirect_to_https_that_no_proxy_header_stops_is_found(
    wrong: Callable[[], list[Finding]], settings: Any
) -> None:
    settings.AGENTWEB = {"ORIGIN": "http://127.0.0.1:8000"}
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    found = [each for each in wrong() if each.id == "D052"]
    assert found
    assert "leads to https://127.0.0.1:8000/" in found[0].text
    assert "SECURE_SSL_REDIRECT" in found[0].fix


@plant("D053", "D101", also=" and /agent-actions/receipts/ answers 404")
def no_slash(bench: Bench) -> None:
    bench.middleware("insists_on_no_slash")


@plant("D054", also="answers as text/html")
def html(bench: Bench) -> None:
    bench.middleware("calls_it_html")


@plant("D054", also="without its charset")
def no_charset(bench: Bench) -> None:
    bench.middleware("forgets_the_charset")


@plant("D055", "D058")
def other_bytes(bench: Bench) -> None:
    bench.middleware("rewrites")


@plant("D056", "D059", also="Access-Control-Allow-Origin is https://shop.example and not *")
def an_origin_of_the_site_s_own(bench: Bench) -> None:
    bench.middleware("echoes_the_origin")


@plant("D056", also="X-Request-Id is 4bf92f3577b34da6")
def another_request_id(bench: Bench) -> None:
    bench.middleware("names_requests_itself")


@plant("D056", also="Vary does not name")
def no_vary(bench: Bench) -> None:
    bench.middleware("removes_vary")


@plant("D057", also="no ETag")
def no_tag(bench: Bench) -> None:
    bench.middleware("removes_the_tag")


@plant("D058", also="HEAD /.well-known")
def no_head(bench: Bench) -> None:
    bench.middleware("refuses_head")


def test_the_expression_that_is_printed_leaves_no_address_of_ours_to_the_site_s_policy(
    wrong: Callable[[], list[Finding]],
) -> None:
    page("/baskets/<int:pk>", title="A basket")
    addresses = advertised.addresses(Examination())
    covering = cors.setting().partition('r"')[2].rstrip('"')
    assert len(addresses) > 20
    ours = [*addresses, "/baskets/7.json", "/agent/search", "/awp/content/tea.md", "/v2/agents/x"]
    assert [path for path in ours if re.match(covering, path)] == []
    assert re.match(covering, "/baskets/7")


def test_many_preflights_that_fail_are_one_finding(
    wrong: Callable[[], list[Finding]], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Bench(settings, monkeypatch).middleware("answers_preflights")
    (found,) = (each for each in wrong() if each.id == "D059")
    assert "other addresses: no page can call them." in found.text
    assert cors.setting() in found.fix


@plant("D059", fix="CORS_URLS_REGEX")
def another_s_preflight(bench: Bench) -> None:
    bench.middleware("answers_preflights")


@plant("D060", also="sets cookies (seen)")
def a_cookie(bench: Bench) -> None:
    bench.middleware("sets_a_cookie")


@plant("D060", also="varies by Cookie")
def a_session(bench: Bench) -> None:
    bench.middleware("looks_into_the_session")


@plant("D061", "D102", also="POST /.well-known/agent-actions.json answers 403")
def csrf(bench: Bench) -> None:
    bench.middleware("wants_a_csrf_token")


@plant("D062", also="links to /nowhere?a=1, which answers 404")
def a_dead_link(bench: Bench) -> None:
    own = manifest.manifest
    bench.patch.setattr(
        published,
        "manifest",
        lambda **given: {**own(**given), "more": {"help": "https://shop.example/nowhere?a=1#b."}},
    )
    published.forget()


@plant(
    "D062", also="links to /agent-actions/nothing, which answers 404", fix="correct or leave out what names"
)
def a_dead_link_under_our_own_name(bench: Bench) -> None:
    own = manifest.manifest
    bench.patch.setattr(
        published,
        "manifest",
        lambda **given: {**own(**given), "more": {"help": "https://shop.example/agent-actions/nothing"}},
    )
    published.forget()


# -- agent-actions


@plant("D100", also="Agents cannot read the manifest")
def a_manifest_of_another_version(bench: Bench) -> None:
    bench.patch.setattr(manifest, "VERSION", "agent-actions/9.9")
    published.forget()


@plant("D100", also="Agents cannot use the action search (/effect)")
def an_action_that_agents_cannot_use(bench: Bench) -> None:
    own = manifest.action_entry
    changed = {"search": {"effect": "look"}}
    bench.patch.setattr(
        manifest, "action_entry", lambda each, prefix="": {**own(each, prefix), **changed.get(each.name, {})}
    )
    published.forget()


@plant("D100", also="the action search (/input/properties/left/maximum) holds the number 9223372036854775807")
def a_number_that_no_double_holds(bench: Bench) -> None:
    own = manifest.action_entry
    wide = {"type": "object", "properties": {"left": {"type": "integer", "maximum": 2**63 - 1}}}
    changed = {"search": {"input": wide}}
    bench.patch.setattr(
        manifest, "action_entry", lambda each, prefix="": {**own(each, prefix), **changed.get(each.name, {})}
    )
    published.forget()


@plant("D100", also="The example of search does not fit")
def an_example_that_does_not_fit(bench: Bench) -> None:
    own = manifest.action_entry
    changed = {"search": {"example": {"query": 7}}}
    bench.patch.setattr(
        manifest, "action_entry", lambda each, prefix="": {**own(each, prefix), **changed.get(each.name, {})}
    )
    published.forget()


@plant(
    "D101",
    "D102",
    "D106",
    also="put is listed at POST /agent/put, where OPTIONS answers 200 by a view of the site",
)
def an_action_that_another_view_takes(bench: Bench) -> None:
    bench.middleware("takes_an_action")


@plant("D102", also="broken, called with its example, answers 500", fix="test_probes")
def a_read_that_crashes(bench: Bench) -> None:
    @action(description="Crash.", input=None)
    def broken(_inp: Any, ctx: Any) -> Any:
        raise LookupError("no such table")


@plant("D103", also="picky refuses its own example: invalid_input: Only odd ones.")
def an_example_that_is_refused(bench: Bench) -> None:
    @action(description="Odd.", input=ORDER, method="GET", example={"id": 2})
    def picky(inp: Any, ctx: Any) -> Any:
        raise InputError([{"pointer": "/id", "field": "id", "code": "odd", "message": "Only odd ones."}])


@plant("D104", also="/found")
def a_result_that_does_not_fit(bench: Bench) -> None:
    @action(description="Find.", input=None, output=FOUND)
    def finds(_inp: Any, ctx: Any) -> Any:
        return {"found": "nothing"}


@plant("D105", also="scribble is a read and writes to testsite_note")
def a_read_that_writes(bench: Bench) -> None:
    @action(description="Note.", input=None)
    def scribble(_inp: Any, ctx: Any) -> Any:
        Note.objects.create(text="left behind")
        return {}


@plant("D106", also="/agent/agentweb-doctor-no-such-name")
def another_404(bench: Bench) -> None:
    bench.middleware("has_its_own_404")


# -- pages


def cart(bench: Bench) -> None:
    """A page that holds, where the site has a view."""
    bench.settings.ROOT_URLCONF = tampering.WithACart
    bench.settings.LOGIN_URL = "https://id.example/"
    page("/cart", title="Cart", actions=["put"])
    end_run()


def test_a_sound_page_is_no_fault(
    wrong: Callable[[], list[Finding]], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cart(Bench(settings, monkeypatch))
    assert wrong() == []


@plant("D110", also="/cart.toon does not say")
def two_forms_that_differ(bench: Bench) -> None:
    cart(bench)
    bench.patch.setattr("agentweb.aip.published.toon.dumps", lambda document: b"protocol: AIP")
    aip_published.documents.forget()
    bench.exits.append(aip_published.documents.forget)


@plant("D111", also="put on /cart")
def an_example_of_another_action(bench: Bench) -> None:
    cart(bench)
    as_it_is = aip_manifest._entry
    bench.patch.setattr(aip_manifest, "_entry", lambda offer: {**as_it_is(offer), "input_example": [1]})
    aip_published.documents.forget()
    bench.exits.append(aip_published.documents.forget)


@plant("D011", "D062", "D112", also="The page /cart has a manifest and answers 404 itself")
def a_page_that_is_not_there(bench: Bench) -> None:
    page("/cart", title="Cart")
    end_run()


@plant("D120", also="No run has confirmed every page yet", fix="agentweb_content")
def no_content_yet(bench: Bench) -> None:
    cart(bench)
    ContentRun.objects.all().delete()


@plant("D120", also="failed at /crash/ (it raised an error: RuntimeError: no).", fix="Correct these pages")
def content_of_which_a_page_fails(bench: Bench) -> None:
    cart(bench)
    failed = {"path": "/crash/", "language": "", "reason": "raised", "detail": "RuntimeError: no"}
    told = json.dumps([{**failed, "is_failure": True}, {**failed, "path": "/private/", "is_failure": False}])
    ContentRun.objects.update(is_complete=False, reports=told)


@plant("D120", also="ended on", fix="agentweb_content")
def old_content(bench: Bench) -> None:
    cart(bench)
    ContentRun.objects.update(finished_at=now_datetime() - timedelta(days=31))


@plant("D062", "D121", also="/awp/content/cart.md, the content of /cart/, answers 404", fix="manage.py check")
def content_that_another_view_answers_for(bench: Bench) -> None:
    cart(bench)
    write_page("cart", "# Cart")
    bench.middleware("knows_no_content")


@plant(
    "D122",
    also="A dead link on the page /cart/: /gone answers 404.",
    fix="Correct the link on the page",
)
def a_page_with_a_dead_link(bench: Bench) -> None:
    cart(bench)
    origin = "https://shop.example"
    write_page(
        "cart",
        f"# Cart\n\n[Gone]({origin}/gone), [here]({origin}/cart), [there](https://elsewhere.example/gone)",
    )


def test_files_and_what_other_sites_have_are_no_dead_links(
    wrong: Callable[[], list[Finding]], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cart(Bench(settings, monkeypatch))
    settings.STATIC_URL, settings.MEDIA_URL = "/static/", "https://shop.example/media/"
    pictures = "![A](https://shop.example/static/a.png) ![B](https://shop.example/media/b.png)"
    write_page("cart", f"# Cart\n\n{pictures}")
    assert wrong() == []


@plant(
    "D113",
    "D403",
    also="/cart.json, asked with a token that is none, answers 200",
    fix="WSGIPassAuthorization",
)
def a_server_that_keeps_the_header(bench: Bench) -> None:
    cart(bench)
    bench.middleware("drops_the_token")


def test_a_made_up_example_may_be_refused(wrong: Callable[[], list[Finding]]) -> None:
    @action(description="Odd.", input=ORDER, method="GET")
    def picky(inp: Any, ctx: Any) -> Any:
        raise InputError([{"pointer": "/id", "field": "id", "code": "odd", "message": "Only odd ones."}])

    assert wrong() == []


def test_a_refusal_of_a_read_is_no_fault(wrong: Callable[[], list[Finding]]) -> None:
    @action(description="Made up.", input=ORDER, method="GET")
    def look_up(inp: Any, ctx: Any) -> Any:
        raise AgentError("order_not_found", "There is none.", status=404)

    assert wrong() == []


def audit(*, at: Any) -> None:
    AuditEntry.objects.create(
        at=at, request_id="rq_1", subject="s", action="a", status=200, outcome="ok", duration_us=1
    )
