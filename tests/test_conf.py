"""The AGENTWEB dict: defaults, reading at use, and what is said about mistakes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from django.test import override_settings
from django.utils.translation import gettext_lazy

from agentweb import conf


@pytest.mark.parametrize("name", conf.SETTINGS)
def test_every_setting_has_a_group_a_sentence_and_a_valid_default(name: str) -> None:
    setting = conf.SETTINGS[name]
    assert setting.group
    assert setting.sentence.endswith(".")
    assert setting.check(setting.default) is None
    with override_settings(AGENTWEB={}):
        assert conf.get(name) == setting.default


def test_a_setting_is_read_at_use() -> None:
    with override_settings(AGENTWEB={"MANIFEST_MAX_AGE": 5}):
        assert conf.get("MANIFEST_MAX_AGE") == 5
    with override_settings(AGENTWEB={"MANIFEST_MAX_AGE": 6}):
        assert conf.get("MANIFEST_MAX_AGE") == 6


def test_asking_for_an_unknown_setting_is_a_programming_error() -> None:
    with pytest.raises(KeyError):
        conf.get("ORIGN")


@pytest.mark.parametrize("value", [None, 5, ["ORIGIN"], "ORIGIN"])
def test_what_is_not_a_dict_is_said_and_defaults_hold(value: Any) -> None:
    with override_settings(AGENTWEB=value):
        assert conf.problems() == [("AGENTWEB", "must be a dict", None)]
        assert conf.get("ORIGIN") is None


def test_a_dict_without_mistakes_has_no_problems() -> None:
    with override_settings(AGENTWEB={name: setting.default for name, setting in conf.SETTINGS.items()}):
        assert conf.problems() == []


@pytest.mark.parametrize(
    ("key", "nearest"),
    [("ORIGN", "ORIGIN"), ("origin", "ORIGIN"), ("CALLER_RATES", "CALLER_RATE"), ("ZZZ", None), (5, None)],
)
def test_a_misspelt_key_names_the_nearest(key: Any, nearest: str | None) -> None:
    with override_settings(AGENTWEB={key: "x"}):
        assert conf.problems() == [(str(key), "is not a setting of agentweb", nearest)]


@pytest.mark.parametrize(
    ("key", "good"),
    [
        ("ORIGIN", "https://shop.example"),
        ("ORIGIN", "https://shop.example/"),
        ("ORIGIN", "https://shop.example:8443"),
        ("ORIGIN", "http://[::1]:8000"),
        ("ACTION_PREFIX", "api/agents"),
        ("MAX_BODY_BYTES", 1_024),
        ("ORIGIN", "https://xn--bcher-kva.example"),
        ("CALLER_RATE", [0.5, 1]),
        ("CALLER_RATE", (1e6, 10**6)),
        ("CALLER_RATE", (0.0001, 1.0)),
        ("FAILURE_RATE", (1, 60)),
        ("TRUSTED_PROXIES", ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "unix"]),
        ("TRUSTED_PROXIES", ()),
        ("SENSITIVE_NAMES", ["iban"]),
    ],
)
def test_a_good_value_is_taken(key: str, good: Any) -> None:
    with override_settings(AGENTWEB={key: good}):
        assert conf.problems() == []
        assert conf.get(key) == good


@pytest.mark.parametrize(
    ("key", "bad", "said"),
    [
        ("ORIGIN", 5, "must be a string"),
        ("ORIGIN", "shop.example", "must begin with https://"),
        ("ORIGIN", "ftp://shop.example", "must begin with https://"),
        ("ORIGIN", "https://", "must begin with https://"),
        ("ORIGIN", "https://shop.example/api", "scheme and host only"),
        ("ORIGIN", "https://shop.example?a", "scheme and host only"),
        ("ORIGIN", "https://me@shop.example", "scheme and host only"),
        ("ORIGIN", "https://shop.example:99999", "not a URL"),
        ("ORIGIN", "https://[::1", "not a URL"),
        ("ORIGIN", "https://b\u00fccher.example", "plain ASCII"),
        ("ORIGIN", "https://shop .example", "plain ASCII"),
        ("ORIGIN", "https://shop.example\n", "plain ASCII"),
        ("ORIGIN", " https://shop.example", "plain ASCII"),
        ("ORIGIN", "https://*", "plain ASCII"),
        ("ORIGIN", "https://*.shop.example", "plain ASCII"),
        ("ACTION_PREFIX", "/agent", "without slashes at its ends"),
        ("ACTION_PREFIX", "", "without slashes at its ends"),
        ("ACTION_PREFIX", "a//b", "without slashes at its ends"),
        ("MAX_BODY_BYTES", 10, "from 1024"),
        ("MAX_BODY_BYTES", "1024", "from 1024"),
        ("MAX_BODY_BYTES", True, "from 1024"),
        ("CALLER_RATE", 5, "(requests a second, burst)"),
        ("CALLER_RATE", (0, 1), "(requests a second, burst)"),
        ("CALLER_RATE", (1, 0), "(requests a second, burst)"),
        ("CALLER_RATE", (True, 1), "(requests a second, burst)"),
        ("CALLER_RATE", (math.inf, 1), "to 1000000"),
        ("CALLER_RATE", (math.nan, 1), "to 1000000"),
        ("CALLER_RATE", (1, math.nan), "to 1000000"),
        ("CALLER_RATE", (1, math.inf), "to 1000000"),
        ("CALLER_RATE", (1e-320, 1), "from 0.0001"),
        ("CALLER_RATE", (1, 10**400), "to 1000000"),
        ("CALLER_RATE", (1, 1.5), "a whole number"),
        ("FAILURE_RATE", (0, 60), "from 0.0001"),
        ("NEW_GRANT_RATE", "1/s", "(requests a second, burst)"),
        ("TRUSTED_PROXIES", "10.0.0.0/8", "a list of networks"),
        ("TRUSTED_PROXIES", None, "a list of networks"),
        ("TRUSTED_PROXIES", ["10.0.0.0/33"], "no network of proxies: '10.0.0.0/33'"),
        ("TRUSTED_PROXIES", ["10.0.0.1/8"], "no bits behind the prefix"),
        ("TRUSTED_PROXIES", ["10.0.0.0/8", "*", 5], "no network of proxies: '*', 5;"),
        ("TRUSTED_PROXIES", ["0.0.0.0/0"], "not the whole internet"),
        ("TRUSTED_PROXIES", ["::/0"], "not the whole internet"),
        ("TRUSTED_PROXIES", ["proxy.internal"], "no network of proxies"),
        ("SENSITIVE_NAMES", "iban", "a list of names"),
        ("SENSITIVE_NAMES", [""], "a list of names"),
        ("SENSITIVE_NAMES", 5, "a list of names"),
        ("GRANT_MAX_DAYS", 0, "from 1"),
        ("SIGNATURE_MAX_SECONDS", 301, "to 300"),
    ],
)
def test_a_bad_value_is_said_in_words(key: str, bad: Any, said: str) -> None:
    with override_settings(AGENTWEB={key: bad}):
        (found,) = conf.problems()
    assert found[0] == key
    assert said in found[1]
    assert found[2] is None


def test_every_problem_is_listed_at_once() -> None:
    with override_settings(AGENTWEB={"ORIGIN": 5, "NOPE": 1, "GRANT_MAX_DAYS": 0}):
        assert [key for key, _wrong, _nearest in conf.problems()] == ["ORIGIN", "NOPE", "GRANT_MAX_DAYS"]


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group, known in conf.GROUPS.items() for name in known]
)
def test_every_setting_of_a_group_has_a_sentence_and_a_valid_default(group: str, name: str) -> None:
    setting = conf.GROUPS[group][name]
    assert setting.group
    assert setting.sentence.endswith(".")
    assert setting.check(setting.default) is None
    with override_settings(AGENTWEB={}):
        assert conf.get_in(group, name) == setting.default


def test_a_setting_of_a_group_is_read_at_use() -> None:
    with override_settings(AGENTWEB={"AWP": {"NAME": "The Corner Shop"}}):
        assert conf.get_in("AWP", "NAME") == "The Corner Shop"
    with override_settings(AGENTWEB={"AWP": None}):
        assert conf.get_in("AWP", "NAME") is None


def test_a_misspelt_key_of_a_group_names_the_nearest() -> None:
    with override_settings(AGENTWEB={"AWP": {"DESCRIPTON": "x", "NAME": ""}}):
        assert conf.problems() == [
            ("AWP.DESCRIPTON", "is not a setting of agentweb", "DESCRIPTION"),
            ("AWP.NAME", "must be a text of 1 to 100 characters", None),
        ]


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("NAME", gettext_lazy("The Corner Shop")),
        ("SITEMAPS", "shop.urls.sitemaps"),
        ("SITEMAPS", {"products": object}),
        ("LANGUAGES", ["en", "nl"]),
        ("SELECTOR", "#main"),
    ],
)
def test_a_good_value_of_awp_is_taken(name: str, good: Any) -> None:
    with override_settings(AGENTWEB={"AWP": {name: good}}):
        assert conf.problems() == []


@pytest.mark.parametrize(
    ("name", "bad", "wrong"),
    [
        ("NAME", "x" * 101, "must be a text of 1 to 100 characters"),
        ("DESCRIPTION", " ", "must be a text of 1 to 20,000 characters"),
        (
            "SITEMAPS",
            "sitemaps",
            "must be the dict of the site's sitemaps, or where it is: 'shop.urls.sitemaps'",
        ),
        ("SITEMAPS", [], "must be the dict of the site's sitemaps, or where it is: 'shop.urls.sitemaps'"),
        ("LANGUAGES", "en", "must be a list of language codes, for example ['en', 'nl']"),
        ("LANGUAGES", ["xx"], "has what is not in LANGUAGES: 'xx'"),
    ],
)
@pytest.mark.requirement("AWP-2.6")
def test_a_bad_value_of_awp_is_named(name: str, bad: Any, wrong: str) -> None:
    with override_settings(AGENTWEB={"AWP": {name: bad}}):
        assert conf.problems() == [(f"AWP.{name}", wrong, None)]


def test_a_group_that_is_no_dict_is_named_once() -> None:
    with override_settings(AGENTWEB={"AWP": "The Corner Shop"}):
        assert conf.problems() == [("AWP", f"must be a dict of {', '.join(conf.GROUPS['AWP'])}", None)]
