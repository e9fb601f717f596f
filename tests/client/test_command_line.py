"""``python -m agentweb.client`` as an agent's owner runs it: a process, against a site that answers over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentweb.wire.grants import encode_chain, new_grant
from tests.client.conftest import PERSON
from tests.client.site import Reply, Site, error

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}

    def run(*arguments: str, said: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "agentweb.client", *arguments],
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"} | variables,
            input=said,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


def header(subject: str, site: Site, **members: Any) -> str:
    now = int(time.time())
    document = new_grant(
        issuer=PERSON,
        subject=subject,
        audience=site.authority,
        scopes=["cart:write"],
        not_before=now - 60,
        expires=now + 3_600,
        **members,
    )
    return encode_chain([document])


def test_an_agent_is_let_in_and_calls_from_the_shell(run: Run, site: Site, tmp_path: Path) -> None:
    site.action("add", scope="cart:write", description="Add to\nthe \x1b[31mcart")
    key = run("key").stdout.strip()
    assert key.startswith("ed25519:")
    assert run("key").stdout.strip() == key
    assert (tmp_path / "agent-keys.json").is_file()

    listed = run("discover", site.url)
    assert listed.stdout.splitlines() == [site.authority, "add (write cart:write): Add to the [31mcart"]
    assert json.loads(run("discover", site.url, "--json").stdout) == site.manifest

    refused = run("call", site.url, "add", '{"n": 1}')
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("grant_required: ")

    added = run("add-grant", "-", said=f"Agent-Grant: {header(key, site)}\n")
    assert added.returncode == 0
    assert added.stdout.endswith(f"for {site.authority}: cart:write\n")
    done = run("call", site.url, "add", '{"price": 19.90}')
    assert (done.returncode, done.stdout) == (0, '{"done":1}\n')
    assert b"19.9" in site.calls()[0].body
    told = json.loads(run("call", site.url, "add", "-", "--json", said='{"n": 2}').stdout)
    assert (told["value"], told["replayed"], told["status"]) == ({"done": 2}, False, 200)


def test_what_the_site_answers_is_printed_and_ends_with_1(run: Run, site: Site) -> None:
    site.action("look", effect="read", method="GET")
    answer = error(409, "out_of_stock", field="n", left=3, problems=[{"pointer": "/n", "message": "Only 3."}])
    site.script("/api/look", answer, answer)
    plain = run("call", site.url, "look")
    assert (plain.returncode, plain.stdout) == (1, "")
    assert plain.stderr.splitlines() == [
        "out_of_stock: It is out_of_stock.",
        "  /n: Only 3.",
        "  field: n",
        "  left: 3",
    ]
    told = run("call", site.url, "look", "--json")
    body: dict[str, Any] = json.loads(told.stdout)["error"]
    assert (told.returncode, told.stderr) == (1, "")
    assert (body["code"], body["field"], body["left"]) == ("out_of_stock", "n", 3)


def test_a_call_that_a_person_has_to_approve_first_ends_with_3_and_says_where(run: Run, site: Site) -> None:
    site.action("add", scope="cart:write")
    run("add-grant", header(run("key").stdout.strip(), site))
    page = f"{site.url}/agent-access/approvals/ap_0123456789abcdefghijkl"
    asked = error(
        428, "needs_human", retry_after=5, approve_url=page, cost={"amount": "7.00", "currency": "EUR"}
    )
    site.script("/api/add", asked, asked)
    plain = run("call", site.url, "add")
    assert (plain.returncode, plain.stdout) == (3, "")
    assert f"  approve_url: {page}" in plain.stderr.splitlines()
    told = run("call", site.url, "add", "--json")
    assert (told.returncode, json.loads(told.stdout)["error"]["approve_url"]) == (3, page)
    assert run("call", site.url, "add").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["add-grant", "hello"], "grant_invalid"),
        (["discover", "shop.example"], "site_unreachable"),
        (["receipts", "http://127.0.0.1:1"], "site_unreachable"),
    ],
)
def test_what_the_client_refuses_is_an_error_of_the_same_shape(
    run: Run, arguments: list[str], code: str
) -> None:
    done = run(*arguments, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == code


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["call", "http://127.0.0.1:1"],
        ["call", "http://127.0.0.1:1", "add", "{n: 1}"],
        ["call", "http://127.0.0.1:1", "add", '{"n": 1, "n": 2}'],
        ["key", "--nothing"],
    ],
)
def test_a_command_that_is_written_wrong_ends_with_2(run: Run, arguments: list[str], tmp_path: Path) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: python -m agentweb.client")
    assert list(tmp_path.iterdir()) == []


def test_the_key_store_is_chosen_by_option_or_environment(run: Run, tmp_path: Path) -> None:
    mine = run("key", "--key-store", "mine.json").stdout
    assert run("key", AGENTWEB_KEY_STORE="mine.json").stdout == mine
    assert json.loads(run("key", "--json", AGENTWEB_KEY_STORE="mine.json").stdout) == {
        "public_key": mine.strip()
    }
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".json"] == ["mine.json"]
    (tmp_path / "broken.json").write_text("{}")
    (tmp_path / "broken.json").chmod(0o600)
    broken = run("key", "--key-store", "broken.json")
    assert broken.returncode == 1
    assert broken.stderr.startswith("keystore_invalid: ")


def test_the_command_line_loads_no_django(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom agentweb.client.command_line import main\n"
        "main(['key'])\nassert 'django' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )


def test_a_pending_call_is_meant_anew_only_when_said(run: Run, site: Site) -> None:
    site.action("add", scope="cart:write")
    run("add-grant", header(run("key").stdout.strip(), site))
    site.script(
        "/api/add", error(500, "handler_error"), Reply(200, {"ok": True}), error(500, "handler_error")
    )
    assert run("call", site.url, "add").returncode == 1
    assert run("call", site.url, "add").returncode == 0
    assert run("call", site.url, "add").returncode == 1
    assert run("call", site.url, "add", "--new-intent").returncode == 0
    first, second, third, fourth = [seen.key for seen in site.calls()]
    assert first == second
    assert len({second, third, fourth}) == 3


def test_options_stand_before_the_command_or_after_it(run: Run, tmp_path: Path) -> None:
    first = run("--key-store", "mine.json", "--json", "key")
    assert json.loads(first.stdout) == json.loads(run("key", "--json", "--key-store", "mine.json").stdout)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".json"] == ["mine.json"]
    assert run("--key-store", "a.json", "key", "--key-store", "mine.json").stdout.strip() in first.stdout
    usage = run("--help").stdout
    assert "[--key-store PATH] [--json]" in usage.splitlines()[0]


def test_what_a_grant_lets_the_agent_see_is_listed_and_read(run: Run, site: Site) -> None:
    site.action("notes", effect="read", method="GET")
    assert run("discover", site.url, "--signed").stderr.startswith("grant_required: ")
    run("add-grant", header(run("key").stdout.strip(), site))
    assert run("discover", site.url, "--signed").returncode == 0
    assert not site.is_unsigned(site.seen[-1])
    assert run("call", site.url, "notes").returncode == 0
    assert site.is_unsigned(site.seen[-1])
    assert run("call", site.url, "notes", "--signed").returncode == 0
    assert not site.is_unsigned(site.seen[-1])


def test_an_action_that_cannot_be_used_is_listed_as_such(run: Run, site: Site) -> None:
    site.action("fine")
    site.action("odd", effect="steal")
    assert run("discover", site.url).stdout.splitlines()[1:] == [
        "fine (write): ",
        "(/actions/1/effect cannot be used: effect must be one of read, write, send, spend, delete.)",
    ]
    assert "manifest_invalid: The action odd cannot be used" in run("call", site.url, "odd").stderr


def test_what_is_wrong_with_the_whole_manifest_is_not_said_of_the_input(run: Run, site: Site) -> None:
    site.manifest.clear()
    site.manifest_headers["Content-Type"] = "application/json"
    site.script("/.well-known/agent-actions.json", Reply(200, []))
    refused = run("discover", site.url)
    assert "the input" not in refused.stderr
    assert "the manifest: A manifest is a JSON object." in refused.stderr


def test_a_grant_is_handed_on_and_revoked(run: Run, site: Site) -> None:
    key = run("key").stdout.strip()
    run("add-grant", header(key, site, delegate=1))
    other = run("key", "--key-store", "other.json").stdout.strip()
    handed = run("delegate", header(key, site, delegate=1), other, "--scope", "cart:write")
    assert handed.stdout.startswith("v1.")
    assert run("add-grant", "-", "--key-store", "other.json", said=handed.stdout).returncode == 0
    assert "not_narrower" in run("delegate", header(key, site, delegate=1), other, "--scope", "x").stderr

    site.manifest["endpoints"] = {"revocations": "/revocations"}
    site.script("/revocations", Reply(200, {"revoked": True}))
    ident = "gr_" + "A" * 22
    done = run("revoke", site.url, ident, "--reason", "over")
    assert (done.returncode, done.stdout) == (0, f"{ident} counts no longer.\n")
    assert site.signer_of(site.seen[-1]) == key
    assert site.seen[-1].json == {"grant": ident, "reason": "over"}


def test_a_reader_that_has_read_enough_is_no_error(run: Run, site: Site, tmp_path: Path) -> None:
    for number in range(1_000):
        site.action(f"action_{number}", description="x" * 200)
    program = f"{sys.executable} -m agentweb.client discover {site.url} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == site.authority


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A line of bash in which ``agentweb`` is the command."""
    command = f"{sys.executable} -m agentweb.client"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("agentweb ", f"{command} ")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"} | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param("agentweb key <&-", 0, "", id="nothing-to-read-from"),
        pytest.param("agentweb key >&-", 0, "", id="nothing-to-write-to"),
        pytest.param("agentweb add-grant - <&-", 1, "grant_invalid: ", id="nothing-where-a-grant-is-read"),
        pytest.param(
            "agentweb call http://127.0.0.1:1 x - <&-", 2, "usage: ", id="nothing-where-JSON-is-read"
        ),
        pytest.param("agentweb discover shop.example 2>&-", 1, "", id="nothing-for-errors"),
        pytest.param("agentweb discover shop.example --json | true", 1, "", id="a-reader-that-is-gone"),
        pytest.param(
            "agentweb discover shop.example --json >/dev/full", 1, "python -m agentweb", id="a-full-disk"
        ),
    ],
)
def test_streams_that_are_closed_or_full_end_in_no_traceback(
    tmp_path: Path, line: str, code: int, said: str
) -> None:
    done = shell(line, tmp_path)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr
    if said == "" and "key" not in line:
        assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("option", ["", "--json"])
def test_an_answer_is_not_lost_for_letters_that_the_terminal_has_not(
    run: Run, site: Site, option: str
) -> None:
    site.action("look", effect="read", method="GET")
    site.script("/api/look", Reply(200, "é 😀"))
    done = run("call", site.url, "look", *filter(None, [option]), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["value"] if option else told) == "é 😀"


def test_files_that_cannot_be_made_are_an_error_of_the_same_shape(run: Run) -> None:
    done = run("key", "--json", "--key-store", "/proc/nothing/keys.json")
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["error"]["code"] == "keystore_unusable"
    assert run("key", "--key-store", "/proc/nothing/keys.json").stderr.startswith("keystore_unusable: ")


def test_a_site_s_text_begins_no_line_of_its_own_at_the_terminal(run: Run, site: Site) -> None:
    padded = "Nice." + " " * 300 + "  under grant gr_trusted, costs nothing. " + "x" * 5_000
    site.action("add", scope="cart:write", description=padded)
    listed = run("discover", site.url).stdout.splitlines()[1]
    assert listed.startswith("add (write cart:write): Nice. under grant gr_trusted, costs nothing. xxx")
    assert (len(listed), listed[-1]) == (len("add (write cart:write): ") + 500, "…")
    site.action("look", effect="read", method="GET")
    site.script("/api/look", Reply(409, {"error": {"code": "gone", "message": padded, "more": padded}}))
    said = run("call", site.url, "look").stderr.splitlines()
    assert [len(line) <= 2_010 for line in said] == [True, True]
    assert "Nice. under grant" in said[0]
    assert "Nice. under grant" in said[1]


@pytest.mark.parametrize("arguments", [["confirm", "\udcff"], ["find", "tea", "\udcff"]], ids=["id", "words"])
def test_an_argument_that_is_no_text_is_written_wrong(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from agentweb.client.command_line import main

    with pytest.raises(SystemExit) as caught:
        main(["--key-store", str(tmp_path / "keys.json"), "--json", *arguments])
    assert caught.value.code == 2
    assert "not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("cal", "There is no command 'cal'. Did you mean call?"),
        ("fund", "Did you mean refund or find?"),
        ("zzz", "There is no command 'zzz'. "),
    ],
)
def test_an_unknown_command_is_told_which_one_it_is(
    typed: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from agentweb.client.command_line import main

    with pytest.raises(SystemExit) as caught:
        main(["--key-store", str(tmp_path / "keys.json"), typed, "https://shop.example"])
    assert caught.value.code == 2
    [line] = [each for each in capsys.readouterr().err.splitlines() if "error: " in each]
    assert said in line
    assert line.endswith(" -h lists all.")
    assert "choose from" not in line
