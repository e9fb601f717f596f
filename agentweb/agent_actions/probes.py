"""What the doctor looks at in this room: the manifest as an agent reads it, and every action that it lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlencode

from agentweb import conf
from agentweb.agent_actions.manifest import action_entry
from agentweb.agent_actions.mount import MANIFEST, OWN_NAME
from agentweb.catalog.actions import Action
from agentweb.catalog.effects import Effect
from agentweb.catalog.registry import registry
from agentweb.client.manifest import read_manifest
from agentweb.http.probes import WITH_ANSWERS, Answer, Examined, Level, Look, Probe, Problem
from agentweb.wire.errors import ClientError, RequestError
from agentweb.wire.safe_numbers import unsafe_numbers
from agentweb.wire.strict_json import dumps, loads

_SAMPLE: Final = "0"
_NO_SUCH_NAME: Final = "agentweb-doctor-no-such-name"
_LARGEST: Final = 50_000_000
_CLASH: Final = "Look for a view or a middleware of the site that answers there, with `manage.py check`."


def manifest_is_valid(site: Examined) -> Iterator[Problem]:
    """As our own client reads it: shape, schemas as foreign ones, examples against their schemas."""
    answer = site.ask("GET", f"/{MANIFEST}")
    if answer.status != 200 or not answer.is_ours:
        return  # D050 says it
    try:
        document = loads(answer.body, max_bytes=_LARGEST)
        manifest = read_manifest(document, site=site.place.site, url=f"{site.place.origin}/{MANIFEST}")
    except (ClientError, RequestError) as error:
        yield Problem(
            f"Agents cannot read the manifest: {error.message}", "Correct what it names in agents.py."
        )
        return
    for problem in manifest.unusable:
        yield Problem(
            f"Agents cannot use {_named(document, problem['pointer'])}: {problem['message']}",
            "Correct it in agents.py.",
        )
    for path, number in unsafe_numbers(document):
        yield Problem(
            f"{_named(document, _pointer(path))} holds the number {number}, which other programs read as another one.",
            "Publish no number beyond ±(2^53-1): leave it out, and check it in the handler.",
        )
    for action in manifest.actions.values():
        try:
            schema = action.schema()
        except ClientError as error:
            yield Problem(
                error.message, f"Simplify the input of {action.name}: agents compile it within limits."
            )
            continue
        example = action.document.get("example")
        problems = schema.problems(example)[0] if "example" in action.document else []
        if problems:
            yield Problem(
                f"The example of {action.name} does not fit its input: {problems[0]['message']}",
                "Correct the example, or leave it out.",
            )
    for flow in manifest.flows.values():
        if flow.problems:
            yield Problem(
                f"The flow {flow.name} cannot run: {flow.problems[0]['message']}",
                "Correct its steps in agents.py.",
            )


def _named(document: Any, pointer: str) -> str:
    """``the action set_stock (/input/properties/left/maximum)`` of a pointer into the manifest."""
    parts = pointer.split("/", 3)[1:]
    if len(parts) < 2 or parts[0] not in {"actions", "flows"}:
        return pointer
    entry = document[parts[0]][int(parts[1])]
    name = entry.get("name") if isinstance(entry, dict) else None
    inside = f" (/{parts[2]})" if len(parts) > 2 else ""
    return f"the {parts[0].removesuffix('s')} {name or parts[1]}{inside}"


def _pointer(path: tuple[str | int, ...]) -> str:
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)


def actions_answer(site: Examined) -> Iterator[Problem]:
    """By OPTIONS, which runs nothing: each listed action's address names its method, in both slash forms."""
    for action in _listed():
        path = site.place.prefix + _path(action, _values(action))
        for form in (path.rstrip("/"), f"{path.rstrip('/')}/"):
            answer = site.ask("OPTIONS", form)
            allowed = {name.strip() for name in answer.headers.get("allow", "").split(",")}
            if not answer.is_ours or answer.status != 204 or action.method not in allowed:
                yield Problem(
                    f"{action.name} is listed at {action.method} {form}, where OPTIONS answers {answer.status}"
                    f"{' by a view of the site' if not answer.is_ours else ''}.",
                    _CLASH,
                )


def reads_work(site: Examined) -> Iterator[Problem]:
    for action, answer in _called(site):
        if not answer.is_ours:
            yield Problem(
                f"{action.name}, called with its example, gets {answer.status} by another view.", _CLASH
            )
        elif answer.status >= 500:
            said = f": {answer.log[0]}" if answer.log else ""
            yield Problem(
                f"{action.name}, called with its example, answers {answer.status}{said}",
                f"Correct {action.where}.",
            )


def examples_are_accepted(site: Examined) -> Iterator[Problem]:
    for action, answer in _called(site):
        # One that was made up from the schema is not published, and need not be what the handler takes.
        if not answer.is_ours or answer.status not in {400, 422} or "example" not in action_entry(action):
            continue
        error = _body(answer).get("error", {})
        listed = error.get("problems") or [{}]
        yield Problem(
            f"{action.name} refuses its own example: {error.get('code')}: "
            f"{listed[0].get('message') or error.get('message')}",
            f"Give {action.name} an example= that it accepts.",
        )


def results_fit(site: Examined) -> Iterator[Problem]:
    for action, answer in _called(site):
        if action.output is None or answer.status != 200 or not answer.is_ours:
            continue
        problems = action.output.problems(loads(answer.body, max_bytes=_LARGEST))[0]
        if problems:
            at = problems[0]["pointer"] or "the whole"
            yield Problem(
                f"The result of {action.name} does not fit its declared output: {at}: {problems[0]['message']}",
                f"Correct the output of {action.where}, or its result.",
            )


def reads_only_read(site: Examined) -> Iterator[Problem]:
    for action, answer in _called(site):
        if answer.written:
            yield Problem(
                f"{action.name} is a read and writes to {', '.join(answer.written)}.",
                'Declare it with its true effect, such as effect="write"; agents repeat reads and call them unasked.',
            )


def unknown_addresses_are_refused(site: Examined) -> Iterator[Problem]:
    for start in (conf.get("ACTION_PREFIX"), OWN_NAME):
        path = f"{site.place.prefix}/{start}/{_NO_SUCH_NAME}"
        answer = site.ask("GET", path)
        if answer.is_ours and answer.status == 404 and "error" in _body(answer):
            continue
        yield Problem(
            f"{path}, which is nothing, answers {answer.status} and not 404 with an error in JSON.", _CLASH
        )


def _called(site: Examined) -> Iterator[tuple[Action, Answer]]:
    """Every public read that may be called by everybody and has an example, with its answer."""
    for action in _listed():
        if action.effect is not Effect.READ or action.scope is not None or not action.has_example:
            continue
        if action.example is not None and not isinstance(action.example, dict):
            continue
        values: dict[str, Any] = dict(action.example or {})
        path = site.place.prefix + _path(action, values)
        rest = {name: value for name, value in values.items() if name not in action.path_parameters}
        if action.takes_query:
            query = urlencode([(name, text) for name, value in rest.items() for text in _texts(value)])
            yield action, site.ask(action.method, f"{path}?{query}" if query else path)
        else:
            yield action, site.ask(action.method, path, body=dumps(rest))


def _listed() -> list[Action]:
    """The actions that everybody may see."""
    return [action for action in registry.actions() if action.visible is None]


def _values(action: Action) -> dict[str, Any]:
    return action.example if action.has_example and isinstance(action.example, dict) else {}


def _path(action: Action, values: dict[str, Any]) -> str:
    path = action.path
    for name in action.path_parameters:
        texts = _texts(values.get(name, _SAMPLE))
        path = path.replace(f"{{{name}}}", quote(texts[0] if texts else _SAMPLE, safe="") or _SAMPLE)
    return path


def _texts(value: Any) -> list[str]:
    """A value as a query string carries it: one text, or one for each item of a list."""
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value if isinstance(value, str) else dumps(value).decode()]


def _body(answer: Answer) -> dict[str, Any]:
    try:
        body = loads(answer.body, max_bytes=_LARGEST)
    except RequestError:
        return {}
    return body if isinstance(body, dict) else {}


def _where_any(look: Look) -> Look:
    """Of a site without actions there is nothing to say that holds for each of them; W014 speaks of it."""
    return lambda site: look(site) if _listed() else None


def _probe(number: str, healthy: str, look: Look, level: Level = Level.ERROR) -> Probe:
    return Probe(number, level, healthy, look, after=WITH_ANSWERS)


PROBES: Final = (
    _probe("D100", "Agents can read the manifest, its schemas and its examples.", manifest_is_valid),
    _probe("D101", "Every listed action answers at its address.", _where_any(actions_answer)),
    _probe("D102", "Every public read works with its example.", _where_any(reads_work)),
    _probe(
        "D103", "Every public read accepts its example.", _where_any(examples_are_accepted), Level.WARNING
    ),
    _probe("D104", "Results fit their declared output.", _where_any(results_fit), Level.WARNING),
    Probe(
        "D105",
        Level.WARNING,
        "Reads only read.",
        _where_any(reads_only_read),
        after=WITH_ANSWERS,
        looks_inside=True,
    ),
    _probe("D106", "What is no action is refused in JSON.", unknown_addresses_are_refused),
)
