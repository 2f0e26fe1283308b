"""What is read from data files, in the forms that several tests compare."""

from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import NAME, NUMBER, TEXT, Dialect
from ffmlp.tabular.columns import infer
from ffmlp.tabular.dates import with_dates


def columns_and_rows(path, categorical=(), dialect=Dialect(), n_rows=2):  # noqa: B008
    """What the columns are, and the rows from blocks so small that some rows are in later ones."""
    import pandas as pd

    table = open_table(path, dialect)
    columns = infer(table, categorical, ())
    blocks = with_dates(table, columns.dates).blocks(n_rows, columns.kinds)
    return columns, pd.concat(blocks).to_dict("list")


def frames_of_parts(table, n_rows, kinds):
    """The blocks that the parts of a table return, as frames; columns of names are ids."""
    ids = [name for name, kind in kinds.items() if kind == NAME]
    features = {name: kind for name, kind in kinds.items() if kind != NAME}
    for part in table.parts(n_rows, features, *ids):
        block = part()
        names = ([name for name, kind in features.items() if kind == own] for own in (NUMBER, TEXT))
        yield block.frame(*names).assign(**dict.fromkeys(ids, block.ids))[list(kinds)]


def rows_of_parts(table, n_rows, kinds):
    """The rows of all parts."""
    import pandas as pd

    return pd.concat(frames_of_parts(table, n_rows, kinds))
