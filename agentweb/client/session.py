"""What all calls of one agent share: key, grants, manifests, connections, and what it learned of each site."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from agentweb.client.asking import grant_required
from agentweb.client.calls import Attempts, Outgoing, Received, SiteClock
from agentweb.client.discovery import Discovery, manifest_url
from agentweb.client.errors import SiteError
from agentweb.client.grant_texts import Chain
from agentweb.client.grants import Known, Need, by_width, narrowest
from agentweb.client.intents import Begun, Intent
from agentweb.client.keystore import KeyStore
from agentweb.client.manifest import Manifest, ManifestAction
from agentweb.client.patience import Patience
from agentweb.client.spending import believe
from agentweb.client.transport import Transport
from agentweb.wire import clock as wire_clock
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.http_signature import sign_request

if TYPE_CHECKING:
    import httpx

_GRANT_ENDED: Final = frozenset({Code.GRANT_REVOKED, Code.GRANT_USED, Code.GRANT_EXPIRED})
_UNSIGNED: Final = (
    " The call was sent unsigned, so it stood for nobody: if you hold a grant of this site, call again with "
    "signed=True (on the command line --signed)."
)
_MANIFEST_IS_OLD: Final = frozenset({Code.ACTION_NOT_FOUND, Code.METHOD_NOT_ALLOWED, Code.GRANT_REQUIRED})


@dataclass(frozen=True, slots=True)
class Found:
    """An action in its manifest. ``is_hidden``: only those with a grant can see it."""

    manifest: Manifest
    action: ManifestAction
    is_hidden: bool = False

    @property
    def origin(self) -> str:
        """``https://host[:port]`` of the site."""
        return origin_of(self.manifest.url)


class Session:
    """Finds actions, chooses grants, sends, and learns from the answers. Threads may share it."""

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
        self.clock = clock
        self._attempts, self._seconds_in_all, self._sleep = attempts, patience, sleep
        self.transport = Transport(http, allowed=allow_hosts, seconds=seconds)
        self.site_clock = SiteClock(clock)
        self.discovery = Discovery(self.transport, clock=clock, patience=self._patience)

    def find(self, url: str, name: str) -> Found:
        """The action of this name at the site of ``url``. Raises as ``Manifest.action`` and ``Discovery.load``."""
        was_kept = self.discovery.keeps(url)
        manifest = self.discovery.load(url, revalidate=False)
        if name not in manifest.actions and was_kept:
            manifest = self.discovery.load(url)
        if name in manifest.actions:
            return Found(manifest, manifest.action(name))
        with self.looking_beyond(manifest, url) as hidden:
            if hidden is not None and name in hidden.actions:
                return Found(hidden, hidden.actions[name], is_hidden=True)
            return Found(manifest, manifest.action(name))

    @contextmanager
    def looking_beyond(self, manifest: Manifest, url: str) -> Iterator[Manifest | None]:
        """The site's manifest as the agent's grants show it, for a name that everybody's has not; None without a grant.

        Where the last grant turns out to have ended, a name that is not there is still one that is not there: most
        likely it was misspelt. The error then says beside it that the rest was not looked at.
        """
        hidden, ended = None, ""
        if self.any_grant(manifest.site) is not None:
            try:
                hidden = self.signed_manifest(url)
            except SiteError as error:
                if error.code not in _GRANT_ENDED:
                    raise
                ended = error.code
        try:
            yield hidden
        except ClientError as error:
            if ended:
                over = f"yours for {manifest.site} is over ({ended})"
                error.message += f" What only holders of a grant see was not looked at: {over}."
                error.extra["grant_refused"] = ended
            raise

    def signed_manifest(self, url: str) -> Manifest:
        """The manifest as the agent's grants for the site let it see it. Raises ``grant_required`` without one."""
        where = manifest_url(url)
        origin = origin_of(where)
        site = origin.partition("://")[2]
        chain = self.any_grant(site)
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
                url=self.transport.wire_url(target),
                body=b"",
                key=self.keystore.key,
                headers=headers,
                created=int(self.site_clock.now(site)),
            )

        try:
            return self.discovery.load(url, reader=chain[-1].id, sign=sign)
        except SiteError as error:
            if error.code in _GRANT_ENDED:
                self._end(chain, error)
                if self.any_grant(site) is None:
                    raise
                return self.signed_manifest(url)
            if not self.site_clock.learn(site, error):
                raise
            return self.discovery.load(url, reader=chain[-1].id, sign=sign)

    def any_grant(self, site: str) -> Chain | None:
        """The narrowest valid grant of the site, whatever its scopes."""
        return self.narrowest(self.need(site))

    def need_of(
        self, manifest: Manifest, action: ManifestAction, cost: int | None, *, may_spend: bool
    ) -> Need:
        """What a call of the action needs of its grant; ``cost`` in minor units, None when it is not known."""
        return self.need(
            manifest.site,
            scope=action.scope,
            spends=action.effect == "spend",
            may_spend=may_spend,
            currency=action.cost.currency if action.cost else None,
            amount=cost,
        )

    def choose_grant(self, manifest: Manifest, action: ManifestAction, need: Need) -> Chain:
        """The narrowest grant that meets the need. Raises ClientError ``grant_required`` with a request for one."""
        chain = self.narrowest(need)
        if chain is None:
            raise grant_required(manifest, action, need)
        return chain

    def need(self, site: str, **more: Any) -> Need:
        """A need at the site, now; ``more`` are members of ``Need``."""
        return Need(site=site, subject=self.keystore.key.public, now=self.site_clock.now(site), **more)

    def narrowest(self, need: Need) -> Chain | None:
        """The grant to sign with, None when none will do."""
        return narrowest(self.keystore.chains, need, self.known(need.site))

    def candidates(self, need: Need) -> list[Chain]:
        """All grants that will do, the narrowest first."""
        return by_width(self.keystore.chains, need, self.known(need.site))

    def known(self, site: str) -> Known:
        """What was learned of the grants of the site."""
        return Known(ended=self.keystore.state.ended, spent=self.keystore.site(site).spent)

    def _patience(self) -> Patience:
        return Patience(
            attempts=self._attempts, seconds=self._seconds_in_all, clock=self.clock, sleep=self._sleep
        )

    def send(
        self,
        manifest: Manifest,
        outgoing: Outgoing,
        chain: Chain | None,
        intent: Intent | None = None,
        begun: Begun | None = None,
        need: Need | None = None,
    ) -> tuple[Received, Chain | None]:
        """The answer, and the grant that the site took: where one has ended, the next that meets ``need`` is tried.

        ``intent`` is settled when the outcome is known.
        """
        is_uncertain = begun is not None and begun.is_resumed
        is_waiting = False
        try:
            while True:
                attempts = Attempts(
                    outgoing,
                    transport=self.transport,
                    key=self.keystore.key,
                    clock=self.site_clock,
                    patience=self._patience(),
                    is_uncertain=is_uncertain,
                )
                try:
                    return attempts.run(), chain
                except SiteError as error:
                    self._learn(manifest, chain, error, is_bare=outgoing.is_bare)
                    # Asked here already, the person is not asked here again when the site asks them too.
                    is_waiting = error.code == Code.NEEDS_HUMAN and begun is not None and bool(begun.approved)
                    # Each round ends a grant for good, so the rounds come to an end.
                    is_over = chain is not None and need is not None and error.code in _GRANT_ENDED
                    chain = self.narrowest(need) if is_over and need is not None else None
                    if chain is None:
                        raise
                    outgoing = replace(outgoing, grant=chain.header)
                finally:
                    is_uncertain = attempts.is_uncertain
        finally:
            if intent is not None and not is_uncertain and not is_waiting:
                intent.settle()

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
            self.discovery.forget(manifest.url)

    def _end(self, chain: Chain, error: SiteError) -> None:
        named = error.extra.get("grant")
        ended = named if named in {grant.id for grant in chain} else chain[-1].id
        self.keystore.end_grant(str(ended), error.code)

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()


def origin_of(url: str) -> str:
    """``https://host[:port]`` of a URL."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
