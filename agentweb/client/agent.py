"""AgentClient: find a site's actions and call them, signed with the narrowest grant and safe to repeat."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from agentweb.client import authority
from agentweb.client.asking import grant_required
from agentweb.client.calls import Attempts, Outgoing, Received, SiteClock
from agentweb.client.discovery import Discovery, manifest_url
from agentweb.client.errors import SiteError
from agentweb.client.grant_texts import Chain, GrantLike, read_chain
from agentweb.client.grants import Known, Need, narrowest
from agentweb.client.inputs import Prepared, cost_of, prepare, read_input
from agentweb.client.keystore import KeyStore
from agentweb.client.manifest import Manifest, ManifestAction
from agentweb.client.patience import Patience
from agentweb.client.pending import PendingCall, PendingCalls
from agentweb.client.receipts import read_all, read_head
from agentweb.client.spending import believe, check_head, count, receipts_in
from agentweb.client.transport import Transport
from agentweb.wire import clock as wire_clock
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.grants import GrantDocument, Mandate
from agentweb.wire.http_signature import sign_request
from agentweb.wire.receipts import verify_receipt
from agentweb.wire.strict_json import Json, dumps

if TYPE_CHECKING:
    import httpx

_KEY: Final = re.compile(r"[!-~]{16,255}")
_GRANT_ENDED: Final = frozenset({Code.GRANT_REVOKED, Code.GRANT_USED, Code.GRANT_EXPIRED})
_UNSIGNED: Final = (
    " The call was sent unsigned, so it stood for nobody: if you hold a grant of this site, call again with "
    "signed=True (on the command line --signed)."
)
_MANIFEST_IS_OLD: Final = frozenset({Code.ACTION_NOT_FOUND, Code.METHOD_NOT_ALLOWED, Code.GRANT_REQUIRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """What an action answered.

    ``value`` is its JSON; numbers with a point are Decimal, which ``json.dumps`` does not take: ``json()`` writes
    the value as JSON text, every number exact. ``replayed``: the site had run this intent before and
    gave the kept answer. ``receipts`` are the verified ones inside the value. ``grant`` is the id of the grant the
    call was signed under, None for an unsigned read; ``idempotency_key`` what the intent was called.
    """

    value: Json
    status: int
    replayed: bool
    receipts: tuple[Mapping[str, Any], ...] = ()
    grant: str | None = None
    idempotency_key: str | None = None
    request_id: str | None = None

    def json(self) -> str:
        """The value as JSON text, with its numbers exactly as the site wrote their values."""
        return dumps(self.value).decode("utf-8")


class AgentClient:
    """An agent at the sites of others, with the key and the grants of one key store. Threads may share it.

    ``http`` is an ``httpx.Client`` of one's own (proxies, TLS). ``allow_hosts`` names hosts that may be called
    although their addresses are not public. A call makes at most ``attempts`` requests within ``patience``
    seconds, each answered within ``seconds``. ``clock`` gives Unix seconds, ``sleep`` waits.
    """

    def __init__(
        self,
        keystore: KeyStore,
        *,
        http: httpx.Client | None = None,
        allow_hosts: Collection[str] = (),
        attempts: int = 5,
        patience: float = 60.0,
        seconds: float = 10.0,
        clock: Callable[[], float] = wire_clock.now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.keystore = keystore
        self._clock = clock
        self._attempts, self._seconds_in_all, self._sleep = attempts, patience, sleep
        self._transport = Transport(http, allowed=allow_hosts, seconds=seconds)
        self._site_clock = SiteClock(clock)
        self._discovery = Discovery(self._transport, clock=clock, patience=self._patience)
        self._pending = PendingCalls(keystore.path.with_name(keystore.path.name + ".pending"))

    @property
    def public_key(self) -> str:
        """The agent's public key, ``ed25519:…``: what a person or a site's staff issue a grant to."""
        return self.keystore.key.public

    def add_grant(self, grant: GrantLike) -> GrantDocument:
        """Keep a grant and return its leaf: the whole of what ``issue_grant`` printed, its ``Agent-Grant`` line or
        only the value, its JSON, a document, or a chain of documents.

        Raises AuthenticationError ``grant_invalid``, with a ``reason``, for one that is broken or of another key.
        """
        return self.keystore.add_grant(grant)

    def discover_actions(self, url: str, *, signed: bool = False) -> Manifest:
        """The manifest of the site of ``url``, checked with the site for changes.

        ``signed``: as the agent's grants for this site let it see. Raises ClientError ``site_unreachable``,
        ``manifest_invalid``, and ``grant_required`` when there is no grant to sign with.
        """
        return self._signed_manifest(url) if signed else self._discovery.load(url)

    def call_action(
        self,
        url: str,
        name: str,
        input: object = None,
        *,
        idempotency_key: str | None = None,
        intent: str | None = None,
        new_intent: bool = False,
        signed: bool = False,
    ) -> ActionResult:
        """Call an action of the site of ``url``.

        Until an answer settles it, the same call (site, action, input and ``intent``) is the same intent, also
        after a crash: repeat it to learn the outcome of a lost answer. ``new_intent`` says that it is meant anew;
        ``intent`` tells equal calls apart that are both meant; an ``idempotency_key`` is the caller's own care.

        A read without a scope is sent unsigned, and so stands for nobody. ``signed`` sends it under the narrowest
        grant of the site that has no mandate, so that it is answered as the person who gave the grant.

        Raises InputError (nothing was sent), SiteError for what the site answered (``handler_error`` leaves the call
        pending, and repeating it is safe), ClientError otherwise.
        """
        if idempotency_key is not None and not _KEY.fullmatch(idempotency_key):
            raise ClientError(
                Code.IDEMPOTENCY_KEY_INVALID, "An idempotency key is 16 to 255 visible ASCII characters."
            )
        manifest, action, is_hidden = self._find(url, name)
        schema = action.schema()
        value = read_input({} if input is None else input, schema)
        prepared = prepare(action, value, schema)
        cost = cost_of(action.cost, value)
        keeps = action.effect != "read" and idempotency_key is None
        if keeps and not new_intent and self._pending.find(manifest.site, name, value, intent) is not None:
            # It may have been paid already, out of what the mandate had then.
            cost = 0
        need = None
        if action.needs_grant or is_hidden or signed:
            # "read" is the site's claim, and only GET is bound to it: another method gets nothing to spend. Nor does
            # a read that asks for no grant.
            is_safe = action.method == "GET" and (action.needs_grant or is_hidden)
            need = self._need_of(manifest, action, cost, may_spend=action.effect != "read" or is_safe)
        chain = self._choose_grant(manifest, action, need) if need is not None else None
        pending = None
        if keeps:
            pending = self._pending.begin(
                manifest.site, name, value, intent, now=self._clock(), is_new=new_intent
            )
        outgoing = Outgoing(
            origin=_origin(manifest.url),
            prepared=prepared,
            grant=chain.header if chain else None,
            idempotency_key=pending.key if pending else idempotency_key if action.effect != "read" else None,
        )
        received, chain = self._send(manifest, outgoing, chain, pending, need)
        return self._result(manifest, action, outgoing, chain, received)

    def revoke(self, url: str, grant_id: str, reason: str = "") -> None:
        """Take a grant (``gr_…``) back at the site of ``url``, with everything that was handed on below it.

        Allowed to its holder, its issuer, and the issuer of any grant above it; a person also takes a key of their
        account back (``ed25519:…``). Done again, it is done. Raises SiteError (``not_allowed``) and ClientError.
        """
        manifest = self._discovery.load(url)
        origin = _origin(manifest.url)

        def send(prepared: Prepared, chain: Chain | None) -> None:
            outgoing = Outgoing(
                origin=origin,
                prepared=prepared,
                grant=chain.header if chain else None,
                is_bare=chain is None,
            )
            self._send(manifest, outgoing, chain, None)

        def under() -> Chain | None:
            for held in self.keystore.chains:
                if any(grant.id == grant_id for grant in held):
                    return held
            return self._any_grant(manifest.site)

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
        now = int(self._site_clock.now(chain[-1].audience))
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

    def verify_receipt(self, url: str, receipt: Json) -> str | None:
        """Why a receipt is not the site's, or None: checked here, against the keys of its manifest."""
        manifest = self._discovery.load(url, revalidate=False)
        reason = verify_receipt(receipt, manifest.keys)
        if reason == "unknown_key":
            # The site may have a new key since.
            manifest = self._discovery.load(url)
            reason = verify_receipt(receipt, manifest.keys)
        if reason is None and isinstance(receipt, dict) and receipt["site"] != manifest.site:
            return "site"
        return reason

    def receipts(self, url: str) -> list[dict[str, Any]]:
        """Every receipt of the agent at a site, oldest first, verified and held against the site's signed head.

        The head is kept and compared with the next: a log that was cut or rewritten shows. Raises ClientError
        ``response_invalid`` with a ``reason`` for receipts that do not hold, else as ``call_action``.
        """
        manifest = self._discovery.load(url)

        def get(address: str, *, signed: bool) -> Json:
            target = address.removeprefix(_origin(manifest.url))
            outgoing = Outgoing(
                origin=_origin(manifest.url), prepared=Prepared("GET", target, b""), is_bare=signed
            )
            return self._send(manifest, outgoing, None, None)[0].value

        found = read_all(manifest, get)
        head = read_head(manifest, get)
        check_head(self.keystore.site(manifest.site).head, head, found)
        last = max((receipt["seq"] for receipt in found), default=0)
        self.keystore.change_site(
            manifest.site, lambda record: replace(count(record, found, after=last), head=head)
        )
        return found

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _find(self, url: str, name: str) -> tuple[Manifest, ManifestAction, bool]:
        """(manifest, action, whether only those with a grant can see the action)."""
        was_kept = self._discovery.keeps(url)
        manifest = self._discovery.load(url, revalidate=False)
        if name not in manifest.actions and was_kept:
            manifest = self._discovery.load(url)
        if name not in manifest.actions and self._any_grant(manifest.site) is not None:
            hidden = self._signed_manifest(url)
            if name in hidden.actions:
                return hidden, hidden.actions[name], True
        return manifest, manifest.action(name), False

    def _signed_manifest(self, url: str) -> Manifest:
        where = manifest_url(url)
        origin = _origin(where)
        site = origin.partition("://")[2]
        chain = self._any_grant(site)
        if chain is None:
            raise ClientError(
                Code.GRANT_REQUIRED,
                f"There is no grant for {site} that is valid now; ask for one.",
                site=site,
            )
        headers = {"Agent-Grant": chain.header}

        def sign(target: str) -> dict[str, str]:
            return headers | sign_request(
                method="GET",
                url=self._transport.wire_url(target),
                body=b"",
                key=self.keystore.key,
                headers=headers,
                created=int(self._site_clock.now(site)),
            )

        try:
            return self._discovery.load(url, reader=chain[-1].id, sign=sign)
        except SiteError as error:
            if error.code in _GRANT_ENDED:
                self._end(chain, error)
                if self._any_grant(site) is None:
                    raise
                return self._signed_manifest(url)
            if not self._site_clock.learn(site, error):
                raise
            return self._discovery.load(url, reader=chain[-1].id, sign=sign)

    def _any_grant(self, site: str) -> Chain | None:
        return self._narrowest(self._need(site))

    def _need_of(
        self, manifest: Manifest, action: ManifestAction, cost: int | None, *, may_spend: bool
    ) -> Need:
        return self._need(
            manifest.site,
            scope=action.scope,
            spends=action.effect == "spend",
            may_spend=may_spend,
            currency=action.cost.currency if action.cost else None,
            amount=cost,
        )

    def _choose_grant(self, manifest: Manifest, action: ManifestAction, need: Need) -> Chain:
        chain = self._narrowest(need)
        if chain is None:
            raise grant_required(manifest, action, need)
        return chain

    def _need(self, site: str, **more: Any) -> Need:
        return Need(site=site, subject=self.keystore.key.public, now=self._site_clock.now(site), **more)

    def _narrowest(self, need: Need) -> Chain | None:
        return narrowest(self.keystore.chains, need, self._known(need.site))

    def _known(self, site: str) -> Known:
        return Known(ended=self.keystore.state.ended, spent=self.keystore.site(site).spent)

    def _patience(self) -> Patience:
        return Patience(
            attempts=self._attempts, seconds=self._seconds_in_all, clock=self._clock, sleep=self._sleep
        )

    def _send(
        self,
        manifest: Manifest,
        outgoing: Outgoing,
        chain: Chain | None,
        pending: PendingCall | None,
        need: Need | None = None,
    ) -> tuple[Received, Chain | None]:
        """The answer, and the grant that the site took: where one has ended, the next that meets ``need`` is tried."""
        is_uncertain = pending is not None and pending.is_resumed
        try:
            while True:
                attempts = Attempts(
                    outgoing,
                    transport=self._transport,
                    key=self.keystore.key,
                    clock=self._site_clock,
                    patience=self._patience(),
                    is_uncertain=is_uncertain,
                )
                try:
                    return attempts.run(), chain
                except SiteError as error:
                    self._learn(manifest, chain, error, is_bare=outgoing.is_bare)
                    # Each round ends a grant for good, so the rounds come to an end.
                    is_over = chain is not None and need is not None and error.code in _GRANT_ENDED
                    chain = self._narrowest(need) if is_over and need is not None else None
                    if chain is None:
                        raise
                    outgoing = replace(outgoing, grant=chain.header)
                finally:
                    is_uncertain = attempts.is_uncertain
        finally:
            if pending is not None and not is_uncertain:
                self._pending.settle(pending)

    def _learn(self, manifest: Manifest, chain: Chain | None, error: SiteError, *, is_bare: bool) -> None:
        """Note what a refusal says of the grant, the mandate and the manifest."""
        if chain is not None and error.code in _GRANT_ENDED:
            self._end(chain, error)
        if chain is None and not is_bare and error.code == Code.NOT_ALLOWED:
            error.message += _UNSIGNED
        if chain is not None and error.code == Code.MANDATE_EXCEEDED:
            leaf = chain[-1]
            self.keystore.change_site(manifest.site, lambda record: believe(record, leaf, error))
        if error.code in _MANIFEST_IS_OLD:
            self._discovery.forget(manifest.url)

    def _end(self, chain: Chain, error: SiteError) -> None:
        named = error.extra.get("grant")
        ended = named if named in {grant.id for grant in chain} else chain[-1].id
        self.keystore.end_grant(str(ended), error.code)

    def _result(
        self,
        manifest: Manifest,
        action: ManifestAction,
        outgoing: Outgoing,
        chain: Chain | None,
        received: Received,
    ) -> ActionResult:
        found = receipts_in(received.value, site=manifest.site, keys=manifest.keys)
        if found:
            self.keystore.change_site(manifest.site, lambda record: count(record, found))
        for grant in chain or ():
            if grant.one_time and action.effect != "read":
                self.keystore.end_grant(grant.id, Code.GRANT_USED)
        return ActionResult(
            value=received.value,
            status=received.status,
            replayed=received.is_replayed,
            receipts=found,
            grant=chain[-1].id if chain else None,
            idempotency_key=outgoing.idempotency_key,
            request_id=received.request_id,
        )


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
