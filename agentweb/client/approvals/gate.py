"""Letting a call through, or raising what the person is to be asked: nothing is sent before it is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentweb.client.approvals.allowance import Allowance
from agentweb.client.approvals.policy import ApprovalPolicy, Question
from agentweb.client.approvals.records import LIFE, Approval, Approvals, Tried
from agentweb.client.errors import NeedsHumanError
from agentweb.client.intents import Approved, Begun, Intent
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.money import format_amount


@dataclass(frozen=True, slots=True)
class Answer:
    """What the caller says to the question: ``confirm``, and the ``code`` that the person was shown."""

    confirm: bool = False
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How the call was made, kept with its question so that it can be made again."""

    intent: str | None = None
    key: str | None = None
    """An idempotency key of the caller's own."""
    needs_key: bool = True
    signed: bool = False


class Gate:
    """The one place that decides whether a call that is asked about may go out."""

    def __init__(self, folder: Path, policy: ApprovalPolicy, clock: Callable[[], float]) -> None:
        self.policy = policy
        self.approvals = Approvals(folder)
        self._allowance = Allowance(folder / "allowance.json")
        self._clock = clock

    def enter(self, question: Question, intent: Intent, answer: Answer, manner: Manner) -> Begun:
        """The intent, begun and on the disk: the call may go out under its key.

        Raises NeedsHumanError with the question, and ClientError ``approval_denied`` when the person said no.
        """
        approved = Approved(question.digest, question.grant)
        let_in = self._unasked(question, intent, approved)
        if let_in is not None:
            return let_in
        asked, was_asked = self._ask(question, intent, manner)
        doubt = self._doubt(asked, answer, was_asked=was_asked)
        if doubt is not None:
            raise self._needs_human(asked, doubt)
        with self.approvals.lock():
            # Whoever takes it away writes down the call in the same moment; another process then finds that.
            found = self.approvals.find(asked.id, self._clock())
            if found is not None and self.approvals.remove(asked.id):
                return intent.begin(key=found.key, approved=approved)
            known = intent.find()
            if known is not None and known.approved == approved:
                return intent.begin(key=known.key, approved=approved)
        asked, _ = self._ask(question, intent, manner)
        raise self._needs_human(asked, _Doubt())

    def _unasked(self, question: Question, intent: Intent, approved: Approved) -> Begun | None:
        limit = self.policy.passes_unasked_under(question)
        with self.approvals.lock():
            known = intent.find()
            if known is not None and known.approved == approved:
                # It was approved and its outcome is not known: the same key, so it is done once.
                return intent.begin(key=known.key, approved=approved)
            if limit is None or question.currency is None or question.amount is None:
                return None
            if not self._allowance.take(question.currency, question.amount, limit=limit, now=self._clock()):
                return None
            return intent.begin(key=None, approved=approved)

    def _ask(self, question: Question, intent: Intent, manner: Manner) -> tuple[Approval, bool]:
        """The question on the disk, and whether it had been asked before."""
        now = self._clock()
        with self.approvals.lock():
            known = self.approvals.find(f"ap_{question.digest}", now)
            if known is not None:
                return known, True
            begun = intent.find()
            key = begun.key if begun is not None else manner.key
            if key is None and manner.needs_key:
                key = random_id("ik_")
            asked = Approval(
                question=question,
                key=key,
                expires=now + LIFE,
                intent=manner.intent,
                own_key=manner.key is not None,
                signed=manner.signed,
            )
            self.approvals.write(asked)
        if self.policy.show_code is not None:
            asked, code = self.approvals.new_code(asked.id, now)
            self.policy.show_code(asked, code)
        return asked, False

    def _doubt(self, asked: Approval, answer: Answer, *, was_asked: bool) -> _Doubt | None:
        """Why it is not approved, None when it is."""
        approver = self.policy.approver
        if approver is not None:
            said = approver(asked)
            if said is False:
                with self.approvals.lock():
                    self.approvals.remove(asked.id)
                raise ClientError(
                    Code.APPROVAL_DENIED,
                    f"The person did not approve this call of {asked.question.action}; nothing was sent. "
                    "Do not ask for the same again.",
                    approval=asked.id,
                )
            if said is True:
                return None
        if not answer.confirm and answer.code is None:
            return _Doubt()
        if not was_asked:
            return _Doubt("This was not asked before, or too long ago, so there was nothing to confirm yet.")
        if not answer.confirm:
            return _Doubt("A code alone opens nothing: it comes with the confirmation.")
        if not self.policy.strict:
            return None
        if answer.code is None:
            return _Doubt("It was confirmed without the code, which only the person is shown.")
        tried = self.approvals.try_code(asked.id, answer.code, self._clock())
        return None if tried.is_right else _doubt_of(tried)

    def _needs_human(self, asked: Approval, doubt: _Doubt) -> NeedsHumanError:
        shown = asked.as_dict()
        told = [str(shown.pop("message"))]
        allowance = self._allowance_for(asked.question)
        if allowance is not None:
            told.append(
                f"Of {allowance['limit']} {allowance['currency']} that may be spent without asking within 24 hours, "
                f"{allowance['used']} are used and {allowance['left']} are left, which is not enough for it."
            )
            shown["allowance"] = allowance
        told += ["Nothing was sent.", doubt.sentence]
        code_from = None
        if self.policy.strict:
            code_from = (
                "that the person was shown"
                if self.policy.show_code is not None
                else f"that the person gets by: agentweb code {asked.id}"
            )
        return NeedsHumanError(" ".join(filter(None, told)), code_from=code_from, **shown, **doubt.extra)

    def _allowance_for(self, question: Question) -> dict[str, str] | None:
        """How much may be spent unasked, where that was looked at; as amounts."""
        limit, currency = self.policy.limit_for(question), question.currency
        if limit is None or currency is None:
            return None
        with self.approvals.lock():
            used = self._allowance.used(currency, now=self._clock())
        amounts = {"limit": limit, "used": used, "left": max(0, limit - used)}
        return {"currency": currency} | {
            name: format_amount(minor, currency) for name, minor in amounts.items()
        }


@dataclass(frozen=True, slots=True)
class _Doubt:
    """Why what the caller said opens nothing: a sentence about it, and members of the error."""

    sentence: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


def _doubt_of(tried: Tried) -> _Doubt:
    if not tried.was_shown:
        return _Doubt("This code cannot be right: the person was shown none yet.")
    extra = {"tries_left": tried.tries_left}
    if tried.tries_left == 0:
        return _Doubt(
            "The code was wrong, and with that this question is void: the same call without a code asks anew.",
            extra,
        )
    left = "one try is left" if tried.tries_left == 1 else f"{tried.tries_left} tries are left"
    return _Doubt(f"The code was wrong; {left} before the question is void.", extra)
