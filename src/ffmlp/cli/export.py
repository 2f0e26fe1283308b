"""``ffmlp export``: a model for other programs, or as text."""

from __future__ import annotations

import argparse
import io
from typing import TYPE_CHECKING, Any

from ffmlp.cli.console import Console, add_shared, check_output, check_suffix, require_packages
from ffmlp.extras import require

if TYPE_CHECKING:
    from ffmlp.tabular.table_model import TableModel

HELP = "convert a model to ONNX, to a PyTorch program or to text"
EXAMPLE = "ffmlp export iris.model --to onnx -o iris.onnx"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--to", choices=tuple(_FORMATS), required=True, help="file format")
    add_shared(parser, "MODEL", output=("FILE", "file to write: .onnx, .pt2, .txt or .md"))


def run(options: argparse.Namespace) -> None:
    """Load, convert and write."""
    require_packages("export", "skops")
    convert, *suffixes = _FORMATS[options.to]
    check_suffix(options.output, *suffixes)
    check_output(options.output, options.force, options.model)
    from ffmlp.storage.whole_files import write_whole
    from ffmlp.tabular.table_model import TableModel

    console = Console(options)
    model = TableModel.load(options.model)
    content, inputs = convert(model)
    write_whole(options.output, content, options.force)
    console.say(f"{options.output}: {len(content) / 1000:.0f} kB; {inputs}")
    console.result({"output": str(options.output), "bytes": len(content), "inputs": inputs})


def _onnx(model: TableModel) -> tuple[bytes, str]:
    require("ffmlp export --to onnx", "onnx")
    from ffmlp.export import to_onnx

    network, properties = model.classifier.network_, {"target": model.target}
    graph = to_onnx(network, "float64", by_column=True, properties=properties)
    content: bytes = graph.SerializeToString()
    return content, "the inputs are the columns by name: numbers as float64, categories as strings"


def _torch(model: TableModel) -> tuple[bytes, str]:
    require("ffmlp export --to torch", "torch")
    import torch

    module = model.classifier.to_torch(torch.float64)
    columns = model.classifier.network_.table
    example = (torch.zeros((2, len(columns)), dtype=torch.float64),)
    program = torch.export.export(module, example, dynamic_shapes=({0: torch.export.Dim("rows")},))
    content = io.BytesIO()
    torch.export.save(program, content)
    names = ", ".join(columns.names)
    inputs = f"one float64 matrix; its columns: {names}; categories are their numbers, NaN is missing"
    return content.getvalue(), inputs


def _text(model: TableModel) -> tuple[bytes, str]:
    from ffmlp import export_text

    clf = model.classifier
    text = export_text(clf, max_items=max(len(clf.blobs_), *clf.network_.layer_sizes))
    return f"{text.rstrip()}\n".encode(), "the design as text"


# How to convert a model, and the suffixes; PyTorch reads only files with its own.
_FORMATS: dict[str, Any] = {
    "onnx": (_onnx, ".onnx"),
    "torch": (_torch, ".pt2"),
    "text": (_text, ".txt", ".md"),
}
