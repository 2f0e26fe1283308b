import bz2
import gzip
import lzma

import pytest
from data_files import columns_and_rows

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_files(file, suffix, compress):
    content = compress(b"a\tb\n1\t2\n3\t4\n")
    assert columns_and_rows(file(content, f"t.tsv.{suffix}"))[1] == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(ValueError, match=rf"c\.tsv\.{suffix} cannot be decompressed"):
        columns_and_rows(file(content[: len(content) // 2], f"c.tsv.{suffix}"))
