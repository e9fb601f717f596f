"""A site over the network is looked at under the client's guard, and costs no more than the bounds say."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from agentweb.awp.compliance.items import Line
from agentweb.awp.compliance.report import Report, analyze
from agentweb.awp.compliance.site import OVER_THE_NETWORK, Bounds, NotReachedError, site_at
from tests.awp.compliance.sites import FULL, POTS, STRUCTURE, SUMMARY, TEAS, WELL_KNOWN, SoundSite


def lines(report: Report) -> dict[str, Line]:
    return {line.item.id: line for line in report.lines}


def small(**bounds: Any) -> Bounds:
    values = {"pages": 20, "requests": 400, "seconds": 60.0, "max_bytes": 100_000, **bounds}
    return Bounds(**values)


def test_a_sound_site_passes_over_the_network_too(served: str, sound: SoundSite) -> None:
    report = analyze(site_at(served))
    assert [line.problems for line in report.lines if line.problems] == []
    assert (report.score, report.is_own, report.origin) == (100, False, served)
    assert report.asked == len(sound.asked) <= OVER_THE_NETWORK.requests


@pytest.mark.parametrize("path", ["/", WELL_KNOWN], ids=["front-page", "manifest"])
def test_any_address_of_the_site_will_do(served: str, path: str) -> None:
    assert analyze(site_at(served + path)).score == 100


@pytest.mark.parametrize(
    "url",
    [
        "shop.example",
        "ftp://shop.example",
        "https://",
        "https://a:b@shop.example",
        "https://shop.example/?q=1",
        "https://shop.example/#x",
        "https://shop.example:99999",
        "https://shöp.example",
        "https://shop.example/ä",
    ],
)
def test_what_is_no_address_of_a_site_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several modules, in several words
        site_at(url)


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[fd00::1]", "192.168.1.1:8443"])
def test_a_host_that_is_not_public_is_not_called(host: str) -> None:
    with pytest.raises(NotReachedError, match="not public"):
        analyze(site_at(f"https://{host}"))


def test_a_host_that_is_vouched_for_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []

    def connect(address: Any, *args: Any, **kwargs: Any) -> Any:
        called.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(NotReachedError, match="No connection"):
        analyze(site_at("https://10.0.0.1", may_be_private=True))
    assert called == [("10.0.0.1", 443)]


def test_a_site_that_does_not_answer_is_told_as_that() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotReachedError, match=f"127.0.0.1 port {port}"):
        analyze(site_at(f"http://127.0.0.1:{port}"))


def test_no_redirect_is_followed_and_no_other_host_called(served: str, sound: SoundSite) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0.01)
        elsewhere = f"http://127.0.0.1:{other.getsockname()[1]}"

        def change(request: HttpRequest, response: HttpResponse) -> HttpResponse | None:
            if request.path in {SUMMARY, TEAS}:
                return HttpResponse(status=302, headers={"Location": f"{elsewhere}/"})
            return None

        sound.change = change
        sound.edit(
            WELL_KNOWN,
            llms_txt=f"{elsewhere}/llms.txt",
            endpoints={"manifest": FULL, "content": f"{elsewhere}/x", "api": "//169.254.169.254/f"},
        )
        sound.edit(
            FULL,
            content=[
                {"url": each}
                for each in (
                    f"{elsewhere}/a.md",
                    "https://169.254.169.254/latest.md",
                    "file:///etc/passwd.md",
                    "/\\169.254.169.254/x.md",
                    "http://a:b@127.0.0.1/x.md",
                    "/x.md\r\nX: 1",
                )
            ],
        )
        report = analyze(site_at(served))
        with pytest.raises(TimeoutError):
            other.accept()
    assert f"leads to {elsewhere}/" in lines(report)["awp/summary"].problems[0].message
    assert all(path.startswith("/") and ".." not in path for _method, path in sound.asked)
    assert not any("latest" in path or "passwd" in path or "x.md" in path for _method, path in sound.asked)


def test_a_next_part_elsewhere_or_without_end_is_not_followed(served: str, sound: SoundSite) -> None:
    def change(request: HttpRequest, response: HttpResponse) -> None:
        if request.path == TEAS:
            response["Link"] = '<https://169.254.169.254/x.md>; rel="next"'
        if request.path == POTS:
            number = int(request.GET.get("part", "1"))
            response["Link"] = f'<?part={number + 1}>; rel="next"'

    sound.put(POTS, ["# Pots"] * 10_000)
    sound.change = change
    report = analyze(site_at(served, bounds=small(requests=80)))
    assert report.asked == 80
    assert len(sound.asked) == 80


def test_pages_are_sampled_evenly(served: str, sound: SoundSite) -> None:
    pages = [f"/awp/content/p{number:04}.md" for number in range(1_000)]
    for path in pages:
        sound.put(path, "# Page")
    sound.edit(FULL, content=[{"url": path} for path in pages])
    sound.edit(STRUCTURE, sections=[])
    report = analyze(site_at(served, pages=4))
    asked = {path for method, path in sound.asked if path in set(pages)}
    assert asked == {pages[0], pages[250], pages[500], pages[750]}
    assert (report.pages_read, report.pages_listed) == (4, 1_000)
    assert lines(report)["awp/budgets"].measured.endswith("of 4 of 1,000 pages")


def test_a_list_of_sections_leads_to_their_pages(served: str, sound: SoundSite) -> None:
    first, second = "/awp/content/sections/all.json", "/awp/content/sections/all.json?part=2"
    sound.edit(FULL, content=[])
    sound.edit(STRUCTURE, sections=[{"id": "all", "url": served + first}])
    sound.put(
        first,
        [json.dumps({"pages": [{"url": TEAS}], "next": second}), json.dumps({"pages": [{"url": POTS}]})],
    )
    sound.types[first] = "application/json; charset=utf-8"
    assert analyze(site_at(served)).pages_read == 2


def test_an_answer_without_end_is_cut_off_and_told(served: str, sound: SoundSite) -> None:
    def change(request: HttpRequest, response: HttpResponse) -> Any:
        if request.path == SUMMARY and request.method == "GET":
            return StreamingHttpResponse(iter(lambda: b"x" * 65_536, b""))
        if request.path == STRUCTURE:
            return HttpResponse(gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"})
        return None

    sound.change = change
    report = analyze(site_at(served, bounds=small()))
    assert "larger than 100000 bytes" in lines(report)["awp/summary"].problems[0].message
    assert "packed" in lines(report)["awp/structure"].problems[0].message


def test_the_whole_analysis_ends_in_time(served: str, sound: SoundSite) -> None:
    def change(request: HttpRequest, response: HttpResponse) -> None:
        time.sleep(0.05)

    sound.change = change
    report = analyze(site_at(served, bounds=small(seconds=0.2)))
    assert report.asked < 10
    assert not report.is_compliant
    said = [problem.message for problem in report.problems]
    assert any("not asked, after 0.2 seconds" in each for each in said)


def test_a_site_that_trickles_does_not_hold_the_analysis() -> None:
    def trickle(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4_096)
            try:
                for _ in range(1_000):
                    connection.sendall(b"H")
                    time.sleep(0.02)
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=trickle, args=[listener], daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(NotReachedError):
            analyze(site_at(url, bounds=small(answer_seconds=0.3)))


def test_hostile_documents_are_read_without_an_exception(served: str, sound: SoundSite) -> None:
    hostile: list[Any] = [
        b"\xff\xfe",
        b"[" * 50_000,
        json.dumps(
            {
                "endpoints": {"manifest": ["/x"], "content": 7, "api": {}},
                "capabilities": {"a": 1},
                "description": [],
            }
        ),
        json.dumps(
            {"version": {}, "endpoints": {"manifest": "/" + "x" * 50_000}, "capabilities": [[], {}, None]}
        ),
        json.dumps(
            {"endpoints": {"manifest": "http://[::1"}, "rate_limits": {"requests_per_minute": "x" * 9_000}}
        ),
        json.dumps(
            {"functions": [1, {"name": 1, "description": "x"}, []], "paths": {"/": [1], "/a": {"get": 1}}}
        ),
        json.dumps(
            {
                "content": [
                    {"url": 1, "parts": True},
                    {"url": TEAS, "parts": -5},
                    {"url": TEAS, "parts": 10**30},
                ]
            }
        ),
    ]
    for body in hostile:
        for path in sound.bodies:
            sound.bodies[path] = body
        report = analyze(site_at(served, bounds=small()))
        assert not report.is_compliant
        assert all(len(problem.message) < 1_000 for problem in report.problems)
