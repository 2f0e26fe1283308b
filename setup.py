"""The compiled part of the package; everything else is in pyproject.toml."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "ffmlp.files._plain_numbers",
            ["src/ffmlp/files/_plain_numbers.c"],
            py_limited_api=True,
            optional=True,  # without a compiler, pandas does its work
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
