"""System checks of money.

========== =============================================================================================
E045       PAYMENTS is no payment provider, or cannot be imported
E046       REFUND_POLICY is no function of (receipt, amount, ctx), or cannot be imported
W045       charges go to the bundled test provider, and DEBUG is off, but in a test run: nobody pays
========== =============================================================================================
"""

from __future__ import annotations

import inspect
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.utils.module_loading import import_string

from agentweb import conf
from agentweb.conf import runs
from agentweb.ledger import providers

_TESTING = "agentweb.testing."


def check_money(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E045, E046 and W045. What is no dotted path is E002's."""
    return [*_provider(conf.get("PAYMENTS")), *_policy(conf.get("REFUND_POLICY"))]


def _provider(path: Any) -> list[CheckMessage]:
    if not isinstance(path, str):
        return []
    try:
        found = providers.named(path)
    except Exception as error:
        return [
            Error(
                f"AGENTWEB['PAYMENTS'] is {path!r}: {error}",
                hint="Name a subclass of agentweb.ledger.providers.PaymentProvider that is made without arguments, an "
                "instance of one, or a function that makes one.",
                id="agentweb.E045",
            )
        ]
    if settings.DEBUG or runs.is_test() or not type(found.provider).__module__.startswith(_TESTING):
        return []
    return [
        Warning(
            "AGENTWEB['PAYMENTS'] is the bundled test provider: agents get receipts, and nobody pays.",
            hint="Name the site's own provider, or leave PAYMENTS out.",
            id="agentweb.W045",
        )
    ]


def _policy(path: Any) -> list[CheckMessage]:
    if not isinstance(path, str):
        return []
    try:
        found = import_string(path)
        if not callable(found):
            raise TypeError("it cannot be called")
        inspect.signature(found).bind(None, None, None)
        if inspect.iscoroutinefunction(found):
            raise TypeError("it is async")
    except (ImportError, TypeError, ValueError) as error:
        return [
            Error(
                f"AGENTWEB['REFUND_POLICY'] is {path!r}: {error}",
                hint="Name a function of (receipt, amount, ctx) that returns 'approve', 'pending' or 'refuse'.",
                id="agentweb.E046",
            )
        ]
    return []
