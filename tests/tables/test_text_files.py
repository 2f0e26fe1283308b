import bz2
import gzip
import lzma

import pytest
from data_files import columns_and_rows

from ffmlp.tables.text_files import even_share

pytest.importorskip("pandas")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


@pytest.mark.parametrize(
    ("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_files(file, suffix, compress):
    content = compress(b"a\tb\n1\t2\n3\t4\n")
    assert columns_and_rows(file(content, f"t.tsv.{suffix}"))[1] == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(ValueError, match=rf"c\.tsv\.{suffix} cannot be decompressed"):
        columns_and_rows(file(content[: len(content) // 2], f"c.tsv.{suffix}"))


@hypothesis.given(st.integers(1, 10**9), st.integers(1, 10**7), st.sampled_from([1, 2, 4, 8]))
def test_threads_get_as_many_blocks_each(total, most, n_threads):
    share = even_share(total, most)
    n_blocks = -(-total // share)
    assert 1 <= share <= most
    assert n_blocks <= max(1, 2 * -(-total // most)) + 8
    if total >= 8 * most and share >= 1000:  # otherwise whole bytes are too coarse
        assert n_blocks % n_threads == 0
