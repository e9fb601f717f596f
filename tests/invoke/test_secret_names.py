"""Names of secrets in whatever spelling, and ordinary words that only look like them."""

from __future__ import annotations

import pytest

from agentweb.invoke.redaction import is_sensitive, redact
from agentweb.invoke.secret_names import PHRASES, Verdict, secret_names, words

_SECRETS = """
password passWord pass_word PASS-WORD Pass.Word passwords userPasswords newpassword new_password passwordConfirm
password1 PASSWORD2 confirmpassword2 passwd mypasswd db_passwd passphrase pass_phrase passPhrases passcode passCode
pass_codes passkey pwd userpwd new_pwd pw user_pass smtpPass
secret secrets clientsecret client_secret clientSecrets appsecret secretkey secret_key SECRET_ACCESS_KEY totpSecret
token accessToken accesstoken access_token access_tokens accesstokens refreshToken refreshTokens bearer_token idToken
auth_tokens apitoken my_token token2 csrftoken csrfmiddlewaretoken X-CSRFToken X-CSRF xsrf X_XSRF_TOKEN
apiKey APIKey api_key API-KEYS apikey apikeys myapikey x-api-key api_1_key accessKeys accesskey privatekey private_key
privateKeys ssh_private_key signingKey encryptionkey masterKey
sessionid session_id sessionID SessionIds PHPSESSID JSESSIONID session_key session_cookie set-cookie
creditcard creditCard creditCards credit-card debitCard cardNumber card_numbers cardnumber cc_number cvv CVV2 cardCvv
cvc card_cvc cardcvc cvn
pin PIN Pin1 userPin user_pin pinCode pin_code newpin cardpin
otp OTP otpCode otps totp smsOtp one_time_code security_code securityCode securitycode verification_code recoveryCodes
backup_codes access_code security_answer seedPhrase
authorization Authorization credential credentials awscredentials jwt userJwt
"""
_ORDINARY = """
passenger passengers compass encompass passage passport passport_number bypass surpass trespass pass passes
boarding_pass day_pass passion passive past_word compass_word crossword sword keyword word wordcount
shipping shipping_address opinion opinions pinned pinning spin spinner spinach pine pinecone pineapple topping mapping
hopping pins pint pink p_in drop_in login_count logins
tokens_used tokenise tokenised tokenizer tokenization secretary secretaries secretariat secretion
session sessions session_start sessionStart session_idle sessionTitle
card cards card_type cardinal card_holder discard gift_card scorecard credit credits credit_limit debit
code codes postal_code zipCode country_code coupon_code status_code error_codes codec
key keys keyboard monkey donkey hockey primary_key foreign_key public_key publicKey sort_key key_id
author authors authored authorised company companies option options adoption laptop hotplate robotic
description summary name title total id ids identity sid side cookie cookies answer answers phrase seed seeds
"""
SECRETS, ORDINARY = (list(dict.fromkeys(text.split())) for text in (_SECRETS, _ORDINARY))


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_s_name_is_known(name: str) -> None:
    assert is_sensitive(name)


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_name_stays_whatever_it_holds(name: str) -> None:
    assert not is_sensitive(name)
    for value in ("a text", 7, ["a"], {"a": "b"}):
        assert redact({name: value}) == ({name: value}, [])


def test_there_are_enough_of_both() -> None:
    assert len(SECRETS) >= 60
    assert len(ORDINARY) >= 60


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("style", ["_", "-", ".", " ", "camel", "PASCAL_"])
def test_every_phrase_is_known_in_every_style_and_within_a_longer_name(phrase: str, style: str) -> None:
    parts = phrase.split()
    for around in (parts, ["my", *parts], [*parts, "old"]):
        if style == "camel":
            name = around[0] + "".join(part.title() for part in around[1:])
        elif style == "PASCAL_":
            name = "_".join(around).upper()
        else:
            name = style.join(around)
        assert is_sensitive(name), name


@pytest.mark.parametrize(
    "name",
    ["\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44", "pass\u00adword", "pass\u200bword"],
    ids=ascii,
)
def test_a_name_is_known_behind_other_characters(name: str) -> None:
    assert is_sensitive(name)


@pytest.mark.parametrize("name", ["tokens", "total_tokens", "maxTokens", "prompt_tokens", "completionTokens"])
def test_tokens_are_counted_by_numbers_and_given_away_by_texts(name: str) -> None:
    assert secret_names(()).verdict(name) is Verdict.COUNT
    for counted in (7, 1.5, None, True, {"input": 3}, [1, 2], []):
        assert redact({name: counted})[0] == {name: counted}
    for given in ("eyJhbGciOi", ["eyJhbGciOi"]):
        assert redact({name: given}) == ({}, [name])
    assert redact({name: [{"id": 1, "token": "a"}]}) == ({name: [{"id": 1}]}, ["token"])


def test_a_name_of_digits_and_signs_has_no_words_and_costs_nothing() -> None:
    assert words("1_2_3") == ()
    assert redact({"1_" * 100_000: 1})[1] == []


def test_a_site_s_name_of_several_words_is_known_in_one() -> None:
    names = secret_names(("account no", "iban"))
    assert all(
        names.verdict(name) is Verdict.SECRET for name in ("accountNo", "accountno", "my_iban", "IBAN2")
    )
    assert names.verdict("urban") is Verdict.HARMLESS
