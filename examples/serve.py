"""Serve a model file over HTTP.

    pip install '.[serve]'
    python examples/serve.py iris.model --port 8000
    curl localhost:8000/predict -d '{"rows": [{"length": 4.2, "width": null}], "explain": true}'

A row has a value for each column of the model, by name; null is a missing value. Requests that are
wrong are answered with a status of 4xx and a sentence. The server has neither encryption nor
passwords: strangers must reach it through a proxy that has.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

import ffmlp
from ffmlp import FFMLPClassifier

MOST_BYTES, MOST_ROWS, MOST_EXPLAINED = 2**20, 1000, 20
SECONDS_TO_SEND = 10.0
_LARGEST = sys.float_info.max


def application(clf: FFMLPClassifier) -> Starlette:
    """The server of one model: ``GET /health`` and ``POST /predict``."""

    async def health(request: Request) -> Response:
        columns = [{"name": c.name, "kind": _kind(c)} for c in clf.network_.table.parts]
        return _json({"status": "ok", "columns": columns, "labels": clf.classes_.tolist()})

    async def predict(request: Request) -> Response:
        rows, explain = _parsed(await _body(request))
        return _json(await run_in_threadpool(_answer, clf, rows, explain))

    async def refused(request: Request, error: Any) -> Response:
        return _json({"error": error.detail}, error.status_code)

    routes = [Route("/health", health), Route("/predict", predict, methods=["POST"])]
    return Starlette(routes=routes, exception_handlers={HTTPException: refused})


def _json(values: dict[str, Any], status: int = 200) -> Response:
    """A response in ASCII: texts of requests may not be valid Unicode."""
    return Response(json.dumps(values), status, media_type="application/json")


async def _body(request: Request) -> bytes:
    """The body, as far as it may go."""
    body = bytearray()
    try:
        async with asyncio.timeout(SECONDS_TO_SEND):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    raise HTTPException(413, f"The body has more than {MOST_BYTES} bytes.")
    except TimeoutError:
        raise HTTPException(408, f"The body took more than {SECONDS_TO_SEND:g} seconds.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The body is incomplete.") from None
    return bytes(body)


def _parsed(body: bytes) -> tuple[list[dict[str, Any]], bool]:
    """The rows of a request, and whether they are to be explained."""
    try:
        content = json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else ascii(str(error))
        raise HTTPException(400, f"The body is not valid JSON: {why}.") from None
    if not isinstance(content, dict) or not content.keys() <= {"rows", "explain"}:
        raise HTTPException(400, 'The body must be an object with "rows" and, optionally, "explain".')
    rows, explain = content.get("rows"), content.get("explain", False)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise HTTPException(400, '"rows" must be a list of objects, at least one.')
    if not isinstance(explain, bool):
        raise HTTPException(400, '"explain" must be true or false.')
    most = MOST_EXPLAINED if explain else MOST_ROWS
    if len(rows) > most:
        raise HTTPException(413, f"There are {len(rows)} rows, more than {most}.")
    return rows, explain


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON; a missing value is null")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has the same name twice")
    return found


def _answer(clf: FFMLPClassifier, rows: list[dict[str, Any]], explain: bool) -> dict[str, Any]:
    table = clf.network_.table
    cells = np.empty((len(rows), len(table)), object)
    for number, row in enumerate(rows):
        if row.keys() != set(table.names):
            wrong = min(row.keys() ^ set(table.names))
            what = "is missing" if wrong in table.names else "is not one of the model"
            raise HTTPException(400, f"Row {number}: column {wrong!a} {what}.")
        cells[number] = [_cell(number, column, row[column.name]) for column in table.parts]
    X = (
        pd.DataFrame(cells, columns=table.names, dtype=object)
        if hasattr(clf, "feature_names_in_")
        else cells
    )
    probabilities = clf.predict_proba(X)
    labels = clf.classes_[probabilities.argmax(axis=1)].tolist()
    answer = {"labels": labels, "probabilities": probabilities.tolist()}
    answer["classes"] = clf.classes_.tolist()
    return answer | ({"explanations": list(map(str, clf.explain(X)))} if explain else {})


def _cell(number: int, column: Any, value: Any) -> float | str | None:
    """A value of a row, as the model takes it."""
    kind, place = _kind(column), f"Row {number}, column {column.name!a}:"
    if value is None or (kind == "category" and isinstance(value, str)):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise HTTPException(400, f"{place} expected a {kind} or null.")
    if not -_LARGEST <= value <= _LARGEST:
        raise HTTPException(400, f"{place} the number is too large.")
    return float(value) if kind == "number" else str(value)


def _kind(column: Any) -> str:
    return "category" if hasattr(column, "categories") else "number"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve a model file over HTTP.")
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    uvicorn.run(application(ffmlp.load(options.model)), port=options.port, log_level="warning")
