"""How exactly the client of `planner measure endpoint` reads a server whose delays are known.

    python benchmarks/client_accuracy.py [--concurrency 1,8,32,64,128,256] [--ttft-ms 500] [--itl-ms 50]

The server runs in a process of its own on the same machine. Each figure stands beside that of the server:
`asked` is the delay it was told, `sent` what it recorded when it sent, which contains its own lateness.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from planner.measurement.endpoint.records import Endpoint, EndpointLoad
from planner.measurement.endpoint.run import measure_endpoint
from planner.measurement.endpoint.summary import PointSummary, summarise_point

HEAD = (
    "streams   figure            asked      sent  measured  against asked  against sent\n"
    "----------------------------------------------------------------------------------"
)


def serve(ttft_ms: float, itl_ms: float, cv: float) -> tuple[subprocess.Popen[str], str]:
    words = ["--port", "0", "--ttft-ms", str(ttft_ms), "--itl-ms", str(itl_ms), "--cv", str(cv)]
    module = "planner.measurement.endpoint.reference_server"
    server = subprocess.Popen([sys.executable, "-m", module, *words], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, server.stdout.readline().strip()


def sent_by(url: str, counted: int) -> dict[str, float]:
    """Return the medians of what the server recorded of the last requests."""
    with urllib.request.urlopen(f"{url}/recorded") as answer:
        last = json.load(answer)[-counted:]
    ttft = [one["sent_s"][0] - one["received_s"] for one in last]
    e2e = [one["sent_s"][-1] - one["received_s"] for one in last]
    tpot = [(b - a) / (one["tokens"] - 1) for a, b, one in zip(ttft, e2e, last, strict=True)]
    return {"ttft": statistics.median(ttft), "tpot": statistics.median(tpot), "e2e": statistics.median(e2e)}


def lines(point: PointSummary, asked: argparse.Namespace, sent: dict[str, float]) -> list[str]:
    ttft, tpot = asked.ttft_ms / 1e3, asked.itl_ms / 1e3
    e2e = ttft + (asked.osl - 1) * tpot
    users = point.concurrency or 0
    assert point.ttft_s
    assert point.tpot_s
    assert point.e2e_s
    rows = [
        ("TTFT ms", 1e3 * ttft, 1e3 * sent["ttft"], 1e3 * point.ttft_s.p50),
        ("TPOT ms", 1e3 * tpot, 1e3 * sent["tpot"], 1e3 * point.tpot_s.p50),
        ("E2E s", e2e, sent["e2e"], point.e2e_s.p50),
        ("output tok/s", users * asked.osl / e2e, users * asked.osl / sent["e2e"], point.output_tps),
    ]
    return [
        f"{users:>7}   {name:<12} {a:>10,.2f} {s:>9,.2f} {m:>9,.2f} {100 * (m / a - 1):>12.2f} % "
        f"{100 * (m / s - 1):>11.2f} %"
        for name, a, s, m in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--concurrency", default="1,8,32,64,128,256")
    parser.add_argument("--ttft-ms", type=float, default=500.0)
    parser.add_argument("--itl-ms", type=float, default=50.0)
    parser.add_argument("--osl", type=int, default=64)
    parser.add_argument("--isl", type=int, default=512)
    parser.add_argument("--cv", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=4, help="requests of each stream that count")
    asked = parser.parse_args()
    server, url = serve(asked.ttft_ms, asked.itl_ms, asked.cv)
    print(HEAD)
    try:
        for users in map(int, asked.concurrency.split(",")):
            requests = max(asked.rounds * users, 3)
            load = EndpointLoad(concurrency=(users,), isl=asked.isl, osl=asked.osl, requests=requests)
            with tempfile.TemporaryDirectory() as folder:
                run = measure_endpoint(Endpoint(url=url), load, save=Path(folder) / "run.jsonl")
            point = summarise_point(run.points[0], load)
            print(
                "\n".join(lines(point, asked, sent_by(url, requests))), f"  ({run.busy_share:.0%} of a core)"
            )
            for doubt in (*point.doubts, *(f"{n} {kind}" for kind, n in point.errors.items())):
                print(f"          {doubt}")
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
