"""Rows of authority: keys, grants, mandates, revocations, nonces, limiter buckets.

Texts of the wire (``gr_…``, ``ed25519:…``) are the keys here too, so a row is found from what a caller shows.
Amounts are minor units of the currency.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

KEY_LENGTH = 64  # "ed25519:" and 43 characters; "session:<id>"
GRANT_ID_LENGTH = 25  # "gr_" and 22 characters


class SiteKey(models.Model):
    """A signing key of the site. The seed is sealed (see ``site_keys``), never stored in clear."""

    kid = models.CharField(max_length=43, primary_key=True, help_text="RFC 7638 thumbprint.")
    public = models.CharField(max_length=KEY_LENGTH, unique=True)
    sealed = models.TextField(editable=False)
    is_active = models.BooleanField(default=True, help_text="The one key that signs; others only verify.")
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["is_active"], condition=Q(is_active=True), name="agentweb_one_active_site_key"
            ),
        ]

    def __str__(self) -> str:
        return self.kid


class PrincipalKey(models.Model):
    """A person's own public key, enrolled on their account; it may issue grants for this site."""

    public = models.CharField(max_length=KEY_LENGTH, unique=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agentweb_principal_keys"
    )
    label = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.public


class Grant(models.Model):
    """A grant this site issued or has seen. ``chain`` is the JSON list of documents, root first."""

    id = models.CharField(max_length=GRANT_ID_LENGTH, primary_key=True)
    chain = models.TextField(editable=False)
    root_id = models.CharField(max_length=GRANT_ID_LENGTH, db_index=True)
    parent_id = models.CharField(max_length=GRANT_ID_LENGTH, blank=True, db_index=True)
    issuer = models.CharField(max_length=KEY_LENGTH, db_index=True)
    subject = models.CharField(max_length=KEY_LENGTH, db_index=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="agentweb_grants",
        help_text="The person for whom the agent acts.",
    )
    note = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        permissions: ClassVar = [
            ("issue_grant", "Can issue grants and session tokens"),
            ("revoke_grant", "Can revoke grants, sessions and keys of agents and persons"),
        ]

    def __str__(self) -> str:
        return self.id


class Mandate(models.Model):
    """What one grant may still spend or do; one row for each grant with a mandate or a use limit.

    The ledger's conditional UPDATE on this row is the only place where money is allowed.
    """

    grant_id = models.CharField(max_length=GRANT_ID_LENGTH, primary_key=True)
    currency = models.CharField(max_length=3, blank=True)
    per_tx = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    spent = models.BigIntegerField(default=0)
    uses = models.BigIntegerField(default=0)
    max_uses = models.BigIntegerField(null=True, blank=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(spent__gte=0) & Q(spent__lte=F("total")), name="agentweb_mandate_not_overdrawn"
            ),
        ]

    def __str__(self) -> str:
        return self.grant_id


class Revocation(models.Model):
    """A grant id or a key that counts no longer. Read at every request, never cached.

    ``seq`` is its place in the public list, without gaps in the order of the commits, ``prev`` the hash of the
    entry before. A row with ``by`` is unlisted and counts in those chains only where this key has the right: it
    was asked for before the site had seen the grant, so nobody could tell.
    """

    id = models.BigAutoField(primary_key=True)
    seq = models.BigIntegerField(null=True, unique=True, editable=False)
    prev = models.CharField(max_length=71, blank=True, editable=False, help_text="'sha256:' and hex.")
    ident = models.CharField(max_length=KEY_LENGTH, help_text="gr_… or ed25519:…")
    by = models.CharField(max_length=KEY_LENGTH, blank=True, editable=False)
    reason = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Kept at least until then.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["ident", "by"], name="agentweb_revoked_once"),
        ]

    def __str__(self) -> str:
        return self.ident


class RevocationHead(models.Model):
    """The end of the site's list of revocations; its row lock puts revocations and first sights in one order.

    ``seq`` is that of the last entry, ``hash`` of the chain up to it.
    """

    name = models.CharField(max_length=16, primary_key=True)
    seq = models.BigIntegerField(default=0)
    hash = models.CharField(max_length=71, blank=True, help_text="'sha256:' and hex of the last entry.")

    def __str__(self) -> str:
        return str(self.seq)


class Session(models.Model):
    """A bearer handle to a site-issued grant: whoever shows the token acts under the grant.

    Only the token's digest is stored. ``auth_hash`` is the person's session hash of the moment: a new password
    ends every session that was made under the old one. ``login`` names the person's login in the browser in which
    they agreed, empty when there was none; logging out there ends the session, and ``end`` says so.
    """

    class End(models.TextChoices):
        LOGGED_OUT = "logged_out"

    id = models.CharField(max_length=25, primary_key=True, help_text="ss_ and 22 characters.")
    token_digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256, hex.")
    grant = models.ForeignKey(Grant, on_delete=models.CASCADE, related_name="sessions")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="agentweb_sessions",
    )
    auth_hash = models.CharField(max_length=64, blank=True, editable=False)
    login = models.CharField(max_length=22, blank=True, db_index=True, editable=False)
    client_name = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField()
    last_seen_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(db_index=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    end = models.CharField(max_length=10, blank=True, choices=End.choices, editable=False)

    def __str__(self) -> str:
        return self.id


class Pairing(models.Model):
    """A program's request for a session or a grant, until a person decided about it or it is too late.

    ``id`` and ``token_digest`` are those of the session that it becomes. A request for a grant has a ``subject``, the
    key that asks and that the grant will be for; nobody has its token, and ``grant_id`` is what was given. Of the code
    that the person types there is only a keyed digest. ``wanted`` is what the program asks for, as JSON (see
    ``pairing.Wanted``).
    """

    class State(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DENIED = "denied"
        CANCELLED = "cancelled"

    id = models.CharField(max_length=25, primary_key=True, help_text="ss_ or gq_, and 22 characters.")
    token_digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256, hex.")
    code_digest = models.CharField(max_length=64, editable=False, help_text="HMAC with SHA-256, hex.")
    address = models.CharField(max_length=64, blank=True, editable=False, help_text="HMAC with SHA-256, hex.")
    client_name = models.CharField(max_length=100, blank=True)
    subject = models.CharField(max_length=KEY_LENGTH, blank=True)
    reason = models.CharField(max_length=200, blank=True)
    wanted = models.TextField(editable=False)
    grant_id = models.CharField(max_length=GRANT_ID_LENGTH, blank=True)
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="agentweb_pairings",
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["code_digest"], condition=Q(state="pending"), name="agentweb_one_pending_code"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["address"], condition=Q(state="pending"), name="agentweb_pairings_waiting"),
            models.Index(fields=["subject"], condition=Q(state="pending"), name="agentweb_keys_waiting"),
        ]

    def __str__(self) -> str:
        return self.id


class Approval(models.Model):
    """One call that waits for a person, or that a person has decided; it lets exactly this call through, once.

    ``digest`` binds it to caller, action and exact input. ``input`` is the exact input, erased when the row can let
    nothing through any more; ``shown`` is its redacted form for people. ``expires_at`` is the end of the state:
    until then a pending one can be decided, an approved one used, and a denied one stays denied.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DENIED = "denied"
        USED = "used"
        EXPIRED = "expired"

    id = models.CharField(max_length=25, primary_key=True, help_text="ap_ and 22 characters.")
    digest = models.CharField(max_length=71, db_index=True, help_text="'sha256:' and hex.")
    site = models.CharField(max_length=255)
    action = models.CharField(max_length=100)
    effect = models.CharField(max_length=6)
    subject = models.CharField(max_length=KEY_LENGTH, db_index=True)
    holder = models.CharField(
        max_length=KEY_LENGTH,
        db_index=True,
        help_text="Subject of the first grant: whose open requests are counted.",
    )
    grant_id = models.CharField(max_length=GRANT_ID_LENGTH, blank=True, db_index=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="agentweb_approvals",
        help_text="The person for whom the agent acts, who may decide.",
    )
    input = models.TextField(editable=False)
    shown = models.TextField(editable=False)
    amount = models.BigIntegerField(null=True, blank=True, help_text="Minor units.")
    currency = models.CharField(max_length=3, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="agentweb_decisions",
    )
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        permissions: ClassVar = [("decide_approval", "Can approve and deny calls of agents")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["digest"],
                condition=Q(state__in=("pending", "approved")),
                name="agentweb_one_open_approval",
            ),
        ]

    def __str__(self) -> str:
        # As the pages call it.
        state = "waiting" if self.state == self.State.PENDING else self.state
        return f"{self.action} ({state})"


class Nonce(models.Model):
    """A nonce that was used; the unique pair decides a replay."""

    id = models.BigAutoField(primary_key=True)
    key = models.CharField(max_length=KEY_LENGTH)
    nonce = models.CharField(max_length=64)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["key", "nonce"], name="agentweb_nonce_once"),
        ]

    def __str__(self) -> str:
        return self.nonce


class Bucket(models.Model):
    """A limiter (GCRA): ``tat`` is the theoretical arrival time of the next request, in Unix microseconds."""

    key = models.CharField(max_length=100, primary_key=True)
    tat = models.BigIntegerField(db_index=True)

    def __str__(self) -> str:
        return self.key
