"""Data files of every type with any content.

Each is a table or an error in one line that names the file. A table is the same whatever the size of the
blocks it is read in, and reading it takes little memory. The first line of an input says how to read it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import json
import lzma
import tempfile
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.random import Generator
from pyarrow import parquet

from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import TEXT, Dialect, opener
from ffmlp.tabular.dates import with_dates
from ffmlp.tabular.table_columns import infer
from fuzz.changes import changed_bytes, one_of
from fuzz.limits import limited_memory

# Megabytes that reading a file of a few kilobytes may take.
_MOST_MEGABYTES = 300
_TEMPORARY = tempfile.TemporaryDirectory(prefix="ffmlp-fuzz-")
_FOLDER = Path(_TEMPORARY.name)
_COMPRESSIONS = {
    "": bytes,
    ".gz": partial(gzip.compress, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
_UNPACKED = {"": bytes, ".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
_ENCODINGS = (
    *6 * ("utf-8",),
    "utf-16",
    "utf-16-le",
    "latin-1",
    "utf-32",
    "cp1252",
    "utf-7",
    "ascii",
    "cp037",
)
_CELLS = (
    "1", "2.5", "-3e4", "0", "", "NA", "?", "nan", "inf", "1e999", "a", "b b", " c ", "é", "\u202e",
    "😀", '"q"', '"a,b"', '"a""b"', '"two\nlines"', '"open', "2024-01-31", "31.12.2024 18:30",
    "01/02/2024", "99/99/9999", "1_000", "1,5", "12.345,6", "0x10", "True", "x" * 300, "\0",
    "\x1b[2J", "=1+1", "1e-320", "-0", "+5", "1 2", "\ufeff", "\ud7ff", "00012", "9" * 400, "1.",
    ".5", "١٢", "NULL", "None", "9223372036854775808",
)  # fmt: skip
_NAMES = (
    "a",
    "b",
    "a (year)",
    "",
    " a",
    "1",
    "nan",
    "é",
    "class",
    "x" * 200,
    '"q,r"',
    "__index_level_0__",
    "a\tb",
)


def seeds() -> list[bytes]:
    """Tables of each type."""
    rng = np.random.default_rng(0)
    texts = [_text_file(rng) for _ in range(20)]
    return [*texts, *(_parquet_file(rng) for _ in range(20))]


def _written(name: str, content: bytes, **dialect: Any) -> bytes:
    return json.dumps({"name": name, **dialect}).encode() + b"\n" + content


def changed(rng: Generator, parents: Sequence[bytes]) -> bytes:
    """A new file, or one of those before with changes."""
    kind = rng.random()
    if kind < 0.2:
        return _text_file(rng)
    if kind < 0.35:
        return _parquet_file(rng)
    header, _, content = one_of(rng, parents).partition(b"\n")
    told = json.loads(header)
    ending = Path(told["name"]).suffix
    header = json.dumps(told | {"damaged": True}).encode()
    if ending == ".parquet" and kind < 0.9:
        return header + b"\n" + _with_changed_pages(rng, content)
    if ending not in _UNPACKED or kind < 0.5:
        ending = ""
    try:  # so that what is packed changes
        content = _UNPACKED[ending](content)
    except Exception:  # it was changed after it was packed
        ending = ""
    others = [parent.partition(b"\n")[2] for parent in parents[-20:]]
    return header + b"\n" + _COMPRESSIONS[ending](changed_bytes(rng, content, others))


def _with_changed_pages(rng: Generator, content: bytes) -> bytes:
    """A Parquet file with some other bytes before its footer, which stays where it is."""
    letters = np.frombuffer(content, np.uint8).copy()
    end = len(letters) - 8 - int.from_bytes(content[-8:-4], "little")
    if end > 4:
        chosen = rng.integers(4, end, int(rng.integers(1, 6)))
        letters[chosen] = rng.integers(256, size=len(chosen))
    return letters.tobytes()


def _text_file(rng: Generator) -> bytes:
    """Rows of odd cells, mostly of one length."""
    n_columns, delimiter = int(rng.integers(1, 7)), one_of(rng, (",", ",", ";", "\t", "|", ", "))
    cells = [one_of(rng, _CELLS) for _ in range(int(rng.integers(1, 8)))]
    names = [one_of(rng, _NAMES) if rng.random() < 0.2 else f"c{number}" for number in range(n_columns)]
    rows = [
        names,
        *([one_of(rng, cells) for _ in range(n_columns)] for _ in range(int(rng.integers(0, 30)))),
    ]
    if rng.random() < 0.1:
        rows[int(rng.integers(len(rows)))] += [one_of(rng, _CELLS)] * int(rng.integers(1, 3))
    end = one_of(rng, ("\n", "\n", "\r\n", "\r"))
    text = end.join(delimiter.join(row) for row in rows) + one_of(rng, ("", end, end + end))
    encoding, packing = one_of(rng, _ENCODINGS), one_of(rng, ("", "", *_COMPRESSIONS))
    name = f"data{one_of(rng, ('.csv', '.csv', '.tsv', '.txt'))}{packing}"
    if rng.random() < 0.02:
        text += one_of(rng, ("x", " ", '"', "\n", ",")) * int(10 ** rng.uniform(5.0, 7.7))
    content = _COMPRESSIONS[packing](text.encode(encoding, "replace"))
    told = encoding if rng.random() < 0.95 else one_of(rng, _ENCODINGS)
    missing = ["a"] if rng.random() < 0.1 else []
    return _written(name, content, encoding=told, decimal=one_of(rng, (".", ".", ",")), missing=missing)


def _parquet_file(rng: Generator) -> bytes:
    """Columns of many types, also nested ones, and now and then bytes that are not text."""
    n_rows = int(rng.integers(0, 30))
    columns = {
        one_of(rng, (*_NAMES, *"pqrst")): _arrow_column(rng, n_rows)
        for _ in range(int(rng.integers(1, 6)))
    }
    options: dict[str, Any] = {
        "compression": one_of(rng, ("none", "snappy", "gzip", "zstd")),
        "use_dictionary": bool(rng.integers(2)),
        "row_group_size": int(rng.integers(1, 40)),
        "data_page_version": one_of(rng, ("1.0", "2.0")),
        "write_page_checksum": bool(rng.integers(2)),
        "store_schema": bool(rng.integers(2)),
    }
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content, **options)
    checked = options["write_page_checksum"]
    told: dict[str, Any] = {"encoding": "utf-8", "decimal": ".", "missing": [], "checked": checked}
    return _written("data.parquet", content.getvalue(), **told)


def _arrow_column(rng: Generator, n_rows: int) -> Any:
    numbers = [None if rng.random() < 0.1 else int(rng.integers(-100, 100)) for _ in range(n_rows)]
    texts = [None if rng.random() < 0.1 else one_of(rng, _CELLS) for _ in range(n_rows)]
    positive, flags = (
        [None if n is None else use(n) for n in numbers] for use in (abs, lambda n: bool(n > 0))
    )
    simple = {
        **dict.fromkeys(("int64", "int8", "timestamp[ns]", "date32", "duration[s]"), numbers),
        **dict.fromkeys(("string", "large_string"), texts),
        "float64": [*map(_float, numbers)],
        "bool": flags,
        "time64[us]": positive,
        "binary": [None if text is None else text.encode() for text in texts],
    }
    match one_of(
        rng, (*simple, "decimal", "list", "struct", "dictionary", "null", "zone", "bytes", "float16")
    ):
        case "decimal":
            return pa.array(numbers, pa.decimal128(20, 3))
        case "list":
            return pa.array([n if n is None else [n, None] for n in numbers], pa.list_(pa.int64()))
        case "struct":
            return pa.array(
                [n if n is None else {"u": n, "v": str(n)} for n in numbers],
                pa.struct({"u": pa.int64(), "v": pa.string()}),
            )
        case "dictionary":
            return pa.array(texts, "string").dictionary_encode()
        case "null":
            return pa.nulls(n_rows)
        case "zone":
            return pa.array(numbers, pa.timestamp("us", "Europe/Berlin"))
        case "bytes":  # said to be text
            return pa.array([rng.bytes(3) for _ in range(n_rows)], pa.binary()).view(pa.string())
        case "float16":
            return pa.array([n if n is None else np.float16(n) for n in numbers], pa.float16())
        case name:
            return pa.array(simple[name], name)


def _float(number: int | None) -> float | None:
    return (
        None
        if number is None
        else one_of(np.random.default_rng(abs(number)), (number / 3, np.nan, np.inf, 1e300))
    )


def check(data: bytes) -> str:
    """Read a file in every way; an error unless that is as it should be."""
    header, _, content = data.partition(b"\n")
    told = json.loads(header)
    path = _FOLDER / told["name"]
    path.write_bytes(content)
    dialect = Dialect(tuple(told["missing"]), told["decimal"], told["encoding"])
    try:
        with (
            limited_memory(_MOST_MEGABYTES),
            warnings.catch_warnings(action="error", category=RuntimeWarning),
        ):
            return f"table: {_read(path, dialect, told)}"
    except ValueError as error:
        message = str(error)
        assert str(path) in message, f"no file in {message!r}"
        return f"refused: {message[len(str(path)) :][:20]}"


def _is_certain(path: Path, told: dict[str, Any]) -> bool:
    """Whether a file means the same in all blocks: not if it may have damage that nothing tells.

    That is damage to a Parquet file without checksums, or to the levels of lists and structs.
    """
    if path.suffix != ".parquet" or not told.get("damaged", False):
        return True
    nested = any(pa.types.is_nested(field.type) for field in parquet.read_schema(path))
    return bool(told.get("checked", True)) and not nested


def _read(path: Path, dialect: Dialect, told: dict[str, Any]) -> str:
    """Read a table whole, in blocks, in sections, and cells as they are written: all are the same.

    Those that are not certain are read in the same ways, too.
    """
    table = open_table(path, dialect)
    columns = infer(table, (), ())
    whole = with_dates(table, columns.dates)
    kinds = columns.kinds
    if not kinds:
        return "no columns"
    rows = _joined(whole.blocks(10**5, kinds), kinds)
    assert_same = _assert_same if _is_certain(path, told) else lambda found, expected: None
    few = 2 + _n_bytes(path) // 2000  # so that a long file has no more than some hundred blocks
    assert_same(_joined(whole.blocks(few, kinds), kinds), rows)
    sections = (with_dates(section, columns.dates) for section in table.sections(3 * few + 1))
    assert_same(
        _joined(itertools.chain.from_iterable(part.blocks(few + 1, kinds) for part in sections), kinds),
        rows,
    )
    kept = [name for name in table.columns if name]
    for part in table.parts(few, {}, kept):
        for cells in part().kept:
            cells.to_pylist()
    return f"{len(rows)} {sorted(kinds.values())} {table.cell_types} {len(columns.dates)}"


def _n_bytes(path: Path) -> int:
    with opener(path)(path, "rb") as file:
        return sum(map(len, iter(lambda: file.read(1 << 20), b"")))


def _joined(blocks: Any, kinds: dict[str, str]) -> pd.DataFrame:
    # Blocks have different categories.
    texts = {name: object for name, kind in kinds.items() if kind == TEXT}
    frames = [block.astype(texts) for block in blocks]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(kinds))


def _assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, expected, check_exact=True, check_dtype=len(expected) > 0)
