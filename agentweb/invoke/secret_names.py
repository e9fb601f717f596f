"""Which names are those of secrets: passwords, keys, tokens, codes and numbers of cards.

A name is cut into words, in snake_case, camelCase and kebab-case, and its words are put together again: ``apiKey``,
``API-KEY``, ``my_api_keys`` and ``apikey`` are one phrase, and so are ``pass_word`` and ``password``. Short phrases are
words of their own (``pin``, not ``shipping``); a few are found inside of a word too (``newpassword``), where no
ordinary word has them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Any, Final

PHRASES: Final = (
    "password", "passwd", "passphrase", "passcode", "passkey", "pwd", "pw",
    "user pass", "login pass", "admin pass", "root pass", "db pass", "database pass", "smtp pass", "mail pass",
    "secret", "credential", "authorization", "jwt",
    "token", "access token", "refresh token", "auth token", "oauth token", "api token", "bearer token",
    "session token", "csrf token", "xsrf token", "id token", "login token", "device token", "reset token",
    "security token", "verification token", "invite token", "push token", "private token", "secret token",
    "api key", "access key", "private key", "secret key", "signing key", "encryption key", "decryption key",
    "master key", "session key", "shared key", "auth key", "hmac key",
    "session id", "sessid", "session cookie", "auth cookie", "set cookie", "csrf", "xsrf",
    "credit card", "debit card", "card number", "card no", "card num", "cc number", "cc num",
    "cvv", "cvc", "cvn", "card verification",
    "pin", "pin code", "pin number", "card pin", "user pin", "atm pin", "new pin", "old pin", "security pin",
    "otp", "totp", "hotp", "mfa code", "2fa code", "one time code", "sms code", "sms otp", "email otp",
    "security code", "access code", "verification code", "auth code", "recovery code", "backup code", "unlock code",
    "security answer", "recovery phrase", "seed phrase",
)  # fmt: skip
"""Each with its plural, but for these."""
NO_PLURAL: Final = frozenset({"token", "pin", "pw", "authorization", "csrf", "xsrf"})

INSIDE: Final = ("password", "passwd", "passphrase", "passcode", "apikey", "creditcard", "csrf", "xsrf")
"""Found anywhere in a word."""
AT_THE_END: Final = (
    "token", "secret", "pwd", "credential", "sessionid", "sessid", "sessionkey", "privatekey", "secretkey",
    "accesskey", "signingkey", "encryptionkey", "masterkey", "securitycode", "cardnumber", "debitcard", "cvv", "cvc",
    "accesstoken", "refreshtoken", "authtoken", "sessiontoken", "apitoken",
)  # fmt: skip
"""Found at the end of a word; those for which "s" makes no count of something, also in the plural."""
COUNTED: Final = frozenset({"token"})
ORDINARY: Final = frozenset({"passwordless", "betoken"})
"""Words that have a phrase in them and mean something else."""

LEAST_JOINED: Final = 6
"""Letters of a phrase that may be written in pieces: ``pass_word``, but not ``p_in``."""

_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+")
_NUMBERS: Final = frozenset({"number", "no", "num", "pan"})
_CARD_NUMBER: Final = re.compile(r"[0-9](?:[ -]?[0-9]){11,18}")
_NO_LETTER: Final = re.compile(r"[^a-z]+")


class Verdict(Enum):
    """``COUNT``: of a number or of texts, which the name does not tell (``total_tokens``)."""

    HARMLESS = 0
    COUNT = 1
    SECRET = 2


def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case; "password2" is a password too."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    found = [word.lower().strip("0123456789") for word in _WORD.findall(name)]
    return tuple([word for word in found if word])


def is_card(name: str) -> bool:
    """Whether the members of this one are those of a card: ``card``, ``cards``, ``paymentCard``."""
    return name[-5:].lower().endswith(("card", "cards"))


def is_card_number(name: str, value: Any) -> bool:
    """Whether a card's member is its number: 12 to 19 digits (ISO/IEC 7812-1), however they are grouped."""
    return (
        name.lower() in _NUMBERS
        and isinstance(value, (str, int))
        and bool(_CARD_NUMBER.fullmatch(str(value)))
    )


class SecretNames:
    """The names to look for, with a site's ``extra`` ones: a name costs as much as it is long."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        own = {"".join(words(name)) for name in extra} - {""}
        core = {"".join(words(phrase)) for phrase in PHRASES}
        plural = {"".join(words(phrase)) + "s" for phrase in PHRASES if phrase not in NO_PLURAL}
        self._phrases = frozenset(core | plural | own)
        several = {"".join(words(name)) for name in (*PHRASES, *extra) if len(words(name)) > 1}
        # In pieces: what has several words anyway, and what is long enough to be meant.
        self._joined = frozenset(
            phrase
            for phrase in self._phrases
            if len(phrase) >= LEAST_JOINED or phrase in several or phrase.removesuffix("s") in several
        )
        # Where the words from some place on do not begin like a phrase, nothing further on makes them one.
        self._begins = frozenset(
            phrase[:length] for phrase in self._joined for length in range(1, len(phrase) + 1)
        )
        ends = {f"{end}s" for end in AT_THE_END if end not in COUNTED} | {*AT_THE_END}
        self._ends = tuple(sorted(ends))
        # Where none of these is, no phrase is: one quick look settles nearly every name.
        letters = {_NO_LETTER.sub("", phrase) for phrase in {*self._phrases, *ends, *INSIDE}}
        self._maybe = re.compile("|".join(_shortest(letters))).search
        # A name without a Latin letter or digit has no words; it is compared as a whole.
        self._wholes = frozenset(name.casefold() for name in extra if not words(name))

    def verdict(self, name: str) -> Verdict:
        folded = name.lower() if name.isascii() else unicodedata.normalize("NFKC", name).lower()
        if self._maybe(folded if folded.isalpha() else _NO_LETTER.sub("", folded)) is None:
            is_own = bool(self._wholes) and name.casefold() in self._wholes
            return Verdict.SECRET if is_own else Verdict.HARMLESS
        found = words(name)
        if any(self._is_secret(word) for word in found) or self._has_phrase(found):
            return Verdict.SECRET
        return Verdict.COUNT if found and found[-1].endswith("tokens") else Verdict.HARMLESS

    def _is_secret(self, word: str) -> bool:
        if word in ORDINARY:
            return False
        return word in self._phrases or word.endswith(self._ends) or any(part in word for part in INSIDE)

    def _has_phrase(self, found: tuple[str, ...]) -> bool:
        for start, first in enumerate(found):
            joined, following = first, start + 1
            while joined in self._begins and following < len(found):
                joined += found[following]
                following += 1
                if joined in self._joined:
                    return True
        return False


def _shortest(phrases: set[str]) -> list[str]:
    """The phrases that contain none of the others: where none of these is, none of all is."""
    return sorted(one for one in phrases if not any(other in one for other in phrases - {one}))


@lru_cache(maxsize=8)
def secret_names(extra: tuple[str, ...]) -> SecretNames:
    """The built-in names, which cannot be switched off, with a site's own."""
    return SecretNames(extra)
