"""The compiled parts with sanitizers: access out of bounds and undefined behaviour end the process."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_BUILT = _ROOT / "build" / "sanitized"
# The files of the modules, by their names.
_SOURCES = {
    ".".join(path.relative_to(_ROOT / "src").with_suffix("").parts): path
    for path in (_ROOT / "src").rglob("*.c")
}
_FLAGS = (
    *("-shared", "-fPIC", "-O1", "-g", "-ffp-contract=off", "-DPy_LIMITED_API=0x030b0000"),
    *(
        "-fsanitize=address,undefined,float-cast-overflow",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ),
)
_COMPILER = "gcc"


def _built(module: str) -> Path:
    return _BUILT / f"{module}.so"


def build() -> None:
    """Compile all of them, with the compiler whose runtime is preloaded."""
    _BUILT.mkdir(parents=True, exist_ok=True)
    for module, source in _SOURCES.items():
        include = f"-I{sysconfig.get_path('include')}"
        subprocess.run([_COMPILER, *_FLAGS, include, source, "-o", _built(module)], check=True)


def environment() -> dict[str, str]:
    """Variables of a process that can load them."""
    name = [_COMPILER, "-print-file-name=libasan.so"]
    runtime = subprocess.run(name, check=True, capture_output=True, text=True).stdout.strip()
    return {
        **os.environ,
        "LD_PRELOAD": runtime,
        # Python itself leaks on purpose. Asking for more memory than there is must raise a MemoryError.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # Every object has a block of its own, so that the end of each is watched.
        "PYTHONMALLOC": "malloc",
    }


def load() -> None:
    """Put them in the place of the installed ones, if this process can load them."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        return
    for module in _SOURCES:
        spec = spec_from_file_location(module, _built(module))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[module] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[module])
