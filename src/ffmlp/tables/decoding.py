"""Why a file is not text in the expected encoding."""

from __future__ import annotations

import codecs
from typing import IO

_BYTES_AT_ONCE = 1 << 16
# The first bytes of files that are not text in UTF-8, and what to do about them.
_BEGINNINGS = {
    codecs.BOM_UTF32_LE: "The file is UTF-32: add --encoding utf-32.",
    codecs.BOM_UTF16_LE: "The file is UTF-16: add --encoding utf-16.",
    codecs.BOM_UTF16_BE: "The file is UTF-16: add --encoding utf-16.",
    b"\x1f\x8b": "The file is compressed: its name must end with .gz.",
    b"BZh": "The file is compressed: its name must end with .bz2.",
    b"\xfd7zXZ": "The file is compressed: its name must end with .xz.",
    b"PK\x03\x04": "The file is a spreadsheet or a zip archive: save the table as CSV.",
    b"\xd0\xcf\x11\xe0": "The file is a spreadsheet: save the table as CSV.",
    b"PAR1": "The file is Parquet: its name must end with .parquet.",
}


def undecodable(file: IO[bytes], encoding: str) -> str:
    """Where a file cannot be decoded, and what to do."""
    beginning = file.read(8)
    file.seek(0)
    for mark, advice in _BEGINNINGS.items():
        if beginning.startswith(mark) and encoding not in advice:
            return f"line 1: not valid {encoding}. {advice}"
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = beginning[start::2]
        if zeros and not any(zeros) and encoding != name:
            return f"line 1: not valid {encoding}. The file may be UTF-16: add --encoding {name}."
    line = _first_bad_line(file, encoding)
    if line is None:
        return f"line 1: contains zero bytes. The file is not text, or not in {encoding}."
    advice = "Save the file as UTF-8, or give its encoding, for example --encoding latin-1."
    if encoding != "utf-8":
        advice = "Give another --encoding, or none if the file is UTF-8."
    return f"line {line}: not valid {encoding}. {advice}"


def _first_bad_line(file: IO[bytes], encoding: str) -> int | None:
    """Found by decoding: in some encodings, a line break has bytes that other characters have too."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, block, n_bytes = 1, b"-", _BYTES_AT_ONCE
    while block:
        start, state = file.tell(), decoder.getstate()
        block = file.read(n_bytes)
        try:
            line += decoder.decode(block, final=not block).count("\n")
        except UnicodeError:
            if len(block) <= 1:
                return line
            file.seek(start)
            decoder.setstate(state)
            n_bytes = 1  # to find the line in this block
    return None
