"""The action manifest of an API that has an OpenAPI document, 3.0 or 3.1.

The effect is that of the method unless ``x-agent-effect`` or the overlay says it: GET reads, DELETE deletes, others
write. That something spends or sends is never guessed, and words that sound like it are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from agentweb.agent_actions.manifest import VERSION
from agentweb.agent_actions.openapi.inputs import Input, read_input
from agentweb.agent_actions.openapi.names import MAX_NAME, action_name, path_name, risky_words
from agentweb.agent_actions.openapi.overlays import Overlay, read_overlay
from agentweb.agent_actions.openapi.references import ReferenceProblem, References, TooLarge
from agentweb.agent_actions.openapi.report import Report
from agentweb.catalog.costs import CostError, read_cost
from agentweb.catalog.declaring import humanised
from agentweb.catalog.effects import Effect
from agentweb.client.manifest import read_manifest
from agentweb.wire.errors import ClientError
from agentweb.wire.http_signature import authority_of
from agentweb.wire.schema import SchemaError, compile_schema
from agentweb.wire.scopes import check_scope

METHODS: Final = ("get", "post", "put", "patch", "delete")
LEFT_OUT: Final = ("head", "options", "trace", "query")
_EFFECTS: Final = {"get": "read", "delete": "delete"}
_WORDS: Final = ("example", "consequential", "idempotent", "confirm")
"""Members of an action that are taken as they are."""


@dataclass(frozen=True, slots=True)
class Imported:
    """``manifest`` is None when the report has errors."""

    manifest: dict[str, Any] | None
    report: Report


@dataclass(frozen=True, slots=True)
class _Operation:
    method: str
    path: str
    item: Mapping[str, Any]
    value: Mapping[str, Any]

    @property
    def ident(self) -> str | None:
        found = self.value.get("operationId")
        return found if isinstance(found, str) and found else None

    @property
    def address(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def where(self) -> str:
        return f"{self.address} ({self.ident})" if self.ident else self.address


def manifest_from(document: Any, overlay: Any = None, *, site: str | None = None) -> Imported:
    """The manifest of an OpenAPI document, and what is to be said of it.

    ``site`` is the host that serves the API, ``host[:port]``; unless given, that of the document's first server.
    """
    report = Report()
    if not _is_ours(document, report):
        return Imported(None, report)
    added = read_overlay({} if overlay is None else overlay, report)
    references = References(document)
    host, prefix = _server(document, report)
    site = site or host
    if site is None:
        report.error("", "site", "The document's servers name no host; say which with --site shop.example.")
        site = "localhost"
    elif not _is_site(site):
        report.error(
            "", "site", f"{site!r} is no host with its port; shop.example or shop.example:8443 is one."
        )
        site = "localhost"
    entries: list[dict[str, Any]] = []
    takers: dict[str, str] = {}
    known: set[str] = set()
    for operation in _operations(document, references, report):
        known |= {operation.address, *([operation.ident] if operation.ident else [])}
        words = _words(operation, added)
        if words.get("skip") is True:
            continue
        try:
            entry = _entry(operation, words, prefix, references, report)
        except ReferenceProblem as problem:
            report.error(operation.where, "reference", f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
            continue
        if entry is None:
            continue
        other = takers.setdefault(entry["name"], operation.where)
        if other != operation.where:
            report.error(
                operation.where, "name", f"{other} is called {entry['name']!r} too; give one another name."
            )
            continue
        entries.append(entry)
    added.say_unused(known, report)
    flows = [*_flows_of(document), *added.flows]
    manifest = {
        "version": VERSION,
        "site": site,
        "auth": {"type": "agent-grant"},
        "actions": entries,
        "flows": flows,
    }
    _check(manifest, report)
    return Imported(None if report.has_errors else manifest, report)


def _is_ours(document: Any, report: Report) -> bool:
    if not isinstance(document, Mapping):
        report.error("", "document", "An OpenAPI document is a JSON object.")
        return False
    version = document.get("openapi")
    if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
        said = "Swagger 2.0" if "swagger" in document else f"openapi {version!r}"
        report.error("", "version", f"The document is {said}; 3.0 and 3.1 are understood.")
        return False
    if not isinstance(document.get("paths", {}), Mapping):
        report.error("", "document", "paths is no object.")
        return False
    return True


def _server(document: Mapping[str, Any], report: Report) -> tuple[str | None, str]:
    """(host, path before every other) of the document's first server."""
    given_servers = document.get("servers")
    servers: list[Any] = given_servers if isinstance(given_servers, list) else []
    first = servers[0] if servers else None
    url = first.get("url") if isinstance(first, Mapping) else None
    if not isinstance(url, str):
        return None, ""
    given: Any = first.get("variables") if isinstance(first, Mapping) else None
    for name, variable in given.items() if isinstance(given, Mapping) else ():
        if isinstance(variable, Mapping):
            url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
    if len(servers) > 1:
        report.note("", "servers", f"Of {len(servers)} servers the first is taken, {url}.")
    try:
        parts = urlsplit(url)
    except ValueError:
        report.note("", "servers", f"{url!r} is no address of a host.")
        return None, ""
    prefix = parts.path.rstrip("/")
    if not parts.netloc:
        return None, prefix if prefix.startswith("/") else ""
    try:
        return authority_of(url), prefix
    except ValueError:
        report.note("", "servers", f"{url!r} is no address of a host.")
        return None, prefix


def _is_site(site: str) -> bool:
    try:
        return authority_of(f"https://{site}") == site
    except ValueError:
        return False


def _operations(document: Mapping[str, Any], references: References, report: Report) -> Iterator[_Operation]:
    for path, given in document.get("paths", {}).items():
        try:
            item = references.follow(given)
        except ReferenceProblem as problem:
            report.error(str(path), "reference", f"Of this path {problem}.")
            continue
        if not isinstance(item, Mapping) or not str(path).startswith("/"):
            if not str(path).startswith("x-"):
                report.error(str(path), "path", "This is no path with its operations.")
            continue
        for method in LEFT_OUT:
            if method in item:
                report.loss(f"{method.upper()} {path}", "method", "An action has no such method.")
        for method in METHODS:
            value = item.get(method)
            if isinstance(value, Mapping):
                yield _Operation(method, str(path), item, value)
    if document.get("webhooks"):
        report.loss("", "webhooks", "Webhooks are calls of the site's own, and no actions.")


def _words(operation: _Operation, overlay: Overlay) -> dict[str, Any]:
    """What is said of the operation in ``x-agent-…``, and over it in the overlay."""
    own = {
        name.removeprefix("x-agent-"): value
        for name, value in operation.value.items()
        if name.startswith("x-agent-")
    }
    return own | overlay.words_of(operation.address, *([operation.ident] if operation.ident else []))


def _entry(
    operation: _Operation, words: Mapping[str, Any], prefix: str, references: References, report: Report
) -> dict[str, Any] | None:
    """The member of ``actions``, or None with the reason in the report."""
    where, value = operation.where, operation.value
    if "input" in words:
        request = words.get("request") or {}
        if not _is_request(request):
            report.error(where, "request", 'x-agent-request is {"query": {input: name}, "body": input}.')
            return None
        found: Input | None = Input(words["input"], prefix + operation.path, request)
    else:
        found = read_input(
            operation.method.upper(),
            prefix + operation.path,
            operation.item,
            value,
            references,
            report,
            where,
        )
    if found is None:
        return None
    name = (
        words.get("name") or action_name(operation.ident or "") or path_name(operation.method, operation.path)
    )
    if not isinstance(name, str):
        report.error(where, "name", "The name is no text.")
        return None
    summary, description = _text(value.get("summary")), value.get("description")
    if not isinstance(description, str):
        description, summary = summary or operation.address, ""
    entry: dict[str, Any] = {
        "name": name if "name" in words else name[:MAX_NAME],
        "description": words.get("description", description),
        "method": operation.method.upper(),
        "path": found.path,
        "effect": _effect(operation, words, name, report),
    }
    if words.get("scope") is not None:
        entry["scope"] = words["scope"]
        _check_scope(entry["scope"], where, report)
    elif entry["effect"] != Effect.READ:
        report.note(
            where,
            "scope",
            f"It has effect {entry['effect']} and no scope, so agents may call it under any grant of the site; say "
            "scope in the overlay or x-agent-scope.",
        )
    entry["input"] = found.schema
    if words.get("cost") is not None:
        entry["cost"] = words["cost"]
        _check_cost(entry["cost"], found.schema, where, report)
    title = words.get("title", summary)
    if not isinstance(title, str):
        report.error(where, "title", "The title is no text.")
    elif title and title != humanised(name):
        entry["title"] = title
    output = words["output"] if "output" in words else _output(value, references, report, where)
    if output is not None:
        entry["output"] = output
    entry |= {word: words[word] for word in _WORDS if words.get(word) is not None}
    tags = words.get("tags", value.get("tags"))
    if named := [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []:
        entry["tags"] = named
    if found.request:
        entry["request"] = found.request
        if "query" in found.request and operation.method not in {"get", "delete"}:
            report.note(
                where,
                "query",
                f"{', '.join(found.request['query'])} in the query of a {operation.method.upper()}: agentweb's client "
                "sends it there, others may not.",
            )
    _check_schema(entry["input"], "input", where, report)
    return entry


def _effect(operation: _Operation, words: Mapping[str, Any], name: str, report: Report) -> str:
    given = words.get("effect")
    if given is None:
        effect = _EFFECTS.get(operation.method, "write")
        if effect == "write":
            texts = (name, operation.path, _text(operation.value.get("summary")))
            for risky, found in risky_words(*texts).items():
                report.note(
                    operation.where,
                    "effect",
                    f"{', '.join(found)}: does it {risky}? Nobody said, so it is a write; say effect in the overlay "
                    "or x-agent-effect.",
                )
        return effect
    if not isinstance(given, str) or given not in set(Effect):
        report.error(operation.where, "effect", f"{given!r} is none of {', '.join(Effect)}.")
        return "write"
    if given == "read" and operation.method not in {"get", "post"}:
        report.note(
            operation.where, "effect", f"A {operation.method.upper()} that only reads is doubted by clients."
        )
    if given != "read" and operation.method == "get":
        report.error(operation.where, "effect", f"A GET cannot {given}: caches and crawlers repeat it.")
    return str(given)


def _output(value: Mapping[str, Any], references: References, report: Report, where: str) -> Any:
    """The schema of the first answer of success that is JSON."""
    responses = value.get("responses")
    answers = responses if isinstance(responses, Mapping) else {}
    for status in sorted(answers):
        if not str(status).startswith("2"):
            continue
        answer = references.follow(answers[status])
        content = answer.get("content") if isinstance(answer, Mapping) else None
        media = content.get("application/json") if isinstance(content, Mapping) else None
        if isinstance(media, Mapping) and "schema" in media:
            try:
                schema = references.schema(media["schema"], drop="writeOnly")
                compile_schema(schema, foreign=True)
            except (SchemaError, TooLarge) as error:
                report.loss(where, "output", f"The schema of its answer cannot be published: {error}")
                return None
            return schema
    return None


def _is_request(value: Any) -> bool:
    """Whether it says where inputs travel, as ``inputs.Input.request`` does."""
    query = value.get("query", {}) if isinstance(value, Mapping) else None
    return (
        isinstance(query, Mapping)
        and all(isinstance(wire, str) for wire in query.values())
        and isinstance(value.get("body", ""), str)
    )


def _flows_of(document: Mapping[str, Any]) -> list[Any]:
    flows = document.get("x-agent-flows", [])
    return flows if isinstance(flows, list) else []


def _check_scope(scope: Any, where: str, report: Report) -> None:
    try:
        check_scope(scope)
    except ValueError as error:
        report.error(where, "scope", f"The scope {scope!r} does not hold: {error}")


def _check_cost(cost: Any, schema: Any, where: str, report: Report) -> None:
    try:
        read_cost(cost, schema if isinstance(schema, dict) else {})
    except CostError as error:
        report.error(where, "cost", f"The cost does not hold: {error}.")


def _check_schema(schema: Any, what: str, where: str, report: Report) -> None:
    """Agents compile it as a stranger's: what they would refuse is an error here."""
    try:
        compile_schema(schema, foreign=True)
    except SchemaError as error:
        report.error(where, what, f"Agents cannot use its {what}: {error}")


def _check(manifest: dict[str, Any], report: Report) -> None:
    """What an agent would make of it."""
    try:
        read = read_manifest(manifest, site=manifest["site"], url=f"https://{manifest['site']}/")
    except ClientError as error:
        for problem in error.problems or []:
            report.error(str(problem["pointer"]), "manifest", str(problem["message"]))
        return
    for problem in read.unusable:
        report.error(problem["pointer"], "manifest", problem["message"])
    for flow in read.flows.values():
        for problem in flow.problems:
            report.error(f"flow {flow.name}{problem['pointer']}", "flow", problem["message"])


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
