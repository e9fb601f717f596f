"""The one tree of errors and the one table of codes, for every room.

::

    AgentError                   anything that is fit for the agent's eyes
    ├── RequestError             the request itself: route, size, media type, JSON, limits (4xx)
    │   └── InputError           422 ``invalid_input`` with every problem listed
    ├── AuthenticationError      who is calling: signature, grant, session (401, a few 403)
    ├── AuthorizationError       what the caller may do: scope, mandate (403)
    ├── MoneyError               amounts, payments, refunds, agreements
    ├── ConflictError            idempotency and changed state (400, 409, 410, 422)
    ├── ServerError              the site's side: crash, outage, time-out (5xx)
    └── ClientError              raised by our own clients, never sent by a site

A site author raises ``AgentError("out_of_stock", "Only 3 left; order at most 3.", field="quantity")``:
any code of the author's own is answered with 409 unless ``status`` says otherwise (400 to 499).

Body on the wire (AGENT_ACTIONS section 7)::

    {"error": {"code", "message", "field"?, "retry_after"?, "problems"?, "request_id", ...}}

``message`` is written for a model that will try again: what is wrong, and what would be right.
``retry_after`` is whole seconds, at least 1, present exactly when repeating the same call can help.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import Any, ClassVar, Final

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Code(StrEnum):
    """Every code that any room answers with.

    The messenger says who is calling in codes of its own, and ``too_large`` and ``overloaded`` where the other rooms
    say payload_too_large and unavailable: its clients know only those.
    """

    # the request
    MALFORMED_JSON = "malformed_json"
    DUPLICATE_KEY = "duplicate_key"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    INVALID_UNICODE = "invalid_unicode"
    TOO_DEEP = "too_deep"
    INVALID_INPUT = "invalid_input"
    INVALID_PARAMETER = "invalid_parameter"
    INVALID_CURSOR = "invalid_cursor"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    NOT_ACCEPTABLE = "not_acceptable"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    LENGTH_REQUIRED = "length_required"
    TOKEN_IN_URL = "token_in_url"  # noqa: S105 - the name of a code
    ACTION_NOT_FOUND = "action_not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    # who is calling
    GRANT_REQUIRED = "grant_required"
    SIGNATURE_INVALID = "signature_invalid"
    SIGNATURE_EXPIRED = "signature_expired"
    REQUEST_REPLAYED = "request_replayed"
    GRANT_INVALID = "grant_invalid"
    GRANT_EXPIRED = "grant_expired"
    GRANT_NOT_YET_VALID = "grant_not_yet_valid"
    GRANT_REVOKED = "grant_revoked"
    GRANT_WRONG_SITE = "grant_wrong_site"
    GRANT_USED = "grant_used"
    SESSION_REQUIRED = "session_required"
    SESSION_PENDING = "session_pending"
    SESSION_DENIED = "session_denied"
    SESSION_INVALID = "session_invalid"
    SESSION_EXPIRED = "session_expired"
    SESSION_REVOKED = "session_revoked"
    # what the caller may do
    INSUFFICIENT_SCOPE = "insufficient_scope"
    NOT_ALLOWED = "not_allowed"
    MANDATE_REQUIRED = "mandate_required"
    MANDATE_EXCEEDED = "mandate_exceeded"
    NEEDS_HUMAN = "needs_human"
    APPROVAL_DENIED = "approval_denied"
    REQUEST_EXPIRED = "request_expired"
    # money
    AMOUNT_INVALID = "amount_invalid"
    PAYMENT_DECLINED = "payment_declined"
    PAYMENT_UNKNOWN = "payment_unknown"
    COST_MISMATCH = "cost_mismatch"
    RECEIPT_NOT_FOUND = "receipt_not_found"
    REFUND_EXCEEDS_CHARGE = "refund_exceeds_charge"
    REFUND_NOT_ALLOWED = "refund_not_allowed"
    AGREEMENT_NOT_FOUND = "agreement_not_found"
    AGREEMENT_USED = "agreement_used"
    AGREEMENT_EXPIRED = "agreement_expired"
    NEGOTIATION_CLOSED = "negotiation_closed"
    NEGOTIATION_CHANGED = "negotiation_changed"
    OFFER_INVALID = "offer_invalid"
    # repeating and racing
    IDEMPOTENCY_KEY_REQUIRED = "idempotency_key_required"
    IDEMPOTENCY_KEY_INVALID = "idempotency_key_invalid"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    IDEMPOTENCY_IN_PROGRESS = "idempotency_in_progress"
    CONFLICT = "conflict"
    BROWSER_DISCONNECTED = "browser_disconnected"
    BROWSER_FAILED = "browser_failed"
    # the site's side
    HANDLER_ERROR = "handler_error"
    STATE_ERROR = "state_error"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    # the messenger: who is calling
    AUTHORIZATION_REQUIRED = "authorization_required"
    MALFORMED_AUTHORIZATION = "malformed_authorization"
    BAD_SIGNATURE = "bad_signature"
    CLOCK_SKEW = "clock_skew"
    NONCE_REUSED = "nonce_reused"
    UNKNOWN_KEY = "unknown_key"
    KEY_ROTATED = "key_rotated"
    AGENT_SUSPENDED = "agent_suspended"
    AGENT_DELETED = "agent_deleted"
    # the messenger: identities
    INVALID_KEY = "invalid_key"
    INVALID_NAME = "invalid_name"
    NAME_TAKEN = "name_taken"
    KEY_ALREADY_REGISTERED = "key_already_registered"
    CHALLENGE_INVALID = "challenge_invalid"
    CHALLENGE_EXPIRED = "challenge_expired"
    CHALLENGE_USED = "challenge_used"
    SOLUTION_INVALID = "solution_invalid"
    # the messenger: messages
    INVALID_ENVELOPE = "invalid_envelope"
    UNKNOWN_FIELD = "unknown_field"
    INVALID_ADDRESS = "invalid_address"
    REMOTE_AUTHORITY = "remote_authority"
    RESERVED_TYPE = "reserved_type"
    BAD_ENVELOPE_SIGNATURE = "bad_envelope_signature"
    TS_OUT_OF_RANGE = "ts_out_of_range"
    AUTHOR_MISMATCH = "author_mismatch"
    UNKNOWN_RECIPIENT = "unknown_recipient"
    UNKNOWN_COMMUNITY = "unknown_community"
    RECIPIENT_NOT_ACCEPTING = "recipient_not_accepting"
    RECIPIENT_KEY_CHANGED = "recipient_key_changed"
    SEALED_NOT_ALLOWED = "sealed_not_allowed"
    ID_REUSED = "id_reused"
    ID_CONFLICT = "id_conflict"
    UNKNOWN_REPLY_TARGET = "unknown_reply_target"
    REPLY_TARGET_EXPIRED = "reply_target_expired"
    THREAD_MISMATCH = "thread_mismatch"
    QUOTA_EXCEEDED = "quota_exceeded"
    TOO_LARGE = "too_large"
    BATCH_TOO_LARGE = "batch_too_large"
    # the messenger: the log
    CURSOR_EXPIRED = "cursor_expired"
    CURSOR_FUTURE = "cursor_future"
    OVERLOADED = "overloaded"
    # our own clients
    SITE_UNREACHABLE = "site_unreachable"
    MANIFEST_INVALID = "manifest_invalid"
    MANIFEST_CHANGED = "manifest_changed"
    RESPONSE_INVALID = "response_invalid"
    FLOW_INVALID = "flow_invalid"
    FLOW_REFERENCE_MISSING = "flow_reference_missing"


STATUS: Final[dict[str, int]] = {
    Code.MALFORMED_JSON: 400,
    Code.DUPLICATE_KEY: 400,
    Code.NUMBER_OUT_OF_RANGE: 400,
    Code.INVALID_UNICODE: 400,
    Code.TOO_DEEP: 400,
    Code.INVALID_INPUT: 422,
    Code.INVALID_PARAMETER: 400,
    Code.INVALID_CURSOR: 400,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.NOT_ACCEPTABLE: 406,
    Code.PAYLOAD_TOO_LARGE: 413,
    Code.LENGTH_REQUIRED: 411,
    Code.TOKEN_IN_URL: 400,
    Code.ACTION_NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.NOT_FOUND: 404,
    Code.RATE_LIMITED: 429,
    Code.GRANT_REQUIRED: 401,
    Code.SIGNATURE_INVALID: 401,
    Code.SIGNATURE_EXPIRED: 401,
    Code.REQUEST_REPLAYED: 401,
    Code.GRANT_INVALID: 401,
    Code.GRANT_EXPIRED: 401,
    Code.GRANT_NOT_YET_VALID: 401,
    Code.GRANT_REVOKED: 401,
    Code.GRANT_WRONG_SITE: 403,
    Code.GRANT_USED: 403,
    Code.SESSION_REQUIRED: 401,
    Code.SESSION_PENDING: 401,
    Code.SESSION_DENIED: 401,
    Code.SESSION_INVALID: 401,
    Code.SESSION_EXPIRED: 401,
    Code.SESSION_REVOKED: 401,
    Code.INSUFFICIENT_SCOPE: 403,
    Code.NOT_ALLOWED: 403,
    Code.MANDATE_REQUIRED: 403,
    Code.MANDATE_EXCEEDED: 403,  # 403, not 402: a 402 makes x402 clients pay
    Code.NEEDS_HUMAN: 428,
    Code.APPROVAL_DENIED: 403,
    Code.REQUEST_EXPIRED: 410,
    Code.AMOUNT_INVALID: 422,
    Code.PAYMENT_DECLINED: 402,
    Code.PAYMENT_UNKNOWN: 503,
    Code.COST_MISMATCH: 409,
    Code.RECEIPT_NOT_FOUND: 404,
    Code.REFUND_EXCEEDS_CHARGE: 422,
    Code.REFUND_NOT_ALLOWED: 403,
    Code.AGREEMENT_NOT_FOUND: 404,
    Code.AGREEMENT_USED: 409,
    Code.AGREEMENT_EXPIRED: 410,
    Code.NEGOTIATION_CLOSED: 409,
    Code.NEGOTIATION_CHANGED: 409,
    Code.OFFER_INVALID: 422,
    Code.IDEMPOTENCY_KEY_REQUIRED: 400,
    Code.IDEMPOTENCY_KEY_INVALID: 400,
    Code.IDEMPOTENCY_KEY_REUSED: 422,
    Code.IDEMPOTENCY_IN_PROGRESS: 409,
    Code.CONFLICT: 409,
    Code.BROWSER_DISCONNECTED: 409,
    Code.BROWSER_FAILED: 409,
    Code.HANDLER_ERROR: 500,
    Code.STATE_ERROR: 500,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.TIMEOUT: 504,
    Code.AUTHORIZATION_REQUIRED: 401,
    Code.MALFORMED_AUTHORIZATION: 401,
    Code.BAD_SIGNATURE: 401,
    Code.CLOCK_SKEW: 401,
    Code.NONCE_REUSED: 401,
    Code.UNKNOWN_KEY: 401,
    Code.KEY_ROTATED: 401,
    Code.AGENT_SUSPENDED: 403,
    Code.AGENT_DELETED: 410,
    Code.INVALID_KEY: 422,
    Code.INVALID_NAME: 422,
    Code.NAME_TAKEN: 409,
    Code.KEY_ALREADY_REGISTERED: 409,
    Code.CHALLENGE_INVALID: 422,
    Code.CHALLENGE_EXPIRED: 410,
    Code.CHALLENGE_USED: 422,
    Code.SOLUTION_INVALID: 422,
    Code.INVALID_ENVELOPE: 422,
    Code.UNKNOWN_FIELD: 422,
    Code.INVALID_ADDRESS: 422,
    Code.REMOTE_AUTHORITY: 422,
    Code.RESERVED_TYPE: 422,
    Code.BAD_ENVELOPE_SIGNATURE: 422,
    Code.TS_OUT_OF_RANGE: 422,
    Code.AUTHOR_MISMATCH: 403,
    Code.UNKNOWN_RECIPIENT: 404,
    Code.UNKNOWN_COMMUNITY: 404,
    Code.RECIPIENT_NOT_ACCEPTING: 403,
    Code.RECIPIENT_KEY_CHANGED: 409,
    Code.SEALED_NOT_ALLOWED: 422,
    Code.ID_REUSED: 409,
    Code.ID_CONFLICT: 409,
    Code.UNKNOWN_REPLY_TARGET: 422,
    Code.REPLY_TARGET_EXPIRED: 422,
    Code.THREAD_MISMATCH: 422,
    Code.QUOTA_EXCEEDED: 429,
    Code.TOO_LARGE: 413,
    Code.BATCH_TOO_LARGE: 413,
    Code.CURSOR_EXPIRED: 410,
    Code.CURSOR_FUTURE: 409,
    Code.OVERLOADED: 503,
    Code.MANIFEST_INVALID: 500,
    Code.MANIFEST_CHANGED: 409,
    Code.FLOW_INVALID: 422,
    Code.FLOW_REFERENCE_MISSING: 422,
}
"""HTTP status of each code that a site sends. Client-only codes have none."""

_SITE_CODE_STATUS: Final = 409
MAX_PROBLEMS: Final = 100
"""Problems in an answer; a caller who has corrected so many asks again."""
_MAX_SHOWN: Final = 5
"""Problems in the text of an InputError."""


class AgentError(Exception):
    """An error fit for the agent: a stable code, a message for a model, and structured members.

    ``extra`` members (``required_scope``, ``remaining``, ``closest`` ...) stand beside ``code`` in the body.
    ``headers`` go to the HTTP answer only. ``debug`` goes to the site's log only, never to the caller.
    """

    default_code: ClassVar[Code | None] = None

    def __init__(
        self,
        code: str | None = None,
        message: str = "",
        *,
        status: int | None = None,
        field: str | None = None,
        retry_after: float | None = None,
        problems: list[dict[str, Any]] | None = None,
        headers: dict[str, str] | None = None,
        debug: str | None = None,
        **extra: Any,
    ) -> None:
        code = code if code is not None else self.default_code
        if code is None or not _CODE.fullmatch(code):
            raise ValueError(f"An error code is lower-case letters, digits and underscores, not {code!r}.")
        self.code: str = str(code)
        self.status: int = status if status is not None else STATUS.get(self.code, _SITE_CODE_STATUS)
        if not 400 <= self.status <= 599:
            raise ValueError(f"An error's status is between 400 and 599, not {self.status}.")
        # A lazy translation is a text once it is asked for.
        self.message = str(message) or self.code.replace("_", " ").capitalize() + "."
        self.field = field
        # Rounded up: a client that waits exactly this long must not come too early.
        self.retry_after: int | None = None if retry_after is None else max(1, math.ceil(retry_after))
        self.problems = problems
        self.headers = dict(headers or {})
        if self.retry_after is not None:
            self.headers.setdefault("Retry-After", str(self.retry_after))
        self.debug = debug
        self.extra = extra
        super().__init__(self.message)

    def as_dict(self, request_id: str | None = None) -> dict[str, Any]:
        """The value of the ``error`` member, without absent members."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.field is not None:
            body["field"] = self.field
        if self.retry_after is not None:
            body["retry_after"] = self.retry_after
        if self.problems is not None:
            body["problems"] = self.problems
        body.update(self.extra)
        if request_id is not None:
            # A replayed error keeps the id of the run that it is the answer of.
            body.setdefault("request_id", request_id)
        return body


class RequestError(AgentError):
    """The request itself cannot be read or is not for us."""


class InputError(RequestError):
    """The input breaks the schema; ``problems`` lists everything that is wrong with it, its text the first few.

    Of more than 100 problems the first 100 are listed, and ``truncated`` says so.
    """

    default_code = Code.INVALID_INPUT

    def __init__(
        self, problems: list[dict[str, Any]], message: str = "", *, code: str | None = None, **extra: Any
    ) -> None:
        first = problems[0] if problems else {}
        count = len(problems)
        listed = "1 problem" if count == 1 else f"{count} problems"
        if count > MAX_PROBLEMS:
            problems, listed = problems[:MAX_PROBLEMS], f"more than {MAX_PROBLEMS} problems"
            extra["truncated"] = True
        super().__init__(
            code,
            message or f"The input has {listed}; correct every entry of problems and call again.",
            field=extra.pop("field", None) or first.get("field"),
            problems=problems,
            **extra,
        )

    def __str__(self) -> str:
        """The message and the problems, for tracebacks and terminals; on the wire ``message`` stands alone."""
        listed = self.problems or []
        lines = [
            f"{each.get('pointer') or 'input'}: {each.get('message', '')}" for each in listed[:_MAX_SHOWN]
        ]
        if len(listed) > _MAX_SHOWN:
            lines.append(f"and {len(listed) - _MAX_SHOWN} more")
        return "\n  ".join([self.message, *lines])


class AuthenticationError(AgentError):
    """The caller is not established: no, a bad or an ended signature, grant or session."""


class AuthorizationError(AgentError):
    """The caller is known and may not do this."""


class MoneyError(AgentError):
    """An amount, payment, refund or agreement does not hold."""


class ConflictError(AgentError):
    """The call collides with an earlier one or with changed state."""


class ServerError(AgentError):
    """The site's own failure; carries a request id and nothing internal."""


class ClientError(AgentError):
    """Raised by our clients about a site or a manifest; has no HTTP status of its own (``status`` is 500)."""

    def __init__(self, code: str | None = None, message: str = "", **kwargs: Any) -> None:
        kwargs.setdefault("status", 500)
        super().__init__(code, message, **kwargs)
