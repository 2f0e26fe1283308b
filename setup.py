"""The compiled parts of the package; everything else is in pyproject.toml."""

import os
import sysconfig

from setuptools import Extension, setup

COMPILED = {
    "ffmlp.design.trees._tree_growth": [
        "src/ffmlp/_tables.h",
        "src/ffmlp/design/trees/_open_nodes.h",
        "src/ffmlp/design/trees/_tree_tables.h",
    ],
    "ffmlp.inputs._interpolation": [],
    "ffmlp.network._trees": ["src/ffmlp/_tables.h"],
}
# One build for Python 3.11 and later; Python without a global lock has no such interface.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            name,
            [f"src/{name.replace('.', '/')}.c"],
            depends=["src/ffmlp/_module.h", *headers],
            define_macros=[("Py_LIMITED_API", "0x030b0000")] if STABLE else [],
            # Results are those of NumPy to the last bit: no product is summed before it is rounded.
            extra_compile_args=["-ffp-contract=off"],
            py_limited_api=STABLE,
            # Without a compiler, NumPy does the work, unless that would hide a mistake.
            optional="FFMLP_MUST_COMPILE" not in os.environ,
        )
        for name, headers in COMPILED.items()
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
