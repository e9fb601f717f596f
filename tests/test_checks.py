"""System checks of the whole: settings, installation, declarations, and the start that is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import checks
from django.test import override_settings

import agentweb
from agentweb import action, conf, page
from agentweb.access.models import SiteKey
from agentweb.catalog.checks import check_declarations
from agentweb.catalog.faults import DANGEROUS, FaultId
from agentweb.catalog.registry import registry
from agentweb.checks import check_anything_declared, check_distribution, check_settings
from agentweb.conf import runs
from agentweb.doctor.keys_probes import no_key
from tests.catalog.declarations import handler

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "checks.md"
_ID = re.compile(r"agentweb\.[EW][0-9]{3}")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def one(found: list[checks.CheckMessage]) -> checks.CheckMessage:
    assert len(found) == 1, found
    return found[0]


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "CALLER_RAET": (1, 1)})
def test_an_unknown_setting_is_an_error_that_names_the_nearest() -> None:
    found = one(check_settings())
    assert found.id == "agentweb.E001"
    assert found.level == checks.ERROR
    assert found.msg == "AGENTWEB['CALLER_RAET'] is not a setting of agentweb."
    assert found.hint == "Did you mean 'CALLER_RATE'?"


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "XYZ": 1})
def test_a_setting_like_no_other_lists_all() -> None:
    found = one(check_settings())
    assert found.id == "agentweb.E001"
    assert found.hint is not None
    assert found.hint.startswith("Known: ORIGIN, ROOMS, ACTION_PREFIX, ")


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "CALLER_RATE": 5})
def test_a_bad_setting_is_an_error_that_explains_it() -> None:
    found = one(check_settings())
    assert found.id == "agentweb.E002"
    assert found.msg == "AGENTWEB['CALLER_RATE'] must be (requests a second, burst), for example (20, 60)."
    assert found.hint is not None
    assert "Signed requests of one person" in found.hint


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "AWP": {"SUMARY": "x", "NAME": 5}})
def test_mistakes_in_a_dict_of_settings_name_the_dict_too() -> None:
    unknown, bad = check_settings()
    assert (unknown.id, unknown.msg) == (
        "agentweb.E001",
        "AGENTWEB['AWP']['SUMARY'] is not a setting of agentweb.",
    )
    assert unknown.hint == "Did you mean 'SUMMARY'?"
    assert (bad.id, bad.msg) == (
        "agentweb.E002",
        "AGENTWEB['AWP']['NAME'] must be a text of 1 to 100 characters.",
    )
    assert bad.hint is not None
    assert bad.hint.startswith("The site's name. Unset, ")


@override_settings(AGENTWEB=["ORIGIN"], DEBUG=True)
def test_settings_that_are_no_dict_are_an_error() -> None:
    found = one(check_settings())
    assert found.id == "agentweb.E002"
    assert found.msg == "AGENTWEB must be a dict."
    assert found.hint == "Write AGENTWEB = {...}."


@override_settings(AGENTWEB={}, DEBUG=False)
def test_without_debug_the_origin_must_be_set() -> None:
    found = one(check_settings())
    assert found.id == "agentweb.E003"
    assert found.level == checks.ERROR
    assert found.hint is not None
    assert "AGENTWEB = {'ORIGIN': 'https://shop.example'}" in found.hint


@override_settings(AGENTWEB={}, DEBUG=True)
def test_under_debug_the_origin_may_be_left_out() -> None:
    assert check_settings() == []


def test_this_installation_is_alone() -> None:
    assert check_distribution() == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("top_level.txt", "other\nagentweb\n"),
        ("RECORD", "agentweb/__init__.py,,\n"),
        ("RECORD", "a.py,,\nagentweb/x.py,,"),
    ],
)
def test_another_distribution_of_the_name_is_an_error(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = tmp_path / "agent_web_tools-1.0.dist-info"
    stranger.mkdir()
    (stranger / "METADATA").write_text("Metadata-Version: 2.1\nName: agent-web-tools\nVersion: 1.0\n")
    (stranger / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = one(check_distribution())
    assert found.id == "agentweb.E004"
    assert found.level == checks.ERROR
    assert found.msg == "Another package also provides 'agentweb': agent-web-tools."
    assert found.hint is not None
    assert "Uninstall it, then install agentweb-django again" in found.hint


def test_a_distribution_of_a_longer_name_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (name, text) in enumerate(
        (("top_level.txt", "agentweb_tools\n"), ("RECORD", "my/agentweb/a.py,,\n"))
    ):
        stranger = tmp_path / f"other{number}-1.0.dist-info"
        stranger.mkdir()
        (stranger / "METADATA").write_text(f"Metadata-Version: 2.1\nName: other{number}\nVersion: 1.0\n")
        (stranger / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert check_distribution() == []


def test_files_of_the_name_from_elsewhere_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agentweb, "__path__", [*agentweb.__path__, str(tmp_path)])
    found = one(check_distribution())
    assert found.id == "agentweb.E004"
    assert str(tmp_path) in found.msg


def test_times_without_a_zone_are_an_error(settings: Any) -> None:
    assert conf.dangers() == []
    settings.USE_TZ = False
    found = [each for each in check_settings() if each.id == "agentweb.E005"]
    assert len(found) == 1
    assert found[0].hint is not None
    assert "USE_TZ = True" in found[0].hint


def test_faults_of_declarations_are_checks_of_their_level() -> None:
    with registry.only():
        action("one", effect="write")(handler)
        action("two", scope="*")(handler)
        warning, error = check_declarations()
    assert (warning.id, warning.level) == ("agentweb.W010", checks.WARNING)
    assert warning.hint == "Give a scope like 'cart:write'."
    assert (error.id, error.level) == ("agentweb.E013", checks.ERROR)
    assert error.hint is not None
    assert str(error).startswith(
        "tests.catalog.declarations.handler: (agentweb.E013) '*' is not a scope.\n\tHINT: "
    )


def test_a_site_without_any_action_is_told_where_they_are_looked_for() -> None:
    with registry.only():
        found = one(check_anything_declared())
    assert (found.id, found.level) == ("agentweb.W014", checks.WARNING)
    assert found.msg == (
        "No action is registered; agents.py was looked for in tests.site and found in tests.site."
    )
    assert found.hint is not None
    assert "agents.py" in found.hint
    assert "INSTALLED_APPS" in found.hint


def test_a_declaration_with_a_fault_is_not_told_as_none() -> None:
    with registry.only():
        action("two", scope="*")(handler)
        assert one(check_declarations()).id == "agentweb.E013"
        assert check_anything_declared() == []


@pytest.mark.parametrize(
    ("on", "has_page", "is_told"),
    [
        (["aim"], False, False),
        (["aim", "aip"], False, True),
        (["aim", "aip"], True, False),
        (["aip", "agent_actions"], True, True),
        (["agent_actions"], False, True),
        ([], False, False),
        (None, True, True),
    ],
)
def test_a_site_is_told_of_actions_that_it_has_none_of_where_agents_could_call_them(
    on: list[str] | None, has_page: bool, is_told: bool, settings: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "ROOMS": on}
    with registry.only():
        if has_page:
            page("/cart", title="Cart")
        found = [each.id for each in check_anything_declared()]
    assert found == ["agentweb.W014"] * is_told


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("on", "is_told"), [(None, True), (["aim"], False), (["aim", "aip"], True), (["agent_actions"], True)]
)
def test_a_site_without_a_signing_key_is_told_where_something_is_signed_with_it(
    on: list[str] | None, is_told: bool, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "ROOMS": on}
    settings.DEBUG = False
    monkeypatch.setattr(runs, "is_test", lambda: False)
    SiteKey.objects.all().delete()
    found = [each.id for each in checks.run_checks(tags=["agentweb"], databases=["default"])]
    assert ("agentweb.W033" in found) is is_told
    assert bool(list(no_key(None))) is is_told  # type: ignore[arg-type]  # looks at no answer


@pytest.mark.django_db
def test_the_checks_are_registered_under_the_tag() -> None:
    with registry.only():
        action("two", scope="*")(handler)
        assert "agentweb.E013" in {found.id for found in checks.run_checks(tags=["agentweb"])}
    assert checks.registry.registry.tag_exists("agentweb")


def test_the_page_of_checks_and_the_code_name_the_same_ids() -> None:
    in_code = {
        found
        for path in (ROOT / "agentweb").rglob("*.py")
        for found in _ID.findall(path.read_text(encoding="utf-8"))
    }
    listed = re.findall(r"^\| `(agentweb\.[EW][0-9]{3})` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(in_code)


def test_the_page_of_checks_says_which_stop_the_start() -> None:
    rows = re.findall(
        r"^\| `(agentweb\.[EW][0-9]{3})` \| (stops|) ?\|", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {found for found, stops in rows if stops} == {"agentweb.E005", *map(str, DANGEROUS)}
    assert {str(each) for each in FaultId} <= {found for found, _stops in rows}


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Run]:
    """A site of its own, with one app whose agents.py is the given text; answers with a way to run Python in it."""

    def make(agents: str) -> Run:
        (tmp_path / "settings.py").write_text(
            "SECRET_KEY = 'only-for-this-test'\n"
            "INSTALLED_APPS = ['django.contrib.auth', 'django.contrib.contenttypes', 'shop', 'agentweb']\n"
            "ROOT_URLCONF = 'urls'\n"
            "AGENTWEB = {'ORIGIN': 'https://shop.example'}\n"
            "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n"
        )
        (tmp_path / "urls.py").write_text(
            "from django.urls import include, path\nurlpatterns = [path('', include('agentweb.urls'))]\n"
        )
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "__init__.py").touch()
        (tmp_path / "shop" / "agents.py").write_text(textwrap.dedent(agents))
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "settings",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
        }

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, *arguments],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )

        return run

    return make


def test_the_agents_module_of_every_app_is_found(project: Callable[[str], Run]) -> None:
    run = project(
        """
        from dataclasses import dataclass
        from agentweb import action, flow

        flow("look_twice", steps=[{"action": "look", "with": {"at": "$input.at"}}] * 2)

        @dataclass
        class Look:
            at: str

        @action
        def look(inp: Look, ctx):
            '''Look at a thing.'''
            return {"seen": inp.at}
        """
    )
    found = run(
        "-c",
        "import django; django.setup()\n"
        "from agentweb.catalog.registry import registry\n"
        "(look,) = registry.actions()\n"
        "print(look.where, look.method, look.path, look.handler(look.to_python({'at': 'x'}, None), None))\n"
        "print(registry.flows()[0].input_schema, registry.faults())",
    )
    assert found.stdout == (
        "shop.agents.look GET /agent/look {'seen': 'x'}\n"
        "{'type': 'object', 'properties': {'at': {'type': 'string'}}, 'required': ['at'], "
        "'additionalProperties': False} []\n"
    )
    assert found.returncode == 0, found.stderr
    checked = run("-m", "django", "check", "--fail-level", "ERROR")
    assert checked.returncode == 0, checked.stderr


def test_the_site_does_not_start_on_dangerous_declarations(project: Callable[[str], Run]) -> None:
    run = project(
        """
        from agentweb import action, flow

        @action(effect="write", scope="cart:*")
        def add(inp, ctx):
            '''Add.'''

        @action(effect="spend", scope="pay", cost={"amount": 9.5, "currency": "USD"})
        def pay(inp, ctx):
            '''Pay.'''

        @action(rate=5)
        def harmless(inp, ctx):
            '''A mistake that only keeps it from being published.'''

        for _ in range(2):
            flow("twice", steps=[{"action": "fine"}])

        @action
        def fine(inp, ctx):
            '''Fine.'''
        """
    )
    for arguments in (
        ("-c", "import django; django.setup()"),
        ("-m", "django", "runserver", "--noreload"),
        ("-m", "django", "shell", "-c", "0"),
        ("-m", "django", "agentweb_keys", "list"),
    ):
        found = run(*arguments)
        assert found.returncode != 0, arguments
        said = found.stderr[found.stderr.index("ImproperlyConfigured: ") :]
        assert "shop.agents.add: (agentweb.E013) 'cart:*' is not a scope." in said
        assert (
            "shop.agents.pay: (agentweb.E020) The cost does not hold: the amount does not hold: A float"
            in said
        )
        assert "shop.agents: flow 'twice': (agentweb.E030) Two flows are named 'twice'." in said
        # The mistake that would not keep the site from starting is told too, last.
        assert said.count("HINT: ") == 4
        assert said.index("agentweb.E030") < said.index("agentweb.E024")


def test_commands_that_only_look_show_dangerous_declarations_without_a_traceback(
    project: Callable[[str], Run],
) -> None:
    run = project(
        """
        from agentweb import action

        @action(effect="write", scope="cart:*")
        def add(inp: None, ctx):
            '''Add.'''

        @action
        def fine(inp: None, ctx):
            '''Fine.'''

        @action(rate=5)
        def harmless(inp: None, ctx):
            '''Harmless.'''
        """
    )
    checked = run("-m", "django", "check")
    assert checked.returncode == 1
    assert "Traceback" not in checked.stderr
    assert "(agentweb.E013) 'cart:*' is not a scope." in checked.stderr
    assert "(agentweb.E024)" in checked.stderr
    listed = run("-m", "django", "agentweb_actions", "--json")
    assert listed.returncode == 0, listed.stderr
    told = json.loads(listed.stdout)
    assert [each["name"] for each in told["actions"]] == ["fine"]
    assert [each["id"] for each in told["faults"]] == ["agentweb.E013", "agentweb.E024"]
    plain = run("-m", "django", "agentweb_actions")
    assert "agentweb.E013" in plain.stderr
    assert "Traceback" not in plain.stderr
    for arguments in (
        ("migrate", "--plan"),
        ("makemigrations", "--check"),
        ("--settings", "settings", "check"),
    ):
        assert "Traceback" not in run("-m", "django", *arguments).stderr, arguments


def test_times_without_a_zone_keep_the_site_from_starting(
    project: Callable[[str], Run], tmp_path: Path
) -> None:
    run = project("")
    with (tmp_path / "settings.py").open("a") as settings:
        settings.write("USE_TZ = False\n")
    for arguments in (("-c", "import django; django.setup()"), ("-m", "django", "agentweb_keys", "list")):
        found = run(*arguments)
        assert found.returncode != 0
        assert "(agentweb.E005) USE_TZ is False" in found.stderr
        assert "HINT: Write USE_TZ = True" in found.stderr


def test_other_faults_let_the_site_start_and_are_shown_by_check(project: Callable[[str], Run]) -> None:
    run = project(
        """
        from agentweb import action

        @action(effect="write", description="Add.")
        def add(inp, ctx): ...

        @action(rate=5, description="Look.")
        def look(inp, ctx): ...
        """
    )
    started = run(
        "-c",
        "import django; django.setup()\n"
        "from agentweb.catalog.registry import registry\n"
        "print([found.name for found in registry.actions()])",
    )
    assert (started.returncode, started.stdout) == (0, "['add']\n"), started.stderr
    checked = run("-m", "django", "check", "--tag", "agentweb")
    assert checked.returncode != 0
    assert "shop.agents.look: (agentweb.E024) rate=5" in checked.stderr
    assert "HINT: Write rate=(calls a second, burst), for example rate=(2, 10)." in checked.stderr
    assert "shop.agents.add: (agentweb.W010)" in checked.stderr


def test_an_error_in_an_agents_module_is_not_hidden(project: Callable[[str], Run]) -> None:
    found = project("import nothing_like_this")("-c", "import django; django.setup()")
    assert found.returncode != 0
    assert "No module named 'nothing_like_this'" in found.stderr


def test_an_argument_that_does_not_exist_is_an_error_at_its_place(project: Callable[[str], Run]) -> None:
    found = project("from agentweb import action\n\n\n@action(serialiser=object)\ndef f(inp, ctx): ...\n")(
        "-c", "import django; django.setup()"
    )
    assert found.returncode != 0
    assert "unexpected keyword argument 'serialiser'" in found.stderr


def test_urls_without_the_app_say_which_of_the_two_is_missing(
    project: Callable[[str], Run], tmp_path: Path
) -> None:
    run = project("")
    settings = tmp_path / "settings.py"
    settings.write_text(settings.read_text().replace(", 'agentweb'", ""))
    found = run("-m", "django", "check")
    assert found.returncode != 0
    assert "ImproperlyConfigured: agentweb.urls is included" in found.stderr
    assert "'agentweb' is not in INSTALLED_APPS" in found.stderr
