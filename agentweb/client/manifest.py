"""Another site's action manifest, read strictly: what it says is a claim, and its texts are data.

Members that this version does not know are ignored. The input schema of an action is hostile until compiled
under the limits for foreign schemas, and is compiled when the action is first called. An action that cannot be used
spoils itself only: the others are there, and ``unusable`` says why it is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import urljoin

from agentweb.wire.canonical import CanonicalError, digest
from agentweb.wire.errors import ClientError, Code, MoneyError
from agentweb.wire.flow_inputs import derived_input
from agentweb.wire.http_signature import authority_of
from agentweb.wire.money import CURRENCIES, format_amount, parse_amount
from agentweb.wire.references import check_output, check_references
from agentweb.wire.safe_numbers import nearest_doubles
from agentweb.wire.schema import CompiledSchema, SchemaError, compile_schema
from agentweb.wire.scopes import check_scope
from agentweb.wire.strict_json import Json

VERSION: Final = "agent-actions/0.1"
WELL_KNOWN: Final = "/.well-known/agent-actions.json"
MAX_ACTIONS: Final = 2_000
MAX_KEYS: Final = 100
EFFECTS: Final = ("read", "write", "send", "spend", "delete")
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}")
# Visible ASCII without what would end a path or walk out of it; "{" and "}" enclose parameters.
_PATH: Final = re.compile(r"/(?!/)[!-\"$->@-\[\]-~]{0,999}")
_PARAMETER: Final = re.compile(r"\{([^{}/]+)\}")
_MAX_PROBLEMS: Final = 100

Problem = dict[str, str]


@dataclass(frozen=True, slots=True)
class DeclaredCost:
    """What a spend action costs: the input named by ``field``, or a fixed ``amount`` in minor units."""

    currency: str
    field: str | None = None
    amount: int | None = None


@dataclass(frozen=True, slots=True)
class ManifestAction:
    """One action as its site declares it. ``document`` is the whole entry."""

    name: str
    description: str
    method: str
    path: str
    effect: str
    scope: str | None
    input: dict[str, Any] | bool
    cost: DeclaredCost | None
    document: Mapping[str, Any] = field(repr=False)

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """Names of the inputs that the path takes, in order."""
        return tuple(_PARAMETER.findall(self.path))

    @property
    def takes_query(self) -> bool:
        """Whether the input travels in the query string."""
        return self.method in {"GET", "DELETE"}

    @property
    def in_query(self) -> dict[str, str]:
        """Inputs that travel in the query string under a name of their own, or whatever the method: the member
        ``request`` of an action that was made of an OpenAPI document."""
        query = self._request.get("query")
        given = query.items() if isinstance(query, Mapping) else ()
        return {name: wire for name, wire in given if isinstance(wire, str)}

    @property
    def as_body(self) -> str | None:
        """The input that is the whole body, None where the others are its members."""
        name = self._request.get("body")
        return name if isinstance(name, str) else None

    @property
    def _request(self) -> Mapping[str, Any]:
        found = self.document.get("request")
        return found if isinstance(found, Mapping) else {}

    @property
    def declared_cost(self) -> dict[str, str] | None:
        """``{"currency", "amount" or "field"}``, the amount as a text; None for an action that declares none."""
        if self.cost is None:
            return None
        if self.cost.amount is None:
            return {"currency": self.cost.currency, "field": str(self.cost.field)}
        return {
            "currency": self.cost.currency,
            "amount": format_amount(self.cost.amount, self.cost.currency),
        }

    @property
    def waits_for_a_person(self) -> bool:
        """Whether the site lets a person approve each call (``confirm`` in its manifest)."""
        return self.document.get("confirm") == "person"

    @property
    def needs_grant(self) -> bool:
        return self.scope is not None or self.effect != "read"

    def schema(self) -> CompiledSchema:
        """The input schema, compiled as a foreign one. Raises ClientError ``manifest_invalid``."""
        try:
            return compile_schema(self.input, foreign=True)
        except SchemaError as error:
            raise ClientError(
                Code.MANIFEST_INVALID,
                f"The site's input schema of {self.name} cannot be used: {error}",
                problems=list(error.problems),
                action=self.name,
                reason="schema",
            ) from None


@dataclass(frozen=True, slots=True)
class ManifestFlow:
    """One flow as its site declares it; ``problems`` lists why it cannot run (empty when it can)."""

    name: str
    description: str
    steps: list[Json]
    input: dict[str, Any] | bool | None
    problems: tuple[Problem, ...]
    output: Json = None

    def input_schema(self, actions: Mapping[str, ManifestAction]) -> CompiledSchema:
        """The flow's own input schema, or the one that follows from the steps; compiled as a foreign one.

        Raises ClientError ``manifest_invalid`` for a schema that cannot be used.
        """
        schema = self.input
        try:
            if schema is None:
                calls: list[tuple[str, Mapping[str, Any], Json]] = []
                for step in self.steps:
                    action = actions[str(step["action"])]  # type: ignore[index,call-overload]
                    action.schema()
                    taken = action.input if isinstance(action.input, dict) else {}
                    calls.append((action.name, taken, step.get("with", {})))  # type: ignore[union-attr]
                schema = derived_input(calls)
            return compile_schema(schema, foreign=True)
        except (ValueError, RecursionError) as error:
            raise ClientError(
                Code.MANIFEST_INVALID,
                f"The input of the flow {self.name} cannot be used: {error}",
                flow=self.name,
            ) from None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A site's manifest. ``url`` is where it was read, ``digest`` the hash of its canonical form.

    Integers beyond ±(2^53-1) count as their nearest doubles in it. ``unusable`` are the problems of the entries of
    ``actions`` that were left out, by their pointers.
    """

    site: str
    url: str
    digest: str
    actions: Mapping[str, ManifestAction]
    flows: Mapping[str, ManifestFlow]
    keys: tuple[Mapping[str, Any], ...]
    endpoints: Mapping[str, str]
    document: Mapping[str, Any] = field(repr=False)
    unusable: tuple[Problem, ...] = ()

    def action(self, name: str) -> ManifestAction:
        """The action of this name.

        Raises ClientError ``action_not_found`` with ``closest`` names, and ``manifest_invalid`` with ``problems`` for
        one that the manifest declares wrongly.
        """
        found = self.actions.get(name)
        if found is None:
            if wrong := self._wrong_with(name):
                raise _invalid(wrong, f"The action {name}")
            closest = get_close_matches(name.lower(), self.actions, n=3)
            hint = f" Did you mean {' or '.join(closest)}?" if closest else ""
            raise ClientError(
                Code.ACTION_NOT_FOUND,
                f"{self.site} offers no action of this name.{hint}",
                site=self.site,
                closest=closest,
            )
        return found

    def flow(self, name: str) -> ManifestFlow:
        """The flow of this name, which can run.

        Raises ClientError ``not_found`` with ``closest`` names, and ``flow_invalid`` with ``problems`` for one that
        cannot.
        """
        found = self.flows.get(name)
        if found is None:
            closest = get_close_matches(name.lower(), self.flows, n=3)
            hint = f" Did you mean {' or '.join(closest)}?" if closest else ""
            raise ClientError(
                Code.NOT_FOUND,
                f"{self.site} offers no flow of this name.{hint}",
                site=self.site,
                closest=closest,
            )
        if found.problems:
            first = found.problems[0]
            raise ClientError(
                Code.FLOW_INVALID,
                f"The flow {name} cannot run: {first['pointer']}: {first['message']}",
                problems=list(found.problems[:_MAX_PROBLEMS]),
                flow=name,
            )
        return found

    def _wrong_with(self, name: str) -> list[Problem]:
        """What is wrong with the left-out entries of this name."""
        listed = self.document.get("actions", [])
        starts = tuple(
            f"/actions/{place}/"
            for place, entry in enumerate(listed)
            if isinstance(entry, dict) and entry.get("name") == name
        )
        return (
            [problem for problem in self.unusable if problem["pointer"].startswith(starts)] if starts else []
        )

    def endpoint(self, name: str) -> str | None:
        """The absolute URL of an endpoint of this very site, None when it names none."""
        given = self.endpoints.get(name)
        if given is None:
            return None
        try:
            url = urljoin(self.url, given)
            here = url.partition("://")[0] == self.url.partition("://")[0] and authority_of(url) == self.site
        except ValueError:
            return None
        return url if here else None


def read_manifest(document: Json, *, site: str, url: str) -> Manifest:
    """The manifest in a JSON value that came from ``site`` (``host[:port]``) at ``url``.

    Raises ClientError ``manifest_invalid`` listing every problem of the whole, with pointers into the manifest; those
    of single actions are in ``unusable``.
    """
    if not isinstance(document, dict):
        raise _invalid([_problem("", "type", "A manifest is a JSON object.")])
    problems = list(_check_head(document, site))
    keys, endpoints = document.get("keys"), document.get("endpoints")
    if isinstance(keys, list) and len(keys) > MAX_KEYS:
        problems.append(_problem("/keys", "maxItems", f"keys must be a list of at most {MAX_KEYS}."))
    actions: dict[str, ManifestAction] = {}
    unusable: list[Problem] = []
    doubled: set[str] = set()
    listed = document.get("actions", [])
    if not isinstance(listed, list) or len(listed) > MAX_ACTIONS:
        problems.append(_problem("/actions", "type", f"actions must be a list of at most {MAX_ACTIONS}."))
        listed = []
    for position, entry in enumerate(listed):
        found = list(_check_action(entry, f"/actions/{position}"))
        if not found and isinstance(entry, dict):
            action = _read_action(entry)
            if action.name in actions:
                # Which of them is meant is not guessed.
                doubled.add(action.name)
                found = [_problem(f"/actions/{position}/name", "duplicate", "Another action has this name.")]
            actions.setdefault(action.name, action)
        unusable += found
    if problems:
        raise _invalid(problems)
    for name in doubled:
        del actions[name]
    return Manifest(
        site=site,
        url=url,
        digest=_digest(document),
        actions=actions,
        flows=_read_flows(document.get("flows"), actions),
        keys=tuple(key for key in keys if isinstance(key, dict)) if isinstance(keys, list) else (),
        endpoints={
            name: target
            for name, target in (endpoints.items() if isinstance(endpoints, dict) else ())
            if isinstance(target, str)
        },
        document=document,
        unusable=tuple(unusable[:_MAX_PROBLEMS]),
    )


def _digest(document: Json) -> str:
    try:
        return digest(document)
    except CanonicalError:
        # Whatever was read has one, but for integers that no double holds exactly.
        return digest(nearest_doubles(document))


def _check_head(document: dict[str, Json], site: str) -> Iterator[Problem]:
    if document.get("version") != VERSION:
        yield _problem("/version", "const", f'version must be "{VERSION}".')
    if document.get("site") != site:
        yield _problem("/site", "const", _misnamed(document.get("site"), site))


def _misnamed(claimed: Json, site: str) -> str:
    """What to do about a site that goes by another name than the one it was called by."""
    if not isinstance(claimed, str) or not re.fullmatch(r"[A-Za-z0-9.:\[\]_-]{1,255}", claimed):
        return f"site must be {site}, where the manifest was found."
    return (
        f"The site calls itself {claimed} and was called as {site}. Call it by its own name, or let its owner set "
        f'AGENTWEB["ORIGIN"] to the address that agents call, with {site} in it.'
    )


def _check_action(entry: Json, at: str) -> Iterator[Problem]:
    if not isinstance(entry, dict):
        yield _problem(at, "type", "An action is an object.")
        return
    name, path, schema = entry.get("name"), entry.get("path"), entry.get("input", True)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield _problem(
            f"{at}/name", "pattern", "name must be 1 to 100 letters, digits, '_', '-', '.', ':', '/'."
        )
    if not isinstance(entry.get("description", ""), str):
        yield _problem(f"{at}/description", "type", "description must be a text.")
    if entry.get("method") not in METHODS:
        yield _problem(f"{at}/method", "enum", f"method must be one of {', '.join(METHODS)}.")
    if not isinstance(path, str) or not _is_path(path):
        yield _problem(f"{at}/path", "pattern", "path must be an absolute path of this site.")
    if entry.get("effect") not in EFFECTS:
        yield _problem(f"{at}/effect", "enum", f"effect must be one of {', '.join(EFFECTS)}.")
    if "scope" in entry and not _is_scope(entry["scope"]):
        yield _problem(
            f"{at}/scope", "pattern", "scope must be segments of a-z, 0-9, '_', '.', '-' joined by ':'."
        )
    if not isinstance(schema, (dict, bool)):
        yield _problem(f"{at}/input", "type", "input must be a JSON Schema.")
    if "cost" in entry and _read_cost(entry["cost"]) is None:
        yield _problem(f"{at}/cost", "type", "cost must be a currency with a field or an amount.")


def _is_path(path: str) -> bool:
    return _PATH.fullmatch(path) is not None and not {".", ".."} & set(path.split("/"))


def _is_scope(value: object) -> bool:
    try:
        check_scope(value)
    except ValueError:
        return False
    return True


def _read_cost(value: Json) -> DeclaredCost | None:
    if not isinstance(value, dict) or ("field" in value) == ("amount" in value):
        return None
    currency, name, amount = value.get("currency"), value.get("field"), value.get("amount")
    if not isinstance(currency, str) or currency not in CURRENCIES:
        return None
    if "field" in value:
        return DeclaredCost(currency, field=name) if isinstance(name, str) and name else None
    try:
        return DeclaredCost(currency, amount=parse_amount(amount, currency))  # type: ignore[arg-type]
    except MoneyError:
        return None


def _read_action(entry: dict[str, Any]) -> ManifestAction:
    return ManifestAction(
        name=entry["name"],
        description=entry.get("description", ""),
        method=entry["method"],
        path=entry["path"],
        effect=entry["effect"],
        scope=entry.get("scope"),
        input=entry.get("input", True),
        cost=_read_cost(entry["cost"]) if "cost" in entry else None,
        document=entry,
    )


def _read_flows(listed: Json, actions: Mapping[str, ManifestAction]) -> dict[str, ManifestFlow]:
    """Flows by name. A broken one does not spoil the manifest: it is there with its problems."""
    schemas = {name: action.input for name, action in actions.items()}
    flows: dict[str, ManifestFlow] = {}
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            continue
        name, steps, schema = str(entry["name"]), entry.get("steps"), entry.get("input")
        described = entry.get("description")
        own = schema if isinstance(schema, (dict, bool)) else None
        problems = check_references(steps, actions=schemas, input_schema=own)
        problems += check_output(entry.get("output"), steps=len(steps) if isinstance(steps, list) else 0)
        if name in flows:
            problems.append(_problem("/name", "duplicate", "Two flows have this name."))
        flows[name] = ManifestFlow(
            name=name,
            description=described if isinstance(described, str) else "",
            steps=steps if isinstance(steps, list) else [],
            input=own,
            problems=tuple(problems),
            output=entry.get("output"),
        )
    return flows


def _problem(pointer: str, code: str, message: str) -> Problem:
    return {"pointer": pointer, "field": pointer[1:].replace("/", "."), "code": code, "message": message}


def _invalid(problems: list[Problem], what: str = "The site's manifest") -> ClientError:
    first = problems[0]
    return ClientError(
        Code.MANIFEST_INVALID,
        f"{what} cannot be used: {first['pointer'] or 'the manifest'}: {first['message']}",
        problems=problems[:_MAX_PROBLEMS],
        reason="site" if any(each["pointer"] == "/site" for each in problems) else "shape",
    )
