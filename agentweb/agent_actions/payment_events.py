"""Where a payment provider tells that something has come of a charge or a refund."""

from __future__ import annotations

import logging
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.access import callers, limits
from agentweb.access.callers import Caller
from agentweb.http.addresses import address_of
from agentweb.http.headers import no_content
from agentweb.http.views import AgentView
from agentweb.ledger import providers, settling
from agentweb.wire.errors import AgentError, AuthorizationError, Code, RequestError

logger = logging.getLogger("agentweb.payments")


class PaymentEventsView(AgentView):
    """``POST``: a webhook of AGENTWEB["PAYMENTS"]; 404 in a site whose provider has none.

    It only says which payment to look at now. What came of it the provider is asked itself, so an event that comes
    twice, late or out of order changes nothing. Its form is the provider's: any type of body, and headers by which
    others would sign or say who they are.
    """

    reads_json = False

    def identify(self) -> Caller:
        """Nobody: what is in ``Authorization`` or ``Signature`` is for the provider's own code to judge."""
        address = address_of(self.http_request)
        return callers.anonymous(address, limits.admit_anonymous(address))

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        by = providers.configured()
        sent = {name.lower(): value for name, value in self.http_request.headers.items()}
        try:
            ident = None if by is None else by.provider.read_event(sent, self.body())
        except NotImplementedError:
            by = None
        except PermissionError as error:
            logger.warning("A payment event was not the provider's: %s", error)
            raise AuthorizationError(Code.NOT_ALLOWED, "This is no event of the payment provider.") from None
        except (AgentError, DatabaseError, InterfaceError):
            raise
        except Exception as error:
            # Whatever the provider's code stumbles over was sent by somebody. That it was worth an answer of 500, and
            # so a repetition, nobody can tell: what became of the payment is asked for anyway.
            logger.warning("A payment event could not be read", exc_info=True)
            raise RequestError(Code.MALFORMED_JSON, "This is no event of the payment provider.") from error
        if by is None:
            raise RequestError(Code.NOT_FOUND, "Nothing is here.")
        if ident is not None and not isinstance(ident, str):
            logger.error("%s: read_event answered %r, which is no id", by.path, ident)
        elif ident is not None and "\0" not in ident:
            settling.settle(ident)
        return no_content()
