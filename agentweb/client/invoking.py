"""One call of an action: checked, asked about, signed, sent, and what came of it.

The order: the input against the schema, the price, the intent, the grant, the person, and only then the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentweb.client.approvals.gate import Answer, Gate, Manner
from agentweb.client.approvals.policy import Question
from agentweb.client.calls import Outgoing, Received
from agentweb.client.errors import SiteError
from agentweb.client.grant_texts import Chain
from agentweb.client.grants import Need, is_candidate
from agentweb.client.inputs import cost_of, prepare, read_input
from agentweb.client.intents import Begun, Intent, NoIntent
from agentweb.client.keystore import SiteRecord
from agentweb.client.manifest import ManifestAction
from agentweb.client.pending import PendingCalls, PendingIntent
from agentweb.client.session import Found, Session
from agentweb.client.spending import beyond, count, receipts_in
from agentweb.client.waiting import WaitingCalls
from agentweb.wire.errors import Code
from agentweb.wire.strict_json import Json, dumps


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """What an action answered.

    ``value`` is its JSON; numbers with a point are Decimal, which ``json.dumps`` does not take: ``json()`` writes
    the value as JSON text, every number exact. ``replayed``: the site had run this intent before and
    gave the kept answer. ``receipts`` are the verified ones inside the value; ``overcharge`` is what they show as taken
    beyond what the action said that it costs: ``charged``, ``currency``, ``shown``. ``grant`` is the id of the grant
    the call was signed under, None for an unsigned read; ``idempotency_key`` what the intent was called.
    """

    value: Json
    status: int
    replayed: bool
    receipts: tuple[Mapping[str, Any], ...] = ()
    overcharge: Mapping[str, Any] | None = None
    grant: str | None = None
    idempotency_key: str | None = None
    request_id: str | None = None

    def json(self) -> str:
        """The value as JSON text, with its numbers exactly as the site wrote their values."""
        return dumps(self.value).decode("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How a call is meant: which intent it is, and what the caller says to a question."""

    answer: Answer
    intent: str | None = None
    new_intent: bool = False
    key: str | None = None
    """An idempotency key of the caller's own."""
    signed: bool = False
    kept: Intent | None = None
    """Where the intent is kept, when not as a pending call: a flow keeps it in its run."""
    run: str | None = None


class Invoking:
    """Calls actions through one session, with the person's policy in between."""

    def __init__(self, session: Session, gate: Gate, pending: PendingCalls, waiting: WaitingCalls) -> None:
        self._session = session
        self._gate = gate
        self._pending = pending
        self._waiting = waiting

    def call(self, found: Found, given: object, wish: Wish) -> ActionResult:
        """The answer of the action to this input; see ``AgentClient.call_action`` for what it raises."""
        manifest, action = found.manifest, found.action
        schema = action.schema()
        value = read_input({} if given is None else given, schema)
        prepared = prepare(action, value, schema)
        cost = cost_of(action.cost, value)
        is_asked_about = self._gate.policy.asks_about(manifest.site, action)
        intent = self._intent(found, value, wish, is_asked_about=is_asked_about)
        known = intent.find()
        need = self._need(found, wish, 0 if known is not None else cost)
        chain = self._choose(found, need, known)
        if is_asked_about:
            question = self._question(found, value, chain, cost, wish)
            manner = Manner(
                intent=wish.intent, key=wish.key, needs_key=action.effect != "read", signed=wish.signed
            )
            begun = self._gate.enter(question, intent, wish.answer, manner)
        else:
            begun = intent.begin(key=None, approved=None)
        outgoing = Outgoing(
            origin=found.origin,
            prepared=prepared,
            grant=chain.header if chain else None,
            idempotency_key=(begun.key or None) if action.effect != "read" else None,
        )
        # What a person approved is bound to this very grant, so no other is tried in its place.
        another = None if is_asked_about else need
        try:
            received, chain = self._session.send(manifest, outgoing, chain, intent, begun, another)
        except SiteError as error:
            self._waiting.note(manifest.site, action.name, value, error, self._session.clock())
            raise
        self._waiting.note(manifest.site, action.name, value, None, self._session.clock())
        return self._result(found, outgoing, chain, received, cost)

    def _intent(self, found: Found, value: Json, wish: Wish, *, is_asked_about: bool) -> Intent:
        if wish.kept is not None:
            return wish.kept
        if found.action.effect == "read":
            return NoIntent()
        name = wish.intent
        if wish.key is not None:
            if not is_asked_about:
                return NoIntent(wish.key)
            # Kept all the same: what was approved must be found again when the answer was lost.
            name = f"key:{wish.key}"
        return PendingIntent(
            self._pending,
            found.manifest.site,
            found.action.name,
            value,
            name,
            now=self._session.clock(),
            is_new=wish.new_intent,
            key=wish.key,
        )

    def _need(self, found: Found, wish: Wish, cost: int | None) -> Need | None:
        """``cost`` 0 for an intent that was begun: it may have been paid already, out of what was left then."""
        action = found.action
        if not (action.needs_grant or found.is_hidden or wish.signed):
            return None
        # "read" is the site's claim, and only GET is bound to it: another method gets nothing to spend. Nor does
        # a read that asks for no grant.
        is_safe = action.method == "GET" and (action.needs_grant or found.is_hidden)
        return self._session.need_of(
            found.manifest, action, cost, may_spend=action.effect != "read" or is_safe
        )

    def _choose(self, found: Found, need: Need | None, known: Begun | None) -> Chain | None:
        if need is None:
            return None
        if known is not None and known.approved is not None:
            # What was approved named a grant: as long as it will do, it is the one.
            facts = self._session.known(need.site)
            for chain in self._session.keystore.chains:
                if chain[-1].id == known.approved.grant and is_candidate(chain, need, facts):
                    return chain
        return self._session.choose_grant(found.manifest, found.action, need)

    def _question(
        self, found: Found, value: Json, chain: Chain | None, cost: int | None, wish: Wish
    ) -> Question:
        manifest, action = found.manifest, found.action
        return Question(
            site=manifest.site,
            url=found.origin,
            manifest=manifest.digest,
            action=action.name,
            effect=action.effect,
            description=action.description,
            input=value,
            grant=chain[-1].id if chain else None,
            currency=action.cost.currency if action.cost else None,
            amount=cost,
            run=wish.run,
        )

    def _result(
        self, found: Found, outgoing: Outgoing, chain: Chain | None, received: Received, cost: int | None
    ) -> ActionResult:
        manifest = found.manifest
        receipts = receipts_in(received.value, site=manifest.site, keys=manifest.keys)
        keystore = self._session.keystore
        overcharge = None
        if receipts:
            held = keystore.held
            overcharge = _overcharge(found.action, keystore.site(manifest.site), receipts, chain, cost)
            keystore.change_site(manifest.site, lambda record: count(record, receipts, held=held))
        for grant in chain or ():
            if grant.one_time and found.action.effect != "read":
                keystore.end_grant(grant.id, Code.GRANT_USED)
        return ActionResult(
            value=received.value,
            status=received.status,
            replayed=received.is_replayed,
            receipts=receipts,
            overcharge=overcharge,
            grant=chain[-1].id if chain else None,
            idempotency_key=outgoing.idempotency_key,
            request_id=received.request_id,
        )


def _overcharge(
    action: ManifestAction,
    record: SiteRecord,
    receipts: tuple[Mapping[str, Any], ...],
    chain: Chain | None,
    cost: int | None,
) -> Mapping[str, Any] | None:
    """What was taken beyond the declared cost; None also where a spend action does not say what it costs."""
    if action.effect == "spend" and (cost is None or action.cost is None):
        return None
    shown = (cost, action.cost.currency) if cost is not None and action.cost is not None else None
    grant = chain[-1].id if chain else None
    return beyond(record, receipts, action=action.name, grant=grant, cost=shown)
