"""The compiled parts of the package; everything else is in pyproject.toml."""

from setuptools import Extension, setup

COMPILED = ["ffmlp._interpolation", "ffmlp.files._plain_lines"]

setup(
    ext_modules=[
        Extension(
            name,
            [f"src/{name.replace('.', '/')}.c"],
            # Results are those of NumPy to the last bit: no product is summed before it is rounded.
            extra_compile_args=["-ffp-contract=off"],
            py_limited_api=True,
            optional=True,  # without a compiler, NumPy and pandas do the work
        )
        for name in COMPILED
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
