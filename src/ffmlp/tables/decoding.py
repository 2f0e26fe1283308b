"""What is wrong with a file that is not text in the encoding that it should have."""

from __future__ import annotations

import codecs
from typing import IO

_BYTES_AT_ONCE = 1 << 16
# How files begin that are something else than text in UTF-8.
_BEGINNINGS = {
    codecs.BOM_UTF32_LE: "This is UTF-32: add --encoding utf-32.",
    codecs.BOM_UTF16_LE: "This is UTF-16: add --encoding utf-16.",
    codecs.BOM_UTF16_BE: "This is UTF-16: add --encoding utf-16.",
    b"\x1f\x8b": "This is compressed: its name should end with .gz.",
    b"BZh": "This is compressed: its name should end with .bz2.",
    b"\xfd7zXZ": "This is compressed: its name should end with .xz.",
    b"PK\x03\x04": "This is a spreadsheet or a zip archive: save the table as CSV.",
    b"\xd0\xcf\x11\xe0": "This is a spreadsheet: save the table as CSV.",
    b"PAR1": "This is Parquet: its name should end with .parquet.",
}


def undecodable(file: IO[bytes], encoding: str) -> str:
    """Where a file is not what it should be, and what to do."""
    beginning = file.read(8)
    file.seek(0)
    for mark, advice in _BEGINNINGS.items():
        if beginning.startswith(mark) and encoding not in advice:
            return f"line 1: this is not {encoding}. {advice}"
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = beginning[start::2]
        if zeros and not any(zeros) and encoding != name:
            return f"line 1: this is not {encoding}. This may be UTF-16: add --encoding {name}."
    line = _first_bad_line(file, encoding)
    if line is None:
        return f"line 1: there are zero bytes in it. This is no text, or none in {encoding}."
    advice = "Save it as UTF-8, or name its --encoding, such as latin-1."
    if encoding != "utf-8":
        advice = "Name another --encoding, or none if it is UTF-8."
    return f"line {line}: this is not {encoding}. {advice}"


def _first_bad_line(file: IO[bytes], encoding: str) -> int | None:
    """Counted by decoding: in some encodings, the bytes of a line's end are also parts of letters."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, block = 1, b"-"
    while block:
        block = file.read(_BYTES_AT_ONCE)
        before = decoder.getstate()
        try:
            line += decoder.decode(block, final=not block).count("\n")
        except UnicodeError:
            decoder.setstate(before)
            return line + _lines_before_error(block, decoder)
    return None


def _lines_before_error(block: bytes, decoder: codecs.IncrementalDecoder) -> int:
    n_lines = 0
    try:
        for byte in block:
            n_lines += decoder.decode(bytes([byte])).count("\n")
    except UnicodeError:
        pass
    return n_lines
