"""AgentClient: find a site's actions and call them, signed with the narrowest grant and safe to repeat."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from agentweb.client import authority, receipt_log, refunding
from agentweb.client.approvals.gate import Answer, Gate
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.approvals.records import Approval
from agentweb.client.calls import Outgoing
from agentweb.client.endpoints import Endpoints
from agentweb.client.finding import DEFAULT_LIMIT, Finder
from agentweb.client.flows.plan import FlowPlan
from agentweb.client.flows.running import FlowResult, FlowRunning, Progress
from agentweb.client.flows.runs import Run, Runs
from agentweb.client.found import Found
from agentweb.client.grant_requests import GrantRequest, GrantRequests, body_of
from agentweb.client.grant_texts import Chain, GrantLike, read_chain
from agentweb.client.grants import described
from agentweb.client.inputs import Prepared
from agentweb.client.invoking import ActionResult, Invoking, Wish
from agentweb.client.keystore import KeyStore
from agentweb.client.manifest import Manifest
from agentweb.client.negotiating import Negotiation, Tables
from agentweb.client.pending import PendingCall, PendingCalls
from agentweb.client.refunding import Refund
from agentweb.client.session import Session, origin_of
from agentweb.client.texts import check_texts
from agentweb.client.waiting import WaitingCall, WaitingCalls
from agentweb.wire import clock as wire_clock
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.grants import GrantDocument, Mandate
from agentweb.wire.strict_json import Json

if TYPE_CHECKING:
    import httpx

__all__ = ["ActionResult", "AgentClient"]

_KEY: Final = re.compile(r"[!-~]{16,255}")


class AgentClient:
    """An agent at the sites of others, with the key and the grants of one key store. Threads may share it.

    ``approval`` says what the person is asked about before it is sent: spending, sending and deleting, unless told
    otherwise. ``http`` is an ``httpx.Client`` of one's own (proxies, TLS). ``allow_hosts`` names hosts that may be
    called although their addresses are not public. A call makes at most ``attempts`` requests within ``patience``
    seconds, each answered within ``seconds``. ``clock`` gives Unix seconds, ``sleep`` waits. ``index_url`` is an index
    of many sites' actions, which ``find_action`` asks too, and which is told of the sites that this agent meets.
    """

    def __init__(
        self,
        keystore: KeyStore,
        *,
        approval: ApprovalPolicy | None = None,
        index_url: str | None = None,
        http: httpx.Client | None = None,
        allow_hosts: Collection[str] = (),
        attempts: int = 5,
        patience: float = 60.0,
        seconds: float = 10.0,
        clock: Callable[[], float] = wire_clock.now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.keystore = keystore
        self._session = Session(
            keystore,
            http=http,
            allow_hosts=allow_hosts,
            attempts=attempts,
            patience=patience,
            seconds=seconds,
            clock=clock,
            sleep=sleep,
        )
        self._pending = PendingCalls(_beside(keystore, "pending"))
        self._gate = Gate(_beside(keystore, "approvals"), approval or ApprovalPolicy(), clock)
        self._waiting = WaitingCalls(_beside(keystore, "waiting"))
        self._invoking = Invoking(self._session, self._gate, self._pending, self._waiting)
        self._runs = Runs(_beside(keystore, "runs"))
        self._flows = FlowRunning(self._session, self._invoking, self._runs)
        self._endpoints = Endpoints(self._session, self._pending)
        self._requests = GrantRequests(_beside(keystore, "requests"), self._endpoints)
        self._tables = Tables(self._session, self._endpoints)
        self._finder = Finder(
            _beside(keystore, "sites"), http=http, allowed=allow_hosts, clock=clock, index_url=index_url
        )
        self._session.discovery.on_read = self._finder.saw

    @property
    def public_key(self) -> str:
        """The agent's public key, ``ed25519:…``: what a person or a site's staff issue a grant to."""
        return self.keystore.key.public

    @property
    def approval(self) -> ApprovalPolicy:
        """What the person is asked about."""
        return self._gate.policy

    def add_grant(self, grant: GrantLike) -> GrantDocument:
        """Keep a grant and return its leaf: the whole of what ``issue_grant`` printed, its ``Agent-Grant`` line or
        only the value, its JSON, a document, or a chain of documents.

        Raises AuthenticationError ``grant_invalid``, with a ``reason``, for one that is broken or of another key.
        """
        return self.keystore.add_grant(grant)

    def grants(self) -> list[dict[str, Any]]:
        """Every grant that the agent holds: ``id``, ``site``, ``scopes``, ``expires``, ``one_time``, ``mandate``
        (with what is ``remaining``, as far as the agent knows), and ``ended``, why it counts no longer, or None."""
        known = self._session.known
        return [described(chain, known(chain[-1].audience)) for chain in self.keystore.chains]

    def discover_actions(self, url: str, *, signed: bool = False) -> Manifest:
        """The manifest of the site of ``url``, checked with the site for changes.

        ``signed``: as the agent's grants for this site let it see. Raises ClientError ``site_unreachable``,
        ``manifest_invalid``, and ``grant_required`` when there is no grant to sign with.
        """
        return self._session.signed_manifest(url) if signed else self._session.discovery.load(url)

    def find_action(
        self,
        query: str,
        *,
        effect: str | None = None,
        site: str | None = None,
        currency: str | None = None,
        max_cost: str | int | None = None,
        limit: int = DEFAULT_LIMIT,
        per_site: int | None = None,
    ) -> Found:
        """Actions and flows that fit what is to be done, best first: of the sites that this agent has met, and of those
        that the index knows, if there is one.

        ``effect``, ``site`` and ``currency`` narrow it; with ``max_cost``, of a currency, to what costs no more, or
        nothing, or what an input says. At most three of one site, unless ``per_site`` says otherwise or ``site`` names
        one. An index that does not answer hides nothing of what is known here: ``index_error``. Raises InputError.
        """
        return self._finder.find(
            query,
            effect=effect,
            site=site,
            currency=currency,
            max_cost=max_cost,
            limit=limit,
            per_site=per_site,
        )

    def call_action(
        self,
        url: str,
        name: str,
        input: object = None,
        *,
        confirm: bool = False,
        code: str | None = None,
        idempotency_key: str | None = None,
        intent: str | None = None,
        new_intent: bool = False,
        signed: bool = False,
    ) -> ActionResult:
        """Call an action of the site of ``url``.

        What the policy asks about is not sent at first: NeedsHumanError says what the person is to be asked. Once
        they have approved exactly that, the same call passes with ``confirm=True``, within ten minutes and once;
        where the policy is strict, with the ``code`` too that the person was shown.

        Until an answer settles it, the same call (site, action, input and ``intent``) is the same intent, also
        after a crash: repeat it to learn the outcome of a lost answer. ``new_intent`` says that it is meant anew;
        ``intent`` tells equal calls apart that are both meant; an ``idempotency_key`` is the caller's own care.

        A read without a scope is sent unsigned, and so stands for nobody. ``signed`` sends it under the narrowest
        grant of the site that has no mandate, so that it is answered as the person who gave the grant.

        Raises InputError (nothing was sent), SiteError for what the site answered (``handler_error`` leaves the call
        pending, and repeating it is safe), ClientError otherwise.
        """
        check_texts({"name": name}, {"code": code, "idempotency_key": idempotency_key, "intent": intent})
        if idempotency_key is not None and not _KEY.fullmatch(idempotency_key):
            raise ClientError(
                Code.IDEMPOTENCY_KEY_INVALID, "An idempotency key is 16 to 255 visible ASCII characters."
            )
        wish = Wish(
            answer=Answer(confirm, code),
            intent=intent,
            new_intent=new_intent,
            key=idempotency_key,
            signed=signed,
        )
        return self._invoking.call(self._session.find(url, name), input, wish)

    def run_flow(
        self,
        url: str,
        name: str,
        input: object = None,
        *,
        resume: str | Mapping[str, Any] | None = None,
        confirm: bool = False,
        code: str | None = None,
        intent: str | None = None,
        new_intent: bool = False,
        progress: Progress | None = None,
    ) -> FlowResult:
        """Run a flow of the site of ``url``, each step as a call of its own under the policy of the person.

        Before the first step it is looked whether there is a grant for each. An error of a step says in ``extra``
        which it was: ``flow``, ``step``, ``action``, what was ``completed``, and ``resume``, with which the flow goes
        on there; what is completed is not done again. The same flow with the same input goes on by itself after a
        crash, a lost answer or a question to the person, and ``confirm`` answers the question at which it stopped;
        ``new_intent`` begins anew.

        Raises as ``call_action``, and ClientError ``flow_invalid``, ``flow_reference_missing``, ``manifest_changed``
        (the site changed its manifest in the middle of the run).
        """
        check_texts({"name": name}, {"code": code, "intent": intent})
        return self._flows.run(
            url,
            name,
            input,
            resume=resume,
            intent=intent,
            new_intent=new_intent,
            answer=Answer(confirm, code),
            progress=progress,
        )

    def plan_flow(self, url: str, name: str, input: object = None) -> FlowPlan:
        """The steps of a flow with this input, and the most that they may cost as far as that is known. Nothing is
        begun. Raises as ``run_flow`` does before its first step."""
        check_texts({"name": name})
        return self._flows.plan(url, name, input)

    def runs(self) -> list[Run]:
        """Runs of flows that are not through, oldest first; each may be resumed by its name."""
        return self._runs.all()

    def approvals(self) -> list[Approval]:
        """Questions of this agent that wait for the person, oldest first; ``waiting`` has those of sites."""
        return self._gate.approvals.all(self._session.clock())

    def waiting(self) -> list[WaitingCall]:
        """Calls that wait at their site, oldest first: the person answers at ``approve_url``, and the same call then
        passes."""
        return self._waiting.all(self._session.clock())

    def confirm(self, approval: str, *, code: str | None = None) -> ActionResult | FlowResult:
        """Make the call of a question (``ap_…``) that the person has approved; of a flow, go on with it.

        Raises ClientError ``not_found`` for a question that was answered or is older than ten minutes, else as
        ``call_action``. ``needs_human`` for the question of a site, which is answered there.
        """
        check_texts({"approval": approval}, {"code": code})
        self._refuse_of_a_site(approval)
        asked = self._gate.approvals.get(approval, self._session.clock())
        question = asked.question
        if question.run is not None:
            run = self._runs.get(question.run)
            return self.run_flow(run.url, run.flow, resume=run.run, confirm=True, code=code)
        return self.call_action(
            question.url,
            question.action,
            question.input,
            confirm=True,
            code=code,
            idempotency_key=asked.key if asked.own_key else None,
            intent=asked.intent,
            signed=asked.signed,
        )

    def deny(self, approval: str) -> None:
        """The person said no: the question can no longer be confirmed. Raises ``needs_human`` for one of a site."""
        check_texts({"approval": approval})
        self._refuse_of_a_site(approval)
        with self._gate.approvals.lock():
            self._gate.approvals.remove(approval)

    def _refuse_of_a_site(self, approval: str) -> None:
        call = self._waiting.find(approval, self._session.clock())
        if call is None or self._gate.approvals.find(approval, self._session.clock()) is not None:
            return
        raise ClientError(
            Code.NEEDS_HUMAN,
            f"This is a question of {call.site}, which the person answers there, at approve_url. When they have "
            f"approved, make the same call of {call.action} again.",
            approval=call.approval,
            approve_url=call.approve_url,
            action=call.action,
        )

    def approval_code(self, approval: str) -> str:
        """A new code for a question, to be shown to the person alone: what ``confirm`` takes under a strict policy."""
        check_texts({"approval": approval})
        return self._gate.approvals.new_code(approval, self._session.clock())[1]

    def revoke(self, url: str, grant_id: str, reason: str = "") -> None:
        """Take a grant (``gr_…``) back at the site of ``url``, with everything that was handed on below it.

        Allowed to its holder, its issuer, and the issuer of any grant above it; a person also takes a key of their
        account back (``ed25519:…``). Done again, it is done. Raises SiteError (``not_allowed``) and ClientError.
        """
        check_texts({"grant_id": grant_id, "reason": reason})
        manifest = self._session.discovery.load(url)
        origin = origin_of(manifest.url)

        def send(prepared: Prepared, chain: Chain | None) -> None:
            outgoing = Outgoing(
                origin=origin,
                prepared=prepared,
                grant=chain.header if chain else None,
                is_bare=chain is None,
            )
            self._session.send(manifest, outgoing, chain)

        def under() -> Chain | None:
            for held in self.keystore.chains:
                if any(grant.id == grant_id for grant in held):
                    return held
            return self._session.any_grant(manifest.site)

        authority.revoke(manifest, grant_id, reason, origin=origin, send=send, under=under)
        if any(grant.id == grant_id for held in self.keystore.chains for grant in held):
            self.keystore.end_grant(grant_id, Code.GRANT_REVOKED)

    def delegate(
        self,
        grant: GrantLike,
        *,
        to: str,
        scopes: Sequence[str] | None = None,
        mandate: Mandate | str | None = None,
        expires_in: int | None = None,
        note: str = "",
        one_time: bool = False,
        again: int = 0,
    ) -> str:
        """Hand on less of a grant to the key ``to``; the text is what that agent gives to ``add_grant``.

        ``grant`` is the id of one in the key store, or a grant as ``add_grant`` takes it. Scopes and the end that are
        left out are its own; a mandate (``USD:10.00/30.00``) is only given when named, and ``again`` says how often
        it may be handed on further. ``expires_in`` is in seconds. Nothing is sent: the site learns of it by its use.

        Raises AuthenticationError ``grant_invalid`` (reason ``not_narrower``) for more than the grant itself has.
        """
        held = [chain for chain in self.keystore.chains if chain[-1].id == grant]
        chain = held[0] if held else read_chain(grant)
        now = int(self._session.site_clock.now(chain[-1].audience))
        return authority.delegate(
            chain,
            self.keystore.key,
            to=to,
            scopes=scopes,
            mandate=mandate,
            expires=None if expires_in is None else now + expires_in,
            note=note,
            one_time=one_time,
            again=again,
        )

    def pending(self) -> list[PendingCall]:
        """Calls whose outcome is not known, oldest first; call the same again to learn it.

        Calls that failed inside the site (SiteError ``handler_error``) are among them; see ``client.pending``.
        """
        return self._pending.all()

    def refund(
        self, url: str, receipt: str, amount: str | int | Decimal | None = None, *, reason: str
    ) -> Refund:
        """Ask for money back: the amount, or all that is left of the receipt (``rc_…``).

        Until it is answered the same request is one intent, also after a crash. A refund may wait for the site's
        staff: then it ``is_pending``, and ``refund_state`` says later how it stands. Raises SiteError
        (``refund_exceeds_charge`` with what is ``remaining``, ``refund_not_allowed``) and as ``call_action``.
        """
        check_texts({"receipt": receipt, "reason": reason})
        return refunding.ask(self._endpoints, self._session.discovery.load(url), receipt, amount, reason)

    def refund_state(self, url: str, refund_id: str) -> Refund:
        """How a refund (``rf_…``) stands."""
        check_texts({"refund_id": refund_id})
        return refunding.look(self._endpoints, self._session.discovery.load(url), refund_id)

    def negotiate(
        self, url: str, terms: Mapping[str, Any], price: str | int | Decimal, currency: str, *, note: str = ""
    ) -> Negotiation:
        """Offer a price for what ``terms`` say, ``{"product_id": "sku-1", "quantity": 2}``; nothing is spent.

        The answer has the site's counter-offer, and ``counter``, ``accept`` and ``reject`` to go on. Signed under the
        grant that could pay the price, because an agreement holds for that one.
        """
        return self._tables.paying(url, currency, price).open(terms, price, note)

    def negotiation(self, url: str, ident: str, currency: str) -> Negotiation:
        """How a negotiation (``ng_…``) stands, to go on with it."""
        check_texts({"ident": ident, "currency": currency})
        return self._tables.find(url, ident, currency)

    def request_grant(
        self,
        url: str,
        scopes: Sequence[str],
        *,
        mandate: str | None = None,
        expires_in: int = 86_400,
        reason: str = "",
    ) -> GrantRequest:
        """Ask a person for a grant through their site, or how that stands: the same request again asks for it.

        They open ``approve_url`` while logged in and compare ``user_code``. The grant is kept as soon as there is
        one, and ``grant`` then is not None. ``mandate`` is written ``USD:10.00/30.00``.
        """
        body = body_of(scopes, mandate, expires_in, reason or "To act for you.")
        found = self._requests.ask(self._session.discovery.load(url), body)
        if found.grant is not None:
            self.add_grant(found.grant)
        return found

    def take_back_request(self, url: str, request_id: str) -> None:
        """Take a request for a grant (``gq_…``) back: the person is asked no more. Done again, it is done.

        Raises SiteError ``conflict`` when they have approved meanwhile: the same ``request_grant`` then brings the
        grant, and ``revoke`` gives it up. Else ``approval_denied``, ``not_found``, and ClientError.
        """
        self._requests.take_back(self._session.discovery.load(url), request_id)

    def verify_receipt(self, url: str, receipt: Json) -> str | None:
        """Why a receipt is not the site's, or None: checked here, against the keys of its manifest."""
        return receipt_log.verify(self._session, url, receipt)

    def receipts(self, url: str) -> list[dict[str, Any]]:
        """Every receipt of the agent at a site, oldest first, verified and held against the site's signed head.

        The head is kept and compared with the next: a log that was cut or rewritten shows. Raises ClientError
        ``response_invalid`` with a ``reason`` for receipts that do not hold, else as ``call_action``.
        """
        return receipt_log.read(self._session, url)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()
        self._finder.close()

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _beside(keystore: KeyStore, what: str) -> Path:
    """A folder beside the key store."""
    return keystore.path.with_name(f"{keystore.path.name}.{what}")
