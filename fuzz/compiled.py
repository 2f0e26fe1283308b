"""Calls of all compiled functions, under sanitizers if the supervisor runs them.

Valid arguments must give the bits that NumPy gives. Others must be refused. Arguments are hostile in
type, shape, layout, or in indices that a function checks itself. Those within a forest are checked when
it is made: there, the tables of trees are hostile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fuzz import sanitized

sanitized.load()

from ffmlp.design.trees import _tree_growth, growth  # noqa: E402
from ffmlp.explain import attribution  # noqa: E402
from ffmlp.inputs import _interpolation  # noqa: E402
from ffmlp.network import _trees  # noqa: E402
from ffmlp.network import trees as network_trees  # noqa: E402
from ffmlp.network.trees import Trees  # noqa: E402
from fuzz.calls import LAYOUTS, read, written  # noqa: E402
from fuzz.changes import one_of  # noqa: E402

_REFUSALS = (TypeError, ValueError, BufferError, OverflowError)
_ODD_FLOATS = (0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310, 1e308)
_ODD_INTEGERS = (-1, 0, 1, 7, 8, 127, 128, 255, 32767, 2**31 - 1, -(2**31), 100_000)
_TYPES = ("f8", "f4", "i8", "i4", "i2", "u4", "u2", "u1", "?")

# Arguments that must be parts of one forest: of these, types, layouts and dimensions are hostile only.
_UNCHECKED = {"leaves": (0, 1, 2, 3), "add_values": (0, 1, 2, 3, 4), "decide": (0, 1, 2, 3, 5)}


def seeds() -> list[bytes]:
    """One valid call of each function."""
    rng = np.random.default_rng(0)
    return [written(name, draw(rng), False) for name, (draw, _) in _FUNCTIONS.items()]


def changed(rng: Generator, parents: Sequence[bytes]) -> bytes:
    """A call of new arguments; one of two is hostile."""
    name = one_of(rng, list(_FUNCTIONS))
    arguments = _FUNCTIONS[name][0](rng)
    if rng.random() < 0.5:
        return written(name, arguments, False)
    # Each place once: two changes of the type of a table could change its values.
    for place in rng.permutation(len(arguments))[: rng.geometric(0.6)].tolist():
        arguments[place] = _hostile(rng, arguments[place], place in _UNCHECKED.get(name, ()))
    if rng.random() < 0.02:
        arguments.pop()
    return written(name, arguments, True)


def _hostile(rng: Generator, argument: Any, is_unchecked: bool) -> Any:
    if isinstance(argument, tuple):
        argument, _ = argument
    if not isinstance(argument, np.ndarray):
        return one_of(rng, (*_ODD_INTEGERS, None, "text", 1.5, 2**64, -(2**70), math.nan, True))
    match int(rng.integers(3 if is_unchecked else 7)):
        case 0:
            return argument, one_of(rng, LAYOUTS)
        case 1:
            with np.errstate(all="ignore"):
                return argument.astype(one_of(rng, _TYPES))
        case 2:
            return one_of(rng, (None, 3, "text", [1, 2], argument[..., None]))
        case 3:
            return one_of(
                rng, (argument[:0], argument[..., :0], argument[:-1], argument[1:], argument.ravel())
            )
        case 4 if argument.ndim:
            return np.concatenate([argument, argument[:1]])
    odd = argument.copy()
    if odd.size:
        value = one_of(rng, _ODD_FLOATS if odd.dtype.kind == "f" else _ODD_INTEGERS)
        limits = np.iinfo(odd.dtype) if odd.dtype.kind in "iu" else None
        chosen = rng.random(odd.shape) < one_of(rng, (0.02, 0.3, 1.0))
        chosen.flat[rng.integers(odd.size)] = True
        with np.errstate(over="ignore"):
            odd[chosen] = value if limits is None else min(max(value, limits.min), limits.max)
    return odd


def check(data: bytes) -> str:
    """Call a function with arguments, and with copies of them what it stands for."""
    name, arguments, is_hostile = read(data)
    copies = [
        argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments
    ]
    compute, compare = _FUNCTIONS[name][1]
    if is_hostile and name in _UNCHECKED:  # what it relies on may not hold
        compare = _done
    try:
        found = compute(*arguments)
    except _REFUSALS:
        assert is_hostile, "valid arguments were refused"
        return f"refused: {name}"
    except (IndexError, AttributeError):
        assert is_hostile, "valid arguments were refused"
        return f"refused by NumPy: {name}"
    return f"{'hostile, ' if is_hostile else ''}{compare(found, arguments, copies)}: {name}"


def _integers(rng: Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high))


def _draw_interpolate(rng: Generator) -> list[Any]:
    n_knots = _integers(rng, 1, 40)
    knots = np.unique(
        rng.normal(size=n_knots).round(_integers(rng, 0, 4)) * 10.0 ** _integers(rng, -300, 300)
    )
    values = np.concatenate(
        [knots, np.nextafter(knots, np.inf), rng.normal(size=_integers(rng, 0, 300)), _ODD_FLOATS]
    )
    scores = np.sort(rng.normal(size=len(knots))) * 10.0 ** _integers(rng, -20, 20)
    return [rng.permutation(values), knots, scores, np.zeros(len(values))]


def _compare_interpolate(found: None, arguments: list[Any], copies: list[Any]) -> str:
    values, knots, scores, _ = copies
    if not (np.diff(knots) > 0).all() or not np.isfinite([*knots, *scores]).all():
        return "done"  # there is no right result
    with np.errstate(all="ignore"):
        expected = np.interp(values, knots, scores)
    np.testing.assert_array_equal(np.asarray(arguments[3]), expected)
    return "equal"


def _draw_grow(rng: Generator) -> list[Any]:
    n, n_features, n_channels = _integers(rng, 1, 200), _integers(rng, 1, 20), _integers(rng, 2, 9)
    width = -(-n_features // 8) * 8
    ranks = (rng.integers(0, one_of(rng, (2, 300, 2**15)), (n, width))).astype(np.int16)
    ranks[:, n_features:] = 0
    targets = rng.integers(-(2**31 - 1) // n, (2**31 - 1) // n, (n, n_channels)).astype(np.int32)
    targets[:, 0] = np.abs(targets[:, 0]) // one_of(rng, (1, 1000)) + 1
    rows = rng.permutation(n)[: _integers(rng, 1, n + 1)].astype(np.int32)
    most = 2 * _integers(rng, 1, min(40, n) + 1) - 1
    tables = [
        ranks,
        targets,
        rows,
        np.zeros((most, 5), np.int32),
        np.zeros((most, n_channels), np.int32),
    ]
    options = (
        _integers(rng, 0, 2**32),
        _integers(rng, 2, 9),
        one_of(rng, (0.0, 3.0)),
        bool(rng.integers(2)),
    )
    return [*tables, n_features, *options]


def _compare_grow(found: int, arguments: list[Any], copies: list[Any]) -> str:
    ranks, targets, rows, nodes, totals, n_features, seed, fewest, prior, _ = copies
    ordinary = targets[:, 0].min() > 0 and ranks.min() >= 0 and not ranks[:, n_features:].any()
    if not (ordinary and fewest >= 2 and 0.0 <= prior < 1e300 and 0 <= seed < 2**63):
        return "done"
    expected = growth._grow(*copies[:8], float(prior), copies[9])
    assert found == expected
    np.testing.assert_array_equal(arguments[2], rows)
    np.testing.assert_array_equal(arguments[3][:found], nodes[:found])
    np.testing.assert_array_equal(arguments[4][:found], totals[:found])
    return "equal"


def _grown(rng: Generator) -> tuple[list[Any], NDArray]:
    arguments = _draw_grow(rng)
    n_nodes = growth._grow(*arguments)
    return arguments, arguments[3][:n_nodes].copy()


def _draw_subtract(rng: Generator) -> list[Any]:
    arguments, nodes = _grown(rng)
    values = rng.uniform(-0.5, 0.5, (len(nodes), arguments[1].shape[1] - 1))
    return [arguments[2], nodes, values, arguments[1]]


def _compare_subtract(found: None, arguments: list[Any], copies: list[Any]) -> str:
    rows, nodes, values, targets = copies
    if (
        not (np.diff(np.sort(rows)) > 0).all()
        or (np.asarray(nodes)[:, 3] > np.asarray(nodes)[:, 4]).any()
    ):
        return "done"  # a row twice
    leaves = nodes[nodes[:, 2] < 0]
    covered = np.concatenate([np.arange(first, end) for *_, first, end in leaves] or [[]])
    if len(np.unique(covered)) < len(covered) or not (np.abs(values) < 1e6).all():
        return "done"
    with np.errstate(all="ignore"):
        growth._subtract(*copies)
    np.testing.assert_array_equal(arguments[3], targets)
    return "equal"


def _draw_descend(rng: Generator) -> list[Any]:
    arguments, nodes = _grown(rng)
    rows = rng.integers(0, len(arguments[0]), _integers(rng, 0, 300)).astype(np.int32)
    return [arguments[0], rows, nodes, np.zeros(len(rows), np.int32)]


def _compare_descend(found: None, arguments: list[Any], copies: list[Any]) -> str:
    growth._descend(*copies)
    np.testing.assert_array_equal(arguments[3], copies[3])
    return "equal"


def _draw_trees(rng: Generator) -> list[Any]:
    """The parts of `Trees`."""
    sizes = [_integers(rng, 1, one_of(rng, (2, 40))) for _ in range(_integers(rng, 1, 20))]
    n_axes, n_classes, n_nodes = _integers(rng, 1, 9), _integers(rng, 2, 5), sum(sizes)
    roots = np.append(0, np.cumsum(sizes)[:-1]).astype(np.int32)
    children, n_regions = np.empty((n_nodes, 2), np.int32), 0
    for root, size in zip(roots.tolist(), sizes, strict=True):
        places = [(root, 0), (root, 1)]
        for node in range(root + 1, root + size):
            children[places.pop(_integers(rng, 0, len(places)))] = node
            places += [(node, 0), (node, 1)]
        for place in places:
            children[place] = -1 - n_regions
            n_regions += 1
    thresholds = rng.choice([-1e30, -0.5, -0.0, 0.0, 0.25, 1e-40, 1e30], n_nodes).astype(np.float32)
    planes = rng.integers(n_axes, size=n_nodes).astype(np.int32)
    return [planes, thresholds, children, roots, rng.normal(size=(n_nodes + len(sizes), n_classes))]


def _draw_responses(rng: Generator, trees: list[Any], n_rows: int) -> NDArray:
    shape = n_rows, int(trees[0].max()) + 1
    near = rng.choice(trees[1], shape).astype(np.float64)
    return np.where(
        rng.random(shape) < 0.3,
        rng.choice(_ODD_FLOATS, shape),
        near * rng.choice([1, 1, -1, 1 + 1e-9], shape),
    )


def _draw_evidence(rng: Generator) -> list[Any]:
    trees = _draw_trees(rng)
    return [*trees, _draw_responses(rng, trees, one_of(rng, (0, 1, 13, 100, 2100)))]


def _evidence(*arguments: Any) -> Any:
    trees = Trees(*arguments[:5])
    return trees.leaves(arguments[5]), trees.evidence(arguments[5])


def _compare_evidence(found: Any, arguments: list[Any], copies: list[Any]) -> str:
    if not _are_of_trees(copies):
        return "done"
    for fast, slow in zip(found, _by_numpy(network_trees, _evidence, copies), strict=True):
        np.testing.assert_array_equal(fast, slow)
    return "equal"


def _are_of_trees(arguments: list[Any]) -> bool:
    """Whether the types are those of checked trees, and no threshold is NaN."""
    kinds = (np.int32, np.float32, np.int32, np.int32, np.float64)
    fitting = (
        isinstance(own, np.ndarray) and own.dtype == kind
        for own, kind in zip(arguments, kinds, strict=False)
    )
    return all(fitting) and bool(np.isfinite(arguments[1]).all())


def _by_numpy(module: Any, compute: Callable[..., Any], arguments: list[Any]) -> Any:
    before, module.compiled = module.compiled, None
    try:
        with np.errstate(all="ignore"):
            return compute(*arguments)
    finally:
        module.compiled = before


def _draw_shapley(rng: Generator) -> list[Any]:
    trees, n_rows = _draw_trees(rng), _integers(rng, 0, 20)
    own, other = (_draw_responses(rng, trees, n_rows) for _ in range(2))
    winner = rng.integers(2, size=n_rows)
    return [*trees, np.nan_to_num(own), np.nan_to_num(other), winner, 1 - winner]


def _shapley(*arguments: Any) -> Any:
    return attribution.tree_shapley(Trees(*arguments[:5]), *arguments[5:])


def _compare_shapley(found: Any, arguments: list[Any], copies: list[Any]) -> str:
    indices = (isinstance(own, np.ndarray) and own.dtype.kind == "i" for own in copies[7:])
    if (
        not _are_of_trees(copies)
        or not all(indices)
        or not all(np.isfinite(own).all() for own in copies[4:7])
    ):
        return "done"
    # A tree adds a gain and a loss, each a difference of two values.
    most = float(np.abs(copies[4]).max(initial=1.0)) * len(copies[3])
    if not math.isfinite(4.0 * most):  # the order of the sum decides between infinity and NaN
        return "done"
    expected, room = _by_numpy(attribution, _shapley, copies), 1e-9 * most
    np.testing.assert_allclose(found, expected, atol=room)
    return "equal"


def _draw_forest(rng: Generator) -> tuple[Trees, NDArray]:
    parts = _draw_trees(rng)
    trees = Trees(*parts)
    return trees, trees.compared(_draw_responses(rng, parts, _integers(rng, 0, 60)))


def _draw_leaves(rng: Generator) -> list[Any]:
    trees, compared = _draw_forest(rng)
    return [*trees.forest, compared, np.zeros((len(compared), len(trees.roots)), np.int32)]


def _draw_add_values(rng: Generator) -> list[Any]:
    trees, compared = _draw_forest(rng)
    return [*trees.forest, compared, trees.values, np.zeros((len(compared), trees.values.shape[1]))]


def _draw_decide(rng: Generator) -> list[Any]:
    trees, compared = _draw_forest(rng)
    bounds, sums = (
        trees.bounds,
        rng.normal(size=(len(compared), trees.values.shape[1])).astype(np.float32),
    )
    classes = np.zeros(len(compared), np.int32)
    return [
        *trees.forest,
        compared,
        bounds.order,
        bounds.values,
        bounds.least,
        bounds.most,
        1e-3,
        sums,
        classes,
    ]


def _compare_decide(found: None, arguments: list[Any], copies: list[Any]) -> str:
    """What is decided is the class of the largest sum."""
    places, regions, starts, compared, _, values, _, _, _, sums, _ = copies
    of_trees = np.zeros((len(compared), len(starts) - 1), np.int32)
    _trees.leaves(places, regions, starts, compared, of_trees)
    total = sums + values.astype(np.float64)[of_trees].sum(axis=1)
    decided = np.asarray(arguments[10]) >= 0
    np.testing.assert_array_equal(np.asarray(arguments[10])[decided], total.argmax(axis=1)[decided])
    return "equal"


def _done(found: Any, arguments: list[Any], copies: list[Any]) -> str:
    return "done"  # the same is compared as evidence


# How arguments are drawn, what is called, and what its results are compared with.
_FUNCTIONS: dict[str, tuple[Callable[..., list[Any]], tuple[Callable[..., Any], Callable[..., str]]]] = {
    "interpolate": (_draw_interpolate, (_interpolation.interpolate, _compare_interpolate)),
    "grow": (_draw_grow, (_tree_growth.grow, _compare_grow)),
    "subtract": (_draw_subtract, (_tree_growth.subtract, _compare_subtract)),
    "descend": (_draw_descend, (_tree_growth.descend, _compare_descend)),
    "evidence": (_draw_evidence, (_evidence, _compare_evidence)),
    "shapley": (_draw_shapley, (_shapley, _compare_shapley)),
    "leaves": (_draw_leaves, (_trees.leaves, _done)),
    "add_values": (_draw_add_values, (_trees.add_values, _done)),
    "decide": (_draw_decide, (_trees.decide, _compare_decide)),
}
