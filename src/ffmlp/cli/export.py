"""``ffmlp export``: a model for other programs, or in words."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ffmlp.cli.console import Console, add_output, check_name, check_output, need

if TYPE_CHECKING:
    from ffmlp.tabular.table_model import TableModel

HELP = "write a model as ONNX, as a PyTorch program or as text"
EXAMPLE = "ffmlp export iris.model --to onnx -o iris.onnx"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    parser.add_argument("--to", choices=tuple(_WRITERS), required=True, help="kind of file")
    add_output(parser, "FILE", "where to write to: .onnx, .pt2, or .txt or .md")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def run(options: argparse.Namespace) -> int:
    """Load, convert and write."""
    need("export", "skops")
    check_name(options.output, f"the file of --to {options.to}", *_SUFFIXES[options.to])
    check_output(options.output, options.force, options.model)
    from ffmlp.storage.whole_files import write_whole
    from ffmlp.tabular.table_model import TableModel

    console = Console.of(options)
    model = TableModel.load(options.model)
    content, inputs = _WRITERS[options.to](model)
    write_whole(options.output, content)
    console.say(f"{options.output}: {len(content) / 1000:.0f} kB; {inputs}")
    values = {"output": str(options.output), "bytes": len(content), "inputs": inputs}
    console.result(values)
    return 0


def _onnx(model: TableModel) -> tuple[bytes, str]:
    try:
        from ffmlp.tabular.table_onnx import to_onnx
    except ImportError as error:
        raise ImportError("--to onnx needs onnx: pip install 'ffmlp[onnx]'") from error
    content: bytes = to_onnx(model).SerializeToString()
    return content, "inputs are the columns by name, numbers as float64 and categories as strings"


def _torch(model: TableModel) -> tuple[bytes, str]:
    try:
        import torch
    except ImportError as error:
        raise ImportError("--to torch needs PyTorch: pip install 'ffmlp[torch]'") from error
    # Encoded categories that no training row had in between make weights too large for float32.
    module = model.classifier.to_torch(torch.float64)
    example = (torch.zeros((2, model.classifier.n_features_in_), dtype=torch.float64),)
    rows = torch.export.Dim("rows")
    program = torch.export.export(module, example, dynamic_shapes=({0: rows},))
    content = io.BytesIO()
    torch.export.save(program, content)
    names = ", ".join(model.classifier.network_.feature_names)
    return content.getvalue(), f"the network alone, which takes imputed and encoded float64: {names}"


def _text(model: TableModel) -> tuple[bytes, str]:
    from ffmlp import export_text

    clf = model.classifier
    text = export_text(clf, max_items=max(len(clf.blobs_), *clf.network_.layer_sizes))
    return f"{text.rstrip()}\n".encode(), "the design in words"


_WRITERS: dict[str, Callable[[TableModel], tuple[bytes, str]]] = {
    "onnx": _onnx,
    "torch": _torch,
    "text": _text,
}
# PyTorch reads no file of another name.
_SUFFIXES = {"onnx": (".onnx",), "torch": (".pt2",), "text": (".txt", ".md")}
