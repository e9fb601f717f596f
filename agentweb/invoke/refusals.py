"""Django's and DRF's own ways to say no, understood in a handler as refusals: what a view may raise, a handler may too.

============================================== ==== ================= =======================================
``Http404``, also of ``get_object_or_404``     404  ``not_found``     its text is for developers, and not told
``django.core.exceptions.PermissionDenied``    403  ``not_allowed``   the same
``django.core.exceptions.ValidationError``     422  ``invalid_input`` its messages are for users: ``problems``
============================================== ==== ================= =======================================

Those of Django REST framework say the same as in a view: ``serializers.ValidationError`` (also of a serializer's
``save``), ``PermissionDenied``, ``NotFound``, ``Throttled`` and every other with a 4xx.

``DoesNotExist`` of a plain ``get()`` is none of them: the author did not say what it means to the caller.
"""

from __future__ import annotations

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404

from agentweb.catalog.validation_errors import drf_refusal, input_error
from agentweb.wire.errors import AgentError, AuthorizationError, Code, RequestError


def refusal_of(error: Exception) -> AgentError | None:
    """What the caller learns of an exception of the handler that speaks to it; None when it is a crash."""
    match error:
        case AgentError():
            return error
        case Http404():
            return RequestError(
                Code.NOT_FOUND, "What the input names does not exist here. Look it up, then call again."
            )
        case PermissionDenied():
            return AuthorizationError(Code.NOT_ALLOWED, "The site does not allow this to the caller.")
        case ValidationError():
            return input_error(error)
    return drf_refusal(error)
