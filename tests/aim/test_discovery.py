"""What is public: the manifest, the policy, the OpenAPI document, the guides."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import clear_script_prefix, include, re_path, set_script_prefix
from openapi_spec_validator import validate

from agentweb.aim import discovery, documents, log, mount, policy
from agentweb.aim import urls as aim_urls
from agentweb.aim.routes import ROUTES
from agentweb.http.documents import Place
from agentweb.http.doors import advertised
from agentweb.wire.aim.vector import signing_vector
from agentweb.wire.errors import Code
from tests.aim import contract
from tests.aim.wire import Speaker, code, registered, send

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("easy_work")]

PLACE = Place("https://shop.example", "shop.example")
MOUNTED = Place("https://shop.example", "shop.example", "/chat")


@pytest.mark.requirement("AIM-S3.1", "AIM-S8.1", "AIM-S2.2")
def test_the_manifest_is_public_and_complete(client: Client) -> None:
    response = send(client, "GET", "/.well-known/aim.json")
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["Cache-Control"].startswith("public, max-age=")
    assert response.json() == {
        "protocol": "aim",
        "version": "2",
        "authority": "shop.example",
        "origin": "https://shop.example",
        "core": [
            {"intent": "discover", "method": "GET", "path": "/.well-known/aim.json", "auth": "none"},
            {"intent": "challenge", "method": "POST", "path": "/v2/challenges", "auth": "none"},
            {"intent": "register", "method": "POST", "path": "/v2/agents/register", "auth": "AIM"},
            {
                "intent": "receive",
                "method": "GET",
                "path": "/v2/inbox",
                "auth": "AIM",
                "query": {"lane": ["primary", "requests"]},
            },
            {"intent": "speak", "method": "POST", "path": "/v2/messages", "auth": "AIM", "batch_max": 20},
            {
                "intent": "return",
                "method": "GET",
                "path": "/v2/events",
                "auth": "AIM",
                "query": {"after": "CURSOR"},
            },
        ],
        "signature": {
            "scheme": "AIM",
            "algorithm": "ed25519",
            "max_skew_seconds": 300,
            "authorities": ["shop.example"],
        },
        "envelope": {
            "canonicalization": "rfc8785",
            "digest": "sha-256",
            "sealed": ["x25519-sealedbox-1"],
        },
        "docs": {
            "authentication": "/docs/authentication.md",
            "envelopes": "/docs/envelopes.md",
            "signing_vector": "/docs/signing-vector.json",
        },
        "openapi": "/openapi.json",
        "policy": "/v2/policy",
        "federation": False,
    }
    tag = response["ETag"]
    again = send(client, "GET", "/.well-known/aim.json", If_None_Match=tag)
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.requirement("AIM-S2.1")
def test_the_manifest_is_no_agent_card() -> None:
    assert not {"skills", "capabilities", "url", "name", "description", "defaultInputModes"} & set(
        discovery.document(PLACE)
    )


@pytest.mark.requirement("AIM-S3.2")
@pytest.mark.parametrize("prefix", ["", "/chat"])
def test_what_the_core_lists_is_served_and_documented(client: Client, prefix: str) -> None:
    place = Place("https://shop.example", "shop.example", prefix)
    document = json.loads(documents.openapi(place).content)
    if prefix:
        set_script_prefix(f"{prefix}/")
    try:
        manifest = discovery.document(place)
        for endpoint in manifest["core"]:
            assert endpoint["method"].lower() in document["paths"][endpoint["path"]]
            path = endpoint["path"].removeprefix(prefix)
            assert client.generic(endpoint["method"], path).status_code in {200, 201, 401}
        for path in [*manifest["docs"].values(), manifest["openapi"], manifest["policy"]]:
            assert client.get(path.removeprefix(prefix)).status_code == 200
    finally:
        clear_script_prefix()


class OnlyTheMessenger:
    """A site with this room alone, under a path of its own."""

    urlpatterns = (
        re_path(r"^chat/", include((aim_urls.urlpatterns, "agentweb"))),
        *aim_urls.well_known,
    )


def test_a_messenger_alone_under_a_path_knows_where_it_is(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = OnlyTheMessenger
    manifest = client.get("/.well-known/aim.json").json()
    assert [each["path"] for each in manifest["core"]][1:3] == [
        "/chat/v2/challenges",
        "/chat/v2/agents/register",
    ]
    assert client.get(manifest["openapi"]).status_code == 200
    assert client.generic("POST", manifest["core"][1]["path"]).status_code == 201


def test_other_names_of_the_site_are_listed(client: Client, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "AUTHORITIES": ["old.example", "shop.example"]}
    for path in ("/.well-known/aim.json", "/v2/policy"):
        assert client.get(path).json()["signature"]["authorities"] == ["shop.example", "old.example"]
    assert "`old.example`" in client.get("/docs/authentication.md").content.decode()


# -- the policy


@pytest.mark.requirement("AIM-S26.2")
@pytest.mark.parametrize(
    ("setting", "value", "where", "published"),
    [
        ("CALLER_RATE", (7, 9), "limits.request_rate_per_second", 7),
        ("CALLER_RATE", (7, 9), "limits.request_burst", 9),
        ("ANONYMOUS_RATE", (0.5, 11), "limits.anonymous_rate_per_second_per_ip", 0.5),
        ("ANONYMOUS_RATE", (0.5, 11), "limits.anonymous_burst_per_ip", 11),
        ("MESSAGE_RATE", (0.5, 4), "limits.message_rate_per_second", 0.5),
        ("MESSAGE_RATE", (0.5, 4), "limits.message_burst", 4),
        ("MESSAGES_PER_DAY", 77, "limits.messages_per_day", 77),
        ("NEW_CONTACTS_PER_DAY", 2, "limits.new_contacts_per_day", 2),
        ("NEW_CONTACTS_PER_DAY", 2, "limits.new_contacts_burst", 2),
        ("CONTACT_CHANGES_PER_HOUR", 6, "limits.contact_changes_per_hour", 6),
        ("UNACCEPTED_PER_PAIR", 5, "limits.unaccepted_per_pair", 5),
        ("EVENTS_DAYS", 3, "retention.events_days", 3),
        ("MESSAGES_DAYS", 4, "retention.messages_days", 4),
        ("REQUESTS_DAYS", 5, "retention.requests_days", 5),
        ("CHALLENGE_DIFFICULTY", 6, "challenge.difficulty", 6),
    ],
)
def test_the_policy_follows_the_settings(
    client: Client, settings: Any, setting: str, value: Any, where: str, published: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, setting: value}
    section, name = where.split(".")
    assert send(client, "GET", "/v2/policy").json()[section][name] == published


def refused_after(
    speaker: Speaker, to: list[Any], settings: Any, **limits: Any
) -> list[tuple[int, str | None]]:
    settings.AGENTWEB = {**settings.AGENTWEB, **limits}
    found = []
    for each in to:
        response = speaker.send(each)
        document = json.loads(response.content)
        found.append((response.status_code, document.get("error", {}).get("code")))
    return found


def test_what_the_policy_says_of_messages_is_what_is_enforced(client: Client, settings: Any) -> None:
    alice, bob, carol = (registered(name) for name in ("alice", "bob", "carol"))
    accepted, limited = (202, None), (429, "rate_limited")
    assert refused_after(alice, [alice] * 3, settings, MESSAGE_RATE=(0.001, 2)) == [
        accepted,
        accepted,
        limited,
    ]
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGE_RATE": (100, 100)}
    full = (429, "quota_exceeded")
    assert refused_after(bob, [bob] * 3, settings, MESSAGES_PER_DAY=2) == [accepted, accepted, full]
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGES_PER_DAY": 5_000}
    no = (403, "recipient_not_accepting")
    assert refused_after(carol, [bob] * 3, settings, UNACCEPTED_PER_PAIR=2) == [accepted, accepted, no]
    assert refused_after(carol, [alice], settings, NEW_CONTACTS_PER_DAY=1) == [full]


def test_a_smaller_limit_of_djangos_own_is_the_one_that_is_published(client: Client, settings: Any) -> None:
    assert client.get("/v2/policy").json()["limits"]["request_bytes"] == 1_400_000
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 5_000
    assert client.get("/v2/policy").json()["limits"]["request_bytes"] == 5_000
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 3_000
    assert client.get("/v2/policy").json()["limits"]["other_request_bytes"] == 3_000
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    assert client.get("/v2/policy").json()["limits"]["request_bytes"] == 1_400_000


# -- OpenAPI


@pytest.mark.requirement("AIM-S26.1")
@pytest.mark.parametrize("place", [PLACE, MOUNTED], ids=["at the root", "under a path"])
def test_the_openapi_document_is_valid(place: Place) -> None:
    validate(json.loads(documents.openapi(place).content))


@pytest.mark.requirement("AIM-S26.1")
def test_every_address_is_in_the_openapi_document_with_its_methods(client: Client) -> None:
    paths = contract.document()["paths"]
    assert set(paths) == {f"/{route.path}" for route in ROUTES}
    for route in ROUTES:
        allowed = client.options(f"/{route.path.replace('{', '').replace('}', '')}")["Allow"].split(", ")
        assert {method.lower() for method in allowed} - {"head", "options"} == set(paths[f"/{route.path}"])


def test_every_operation_has_a_name_of_its_own_and_says_what_it_answers() -> None:
    operations = [item for path in contract.document()["paths"].values() for item in path.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    assert all(each["summary"] and {"200", "201", "202"} & set(each["responses"]) for each in operations)


def test_every_part_of_the_document_is_used() -> None:
    document = contract.document()
    used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    # The body of a sealed message is one of the bodies there are; nothing refers to it.
    assert set(document["components"]["schemas"]) - used == {"SealedBody"}


def test_the_codes_of_the_document_are_codes() -> None:
    known = set(Code)
    for item in contract.document()["paths"].values():
        for operation in item.values():
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert set(answer["description"].split(", ")) <= known


def test_the_sites_own_openapi_document_knows_nothing_of_it(settings: Any) -> None:
    from drf_spectacular.generators import SchemaGenerator

    before = contract.document()
    settings.SPECTACULAR_SETTINGS = {"OAS_VERSION": "3.0.3", "TITLE": "The site's", "CAMELIZE_NAMES": True}
    own = SchemaGenerator().get_schema(public=True)
    assert not [path for path in own["paths"] if path.startswith("/v2")]
    documents._kept.forget()
    assert json.loads(documents.openapi(PLACE).content) == before


# -- the guides


@pytest.mark.requirement("AIM-S12.8", "AIM-S15.3")
@pytest.mark.parametrize("path", [mount.AUTHENTICATION_GUIDE, mount.ENVELOPES_GUIDE])
@pytest.mark.parametrize("place", [PLACE, MOUNTED], ids=["at the root", "under a path"])
def test_a_guide_is_whole_and_its_links_lead_somewhere(client: Client, path: str, place: Place) -> None:
    text = documents.DOCUMENTS[path][1](place).content.decode()
    assert "{{" not in text
    links = re.findall(r"\]\((/[^)]*)\)", text)
    assert links
    for link in links:
        assert client.get(link.removeprefix(place.prefix)).status_code == 200
    addresses = set(re.findall(r"(?:GET|POST|PUT|PATCH|DELETE) (/[a-z0-9/._-]*)", text))
    served = [re.compile("/" + re.sub(r"\{[a-z]+\}", "[^/]+", route.path) + "/?") for route in ROUTES]
    for address in addresses:
        bare = address.removeprefix(place.prefix)
        assert any(each.match(bare) or each.pattern.startswith(bare) for each in served), address


def test_the_guides_have_the_numbers_of_the_policy(client: Client, settings: Any) -> None:
    settings.AGENTWEB = {
        **settings.AGENTWEB,
        "CHALLENGE_DIFFICULTY": 13,
        "MESSAGES_PER_DAY": 4_321,
        "EVENTS_DAYS": 17,
        "UNACCEPTED_PER_PAIR": 6,
        "ANONYMOUS_RATE": (0.5, 17),
    }
    enforced = client.get("/v2/policy").json()
    requests = client.get("/docs/authentication.md").content.decode()
    envelopes = client.get("/docs/envelopes.md").content.decode()
    assert "At the difficulty of now, 13, that is about 8192 hashes." in requests
    assert "Events are kept 17 days." in requests
    assert "17 unsigned requests of one network address at once and then 0.5 a second" in " ".join(
        requests.split()
    )
    assert f"write first, {enforced['limits']['new_contacts_burst']} at once" in " ".join(envelopes.split())
    assert "4321 a day" in envelopes
    assert "up to twice as many fit" in requests
    assert "up to twice as many fit" in envelopes
    assert "300 changes of contacts an hour; 4096 bytes" in " ".join(requests.split())
    assert "`message_bytes`" not in envelopes
    assert f"{policy.WAIT_SECONDS}) holds the request" in requests
    assert all(f"`{kind}`" in requests for kind in log.SCOPES)


def test_the_guides_name_every_code_that_a_client_can_do_something_about(client: Client) -> None:
    text = (
        client.get("/docs/authentication.md").content.decode()
        + client.get("/docs/envelopes.md").content.decode()
    )
    operations = [item for path in contract.document()["paths"].values() for item in path.values()]
    codes = {
        each
        for operation in operations
        for status, answer in operation["responses"].items()
        if int(status) >= 400
        for each in answer["description"].split(", ")
    }
    plain = {
        "invalid_input", "invalid_parameter", "malformed_json", "duplicate_key", "invalid_unicode", "token_in_url",
        "number_out_of_range", "unsupported_media_type", "not_found", "batch_too_large", "authorization_required",
        "sealed_not_allowed", "invalid_key",
    }  # fmt: skip
    assert {each for each in codes if f"`{each}`" not in text and f" {each}`" not in text} - plain == set()


def test_the_test_vector_is_that_of_the_code(client: Client) -> None:
    response = client.get("/docs/signing-vector.json")
    assert response.json() == json.loads(json.dumps(signing_vector()))


# -- doors and documents


def test_the_messenger_is_advertised() -> None:
    assert advertised("aim") is not None
    assert advertised("aim_openapi") is not None
    assert advertised("aim_policy") is not None


def test_its_documents_are_exported(tmp_path: Path) -> None:
    from agentweb import exports

    names = dict(exports.contents(exports.here()))
    assert {".well-known/aim.json", "openapi.json", "docs/authentication.md", "docs/envelopes.md"} <= set(
        names
    )
    assert "docs/signing-vector.json" in names


@pytest.mark.parametrize("path", ["/v2", "/v2/", "/v2/nothing", "/v2/messages/a/b", "/v2/stream"])
def test_what_is_nothing_is_404_in_json(client: Client, path: str) -> None:
    for method in ("GET", "POST"):
        assert code(send(client, method, path)) == (404, "not_found")


def test_what_the_site_has_under_the_same_name_stays_its_own(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.aim.own_urls"
    assert client.get("/v2/products").content == b"own"
    assert code(send(client, "GET", "/v2/other")) == (404, "not_found")
    assert client.get("/docs/handbook").content == b"own"
