"""Load by wrk: one script for each contestant, the same connections and seconds for all."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.figures import Series
from benchmarks.servers import Server

CONNECTIONS: Final = 8
_REPORT: Final = """
response = function(status, headers, body)
  -- 207: some of a batch were refused.
  if status >= 400 or status == 207 then print("REFUSED " .. status .. " " .. body) end
end
done = function(summary, latency, requests)
  io.write(string.format('REPORT {"requests":%d,"bad":%d,"lost":%d,"micros":%d}\\n', summary.requests,
    summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write
    + summary.errors.timeout, summary.duration))
end
"""
# Read before the time is taken: each thread of wrk loads its script first.
_PREPARED: Final = """
all = {}
local file = io.open(PATH, "rb")
while true do
  local size = file:read("*n")
  if size == nil then break end
  file:read(1)
  all[#all + 1] = file:read(size)
end
at = 0
request = function()
  at = at % #all + 1
  return all[at]
end
"""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: path with query, headers and body."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


class Exhausted(SystemExit):
    """More requests were sent than had been prepared, so some were sent twice."""


def require_wrk() -> None:
    """End with a sentence when wrk is not installed."""
    if shutil.which("wrk") is None:
        raise SystemExit("The load comes from wrk; install it (Debian: apt-get install wrk).")


def measure(
    server: Server, series: Series, requests: Sequence[Request], *, seconds: float, folder: Path
) -> None:
    """Send the requests one after the other (again from the start after the last) and add a round to the series.

    Where each may be sent once only, give enough of them. Ends the program when an answer is not a success.
    """
    _measure(server, series, _script(requests), len(requests), requests[0].path, seconds, folder)


def measure_prepared(
    server: Server,
    series: Series,
    requests: Sequence[bytes],
    *,
    seconds: float,
    folder: Path,
    units: int = 1,
) -> None:
    """The same with requests as they go over the wire, each sent once; the series counts ``units`` of each."""
    prepared = folder / "prepared.bin"
    with prepared.open("wb") as file:
        for each in requests:
            file.write(b"%d\n%s" % (len(each), each))
    script = _PREPARED.replace("PATH", _lua(str(prepared))) + _REPORT
    _measure(server, series, script, len(requests), "prepared requests", seconds, folder, units)


def _measure(
    server: Server,
    series: Series,
    text: str,
    prepared: int,
    said: str,
    seconds: float,
    folder: Path,
    units: int = 1,
) -> None:
    script = folder / "load.lua"
    script.write_text(text)
    before = server.cpu_seconds()
    ran = subprocess.run(
        ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(script), server.url],
        capture_output=True,
        text=True,
        check=False,
    )
    used = server.cpu_seconds() - before
    report = next((line for line in ran.stdout.splitlines() if line.startswith("REPORT ")), None)
    if report is None:
        raise SystemExit(f"wrk failed for {series.name}: {ran.stdout}{ran.stderr}")
    found = json.loads(report.removeprefix("REPORT "))
    if prepared > 1 and found["requests"] + CONNECTIONS > prepared:
        raise Exhausted(f"{series.name} used up its {prepared} requests; prepare more or run shorter.")
    refused = [line for line in ran.stdout.splitlines() if line.startswith("REFUSED ")]
    if refused or found["bad"] or found["lost"] or not found["requests"]:
        raise SystemExit(f"{series.name} failed: {found} of {said}\n" + "\n".join(refused[:20]))
    series.cpu.append(used / (units * found["requests"]) * 1e6)
    series.rate.append(units * found["requests"] / found["micros"] * 1e6)


def _script(requests: Sequence[Request]) -> str:
    if len(requests) == 1:
        [one] = requests
        lines = [f"wrk.method = {_lua(one.method)}", f"wrk.path = {_lua(one.path)}"]
        lines += [f"wrk.headers[{_lua(name)}] = {_lua(value)}" for name, value in one.headers.items()]
        if one.body:
            lines.append(f"wrk.body = {_lua(one.body)}")
        return "\n".join(lines) + _REPORT
    listed = "\n".join(
        f"all[{at}] = {{{_lua(each.method)}, {_lua(each.path)}, {_lua(each.body)}, {{"
        + ", ".join(f"[{_lua(name)}] = {_lua(value)}" for name, value in each.headers.items())
        + "}}"
        for at, each in enumerate(requests, 1)
    )
    return f"""all = {{}}
{listed}
ready = nil
at = 0
request = function()
  if ready == nil then
    ready = {{}}
    for i, r in ipairs(all) do ready[i] = wrk.format(r[1], r[2], r[4], r[3]) end
  end
  at = at % #ready + 1
  return ready[at]
end
{_REPORT}"""


def _lua(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
