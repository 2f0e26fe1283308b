"""The load that `examples/serve.py` holds, with bad requests among good ones, on this machine only.

    python benchmarks/serve_load.py [--seconds 20] [--clients 8]

Fits a model, starts the server on a free port of the loopback interface, and sends requests from several
threads until the time is over. Each good answer must equal the probabilities of the local model, and
each bad request must get a status of 4xx. Prints requests per second, latencies, errors and memory.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ffmlp
from ffmlp import FFMLPClassifier

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from problems import designed, mixed_table

SERVER = Path(__file__).parents[1] / "examples" / "serve.py"
MOST_SECONDS, MOST_CLIENTS = 600.0, 64
ROWS_OF_A_REQUEST = 10
SECONDS_TO_START = 300.0


@contextmanager
def served(model: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The process of a server, and its port."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(SERVER), str(model), "--port", str(port)]
    process = subprocess.Popen(command)
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server does not start")
            time.sleep(0.1)
        yield process, port
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    try:
        return asked(port, b"", "GET", "/health")[0] == 200
    except OSError:
        return False


def asked(port: int, body: bytes, method: str = "POST", path: str = "/predict") -> tuple[int, Any]:
    """The status and the content of an answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        # The server may answer before it has the whole body.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request(method, path, body)
        response = connection.getresponse()
        content = response.read()
        is_json = response.getheader("content-type") == "application/json"
        return response.status, json.loads(content) if is_json else content


def rows_of(X: Any) -> list[dict[str, Any]]:
    """The rows of a data frame as a request has them."""
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in X.to_dict("records")
    ]


def bad_requests(row: dict[str, Any]) -> dict[str, bytes]:
    """Requests that a server must refuse, by what is wrong with them."""
    number = next(name for name, value in row.items() if not isinstance(value, str))

    def with_cell(value: Any, name: str = number) -> bytes:
        return json.dumps({"rows": [{**row, name: value}]}).encode()

    good = json.dumps({"rows": [row]}).encode()
    return {
        "nothing": b"",
        "no JSON": b"rows=1",
        "cut": good[:-5],
        "not UTF-8": b'{"rows": [{"\xff": 1}]}',
        "NaN": with_cell(float("nan")),
        "infinity": with_cell(float("inf")),
        "a number beyond floats": with_cell(0.5).replace(b"0.5", b"1e999"),
        "an integer beyond floats": with_cell(10**400),
        "an integer of many digits": b'{"rows": [%s]}' % (b"9" * 5000),
        "a text for a number": with_cell("12"),
        "true for a number": with_cell(True),
        "a list as a category": with_cell([1], next(n for n, v in row.items() if isinstance(v, str))),
        "another column": with_cell(1.0, "weight"),
        "a name that is not Unicode": with_cell(1.0, "\ud800"),
        "a column too few": json.dumps({"rows": [{number: 1.0}]}).encode(),
        "a name twice": b'{"rows": [], "rows": []}',
        "no rows": b'{"rows": []}',
        "rows that are not objects": b'{"rows": [1, null]}',
        "a list": b"[1, 2]",
        "too many rows": json.dumps({"rows": [row] * 1001}).encode(),
        "too many explanations": json.dumps({"rows": [row] * 21, "explain": True}).encode(),
        "deep nesting": b'{"rows": ' + b"[" * 100_000,
        "a huge body": b'{"rows": ["' + b"x" * 2**21 + b'"]}',
    }


def load(
    port: int, clf: FFMLPClassifier, X: Any, seconds: float, seed: int
) -> tuple[list[float], Counter[str]]:
    """Latencies of good requests in seconds, and how many requests ended in which way."""
    rng, latencies, ends = np.random.default_rng(seed), list[float](), Counter[str]()
    rows, deadline = rows_of(X), time.monotonic() + seconds
    bad = list(bad_requests(rows[0]).values())
    while time.monotonic() < deadline:
        if rng.random() < 0.25:
            status, _ = asked(port, bad[rng.integers(len(bad))])
            ends["bad, refused" if 400 <= status < 500 else f"bad, but {status}"] += 1
            continue
        chosen = rng.integers(len(rows), size=ROWS_OF_A_REQUEST).tolist()
        explain = bool(rng.random() < 0.05)
        body = json.dumps({"rows": [rows[number] for number in chosen], "explain": explain}).encode()
        start = time.perf_counter()
        status, answer = asked(port, body)
        latencies.append(time.perf_counter() - start)
        same = status == 200 and answer["probabilities"] == clf.predict_proba(X.iloc[chosen]).tolist()
        ends["good, the same" if same else "good, but others"] += 1
    return latencies, ends


def memory_of(pid: int) -> float:
    """The memory of a process in MB; not a number where the system does not say it."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next(
        (int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS")), float("nan")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    seconds, n_clients = min(options.seconds, MOST_SECONDS), min(options.clients, MOST_CLIENTS)
    X, y = mixed_table()
    clf = designed("readout with trees", X, y)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(n_clients) as pool:
        ffmlp.save(clf, Path(folder) / "m")
        with served(Path(folder) / "m") as (process, port):
            load(port, clf, X, min(seconds, 3.0), n_clients)  # warm-up
            before = memory_of(process.pid)
            results = list(pool.map(partial(load, port, clf, X, seconds), range(n_clients)))
            after = memory_of(process.pid)
    latencies = np.concatenate([latencies for latencies, _ in results])
    ends = sum((ends for _, ends in results), Counter())
    quantiles = np.quantile(latencies, [0.5, 0.95, 0.99, 1.0]) * 1000
    print(f"{n_clients} clients, {seconds:g} s, {ROWS_OF_A_REQUEST} rows a request")
    print(f"requests per second: {ends.total() / seconds:.0f}")
    names = "50 %", "95 %", "99 %", "most"
    shown = (f"{name} {value:.0f}" for name, value in zip(names, quantiles, strict=True))
    print(f"latency in ms: {', '.join(shown)}")
    for end, count in sorted(ends.items()):
        print(f"{end}: {count}")
    print(f"memory of the server: {before:.0f} MB, then {after:.0f} MB")
    if set(ends) - {"good, the same", "bad, refused"}:
        raise SystemExit("some answers were wrong")


if __name__ == "__main__":
    main()
