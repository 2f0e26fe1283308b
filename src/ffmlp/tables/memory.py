"""Whether a table fits into memory."""

from __future__ import annotations

import os
from pathlib import Path

from ffmlp.tables.tables import DataFile

# A fit in memory takes several times the memory of the cells, most of it for copies of the rows.
LARGEST_SHARE = 0.1
# Limits of the group of processes, as containers set them (versions 2 and 1).
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def is_large(table: DataFile) -> bool:
    """Whether the cells of a table take more than a tenth of the memory, where that is known."""
    limit = memory_limit()
    return limit is not None and table.n_bytes > LARGEST_SHARE * limit


def memory_limit() -> int | None:
    """The bytes of memory that this process may use; None if the system does not say it."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in map(Path, _LIMITS):
        text = path.read_text().strip() if path.is_file() else ""
        limits += [int(text)] if text.isdecimal() else []  # the other text is max
    return min(limits)
