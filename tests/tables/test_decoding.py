import gzip

import pytest
from data_files import columns_and_rows

from ffmlp.tables.tables import Dialect

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def written(encoding):
    return "größe,b\n1,2\n3,4\n".encode(encoding)


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (written("utf-16"), "utf-8", "line 1: not valid utf-8. The file is UTF-16: add --encoding utf"),
        (written("utf-32"), "utf-8", "line 1: not valid utf-8. The file is UTF-32: add --encoding utf"),
        (written("utf-16-le"), "utf-8", "The file may be UTF-16: add --encoding utf-16-le."),
        (b"\0a\0,\0b\0\n\0001\0,\0002", "utf-8", "The file may be UTF-16: add --encoding utf-16-be."),
        (written("utf-16-le"), "utf-16", "line 1: not valid utf-16. The file may be UTF-16: add"),
        (written("utf-8"), "utf-16", "line 1: not valid utf-16. Give another --encoding, or none if"),
        (written("utf-16")[:-1], "utf-16", "line 3: not valid utf-16. Give another --encoding"),
        (written("utf-16") + b"\x00\xd8\n\0\n\0", "utf-16", "line 4: not valid utf-16. Give another"),
        (written("utf-8") * 9000 + b"\xff\n", "utf-8", "line 27001: not valid utf-8. Save the file as"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "utf-8", "The file is compressed: its name must end"),
        (b"PK\x03\x04\x14\0\0\0[Content", "utf-8", "The file is a spreadsheet or a zip archive: save"),
        (b"a\0b,c\n1,2\n", "utf-8", "line 1: contains zero bytes. The file is not text, or not in utf"),
    ],
)  # fmt: skip
def test_files_in_another_encoding_are_reported_with_a_remedy(file, content, encoding, message):
    path = file(content)
    with pytest.raises(ValueError) as error:
        columns_and_rows(path, dialect=Dialect(encoding=encoding))
    assert str(error.value).startswith(f"{path}, line ")
    assert message in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_can_be_read(file, encoding):
    assert columns_and_rows(file(written(encoding)), dialect=Dialect(encoding=encoding))[1] == {
        "größe": [1, 3], "b": [2, 4]
    }  # fmt: skip


def test_decimal_commas_in_another_encoding(file):
    path = file("größe;b\n1,5;x\n2,5;y\n".encode("latin-1"))
    columns, rows = columns_and_rows(path, dialect=Dialect(decimal=",", encoding="latin-1"))
    assert columns.numbers == ("größe",)
    assert rows["größe"] == [1.5, 2.5]
