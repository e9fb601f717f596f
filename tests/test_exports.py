"""Public documents as files: equal to what their URLs serve, whole or not there, and nobody else's are touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.test import Client
from django.urls import set_script_prefix

from agentweb import exports, rooms
from agentweb.access import site_keys
from agentweb.agent_actions import published
from agentweb.exports import ExportError
from agentweb.http.documents import Place, PublicDocument
from tests.support.web_fixtures import shop  # noqa: F401

MANIFEST = ".well-known/agent-actions.json"


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> list[PublicDocument]:
    """The public documents of the site, as a list to be changed."""
    found: list[PublicDocument] = []
    monkeypatch.setattr(rooms, "documents", lambda: found)
    return found


def document(path: str, content: bytes = b"{}\n", *, is_well_known: bool = False) -> PublicDocument:
    return PublicDocument(path, "application/json", lambda place: content, is_well_known)


def exported() -> dict[str, bytes]:
    return dict(exports.contents(exports.here()))


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != exports.INDEX
    }


@pytest.mark.usefixtures("shop")
def test_every_document_is_what_its_url_serves_to_everybody(tmp_path: Path) -> None:
    site_keys.create()
    published.forget()
    exports.write(tmp_path, exported())
    found = files(tmp_path)
    assert MANIFEST in found
    assert found == {name: Client().get(f"/{name}").content for name in found}
    assert b'"keys":[' in found[MANIFEST]


@pytest.mark.usefixtures("shop")
def test_two_exports_are_equal(tmp_path: Path) -> None:
    exports.write(tmp_path / "one", exported())
    published.forget()
    exports.write(tmp_path / "two", exported())
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert (tmp_path / "one" / exports.INDEX).read_bytes() == (tmp_path / "two" / exports.INDEX).read_bytes()


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("urlconf", "script", "prefix"),
    [
        ("tests.urls", "/shop/", "/shop"),
        ("tests.doctor.urls_under_a_path", "/", "/agents"),
        ("tests.doctor.urls_under_a_path", "/shop/", "/shop/agents"),
    ],
)
def test_a_site_under_a_path_writes_its_paths(
    urlconf: str, script: str, prefix: str, settings: object, declared: list[PublicDocument], tmp_path: Path
) -> None:
    settings.ROOT_URLCONF = urlconf  # type: ignore[attr-defined]
    declared += [document("/.well-known/one.json", is_well_known=True), document("/aip/two.json")]
    set_script_prefix(script)
    try:
        exports.write(tmp_path, exported())
    finally:
        set_script_prefix("/")
    assert list(files(tmp_path)) == [".well-known/one.json", f"{prefix[1:]}/aip/two.json"]


def test_without_an_origin_nothing_can_be_written(settings: object) -> None:
    settings.AGENTWEB = {}  # type: ignore[attr-defined]
    with pytest.raises(ExportError, match="ORIGIN"):
        exports.here()


@pytest.mark.parametrize(
    "path",
    [
        "/../x",
        "/a/../../x",
        "/a/./x",
        "/a//x",
        "/",
        "/a/",
        "/a\\b",
        "/a\0b",
        "/…",
        "/%2e%2e/x",
        f"/{exports.INDEX}",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path: str, declared: list[PublicDocument]) -> None:
    declared.append(document(path))
    with pytest.raises(ExportError, match="cannot be written as a file"):
        exported()


def test_two_documents_cannot_have_one_address_nor_one_lie_in_the_other(
    declared: list[PublicDocument],
) -> None:
    declared += [document("/a"), document("/a")]
    with pytest.raises(ExportError, match="Two documents"):
        exported()
    declared[:] = [document("/a/b"), document("/a")]
    with pytest.raises(ExportError, match="also the folder of /a/b"):
        exported()


def test_what_is_no_longer_served_is_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "mine.txt").write_text("mine")
    exports.write(tmp_path, {"a.json": b"1", "old/b.json": b"2", "older/c.json": b"3", "edited.json": b"4"})
    (tmp_path / "edited.json").write_bytes(b"5")
    done = exports.write(tmp_path, {"a.json": b"1"})
    assert done == exports.Written((), ("a.json",), ("old/b.json", "older/c.json"), ("edited.json",))
    assert files(tmp_path) == {"a.json": b"1", "edited.json": b"5", "old/mine.txt": b"mine"}
    assert not (tmp_path / "older").exists()


def test_a_file_that_is_right_is_not_touched(tmp_path: Path) -> None:
    exports.write(tmp_path, {"a.json": b"1", "b.json": b"1"})
    os.utime(tmp_path / "a.json", (1, 1))
    done = exports.write(tmp_path, {"a.json": b"1", "b.json": b"2"})
    assert (done.written, done.unchanged) == (("b.json",), ("a.json",))
    assert (tmp_path / "a.json").stat().st_mtime == 1


def test_a_failing_write_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exports.write(tmp_path, {"a.json": b"old"})

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "a.json"))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExportError, match="No space left on device"):
        exports.write(tmp_path, {"a.json": b"new"})
    assert files(tmp_path) == {"a.json": b"old"}


def test_files_can_be_read_by_the_web_server(tmp_path: Path) -> None:
    exports.write(tmp_path, {"a.json": b"1"})
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o644


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.json").write_bytes(b"theirs")
    for link in ("file", "folder", "index"):
        folder = tmp_path / link
        folder.mkdir()
        if link == "file":
            (folder / "a.json").symlink_to(outside / "a.json")
        elif link == "folder":
            (folder / "sub").symlink_to(outside)
        else:
            (folder / exports.INDEX).symlink_to(outside / "a.json")
        wanted = {"sub/a.json" if link == "folder" else "a.json": b"ours"}
        for work in (exports.write, exports.compare):
            with pytest.raises(ExportError, match="symbolic link"):
                work(folder, wanted)
    assert files(outside) == {"a.json": b"theirs"}


@pytest.mark.parametrize(
    "index",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"version":2,"files":{}}',
        b'{"version":1,"files":[]}',
        json.dumps({"version": 1, "files": {"../victim": "0" * 64}}).encode(),
        json.dumps({"version": 1, "files": {"/etc/passwd": "0" * 64}}).encode(),
        json.dumps({"version": 1, "files": {"a": "short"}}).encode(),
        json.dumps({"version": 1, "files": {"a": 7}}).encode(),
    ],
)
def test_an_index_that_is_none_removes_nothing(index: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "victim").write_bytes(b"")
    (folder / exports.INDEX).write_bytes(index)
    with pytest.raises(ExportError, match="not the index of an export"):
        exports.write(folder, {"a.json": b"1"})
    assert (tmp_path / "victim").exists()
    assert files(folder) == {}


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(ExportError, match=r"a\.json is not a file"):
        exports.write(tmp_path, {"a.json": b"1"})
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ExportError, match="file"):
        exports.write(tmp_path, {"file/b.json": b"1"})


def test_drift_is_told_line_by_line(tmp_path: Path) -> None:
    exports.write(tmp_path, {"a.json": b'{"name":"tea","price":1}', "gone.json": b"1", "image": b"\xff\x00"})
    (tmp_path / "mine.json").write_text("{}")
    wanted = {"a.json": b'{"name":"tea","price":2}', "new.json": b"1", "image": b"\xff\x01"}
    drift = exports.compare(tmp_path, wanted)
    assert (drift.missing, drift.extra, sorted(drift.diffs)) == (
        ["new.json"],
        ["gone.json"],
        ["a.json", "image"],
    )
    assert '-  "price": 1\n+  "price": 2\n' in drift.diffs["a.json"]
    assert drift.diffs["image"] == "image: 2 bytes are there and 2 are served; their bytes differ.\n"
    assert exports.compare(tmp_path, {"a.json": b'{"price":1, "name":"tea"}'}).diffs["a.json"]
    assert not exports.compare(tmp_path, {**dict.fromkeys(("gone.json",), b"1"), **_rest(tmp_path)})


def _rest(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("a.json", "image")}


def test_only_white_space_is_drift_too(tmp_path: Path) -> None:
    exports.write(tmp_path, {"a.json": b'{"a":1}'})
    drift = exports.compare(tmp_path, {"a.json": b'{"a": 1}'})
    assert drift.diffs["a.json"] == "a.json: 7 bytes are there and 8 are served; their bytes differ.\n"


def test_a_place_names_the_site_by_its_authority(settings: object) -> None:
    settings.AGENTWEB = {"ORIGIN": "https://Shop.example:443/"}  # type: ignore[attr-defined]
    assert exports.here() == Place("https://Shop.example:443", "shop.example", "")
