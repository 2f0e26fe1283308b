import pytest

for package in ("daqp", "matplotlib", "onnx", "pandas", "pyarrow", "tqdm"):
    pytest.importorskip(package)


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    from faulty_runs import Bench

    bench = Bench(tmp_path_factory.mktemp("faults"))
    yield bench
    bench.server.close()
