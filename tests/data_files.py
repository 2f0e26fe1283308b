"""What is read from data files, in the forms that several tests compare."""

from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.blocks import Block
from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import Dialect, split
from ffmlp.tabular.dates import with_dates
from ffmlp.tabular.table_columns import infer


def columns_and_rows(path, categorical=(), dialect=Dialect(), n_rows=2):  # noqa: B008
    """What the columns are, and the rows from blocks so small that some rows are in later ones."""
    import pandas as pd

    table = open_table(path, dialect)
    columns = infer(table, categorical, ())
    blocks = with_dates(table, columns.dates).blocks(n_rows, columns.kinds)
    return columns, pd.concat(blocks).to_dict("list")


def block_of(frame, kinds):
    """A block of rows from the columns of a frame that are of the given kinds."""
    import pandas as pd

    numbers, texts = split(kinds)
    found = [pd.factorize(frame[name]) for name in texts]
    return Block(frame[numbers].to_numpy(float), tuple(IndexedColumn(*column) for column in found))


def frames_of_parts(table, n_rows, kinds, kept=()):
    """The blocks that the parts of a table return, as frames; kept columns come last."""
    for part in table.parts(n_rows, kinds, kept):
        block = part()
        columns = dict(zip(kept, (cells.to_pylist() for cells in block.kept), strict=True))
        yield block.frame(*split(kinds))[list(kinds)].assign(**columns)


def rows_of_parts(table, n_rows, kinds, kept=()):
    """The rows of all parts."""
    import pandas as pd

    return pd.concat(frames_of_parts(table, n_rows, kinds, kept))
