import io
from itertools import product

import numpy as np
import pytest
from problems import DESIGNS, IRIS, designed, mixed_table, overlapping, unseen_rows

import ffmlp
from ffmlp.parameters import checked_cells

torch = pytest.importorskip("torch")

X, Y = IRIS
EVERYWHERE = np.vstack([X, 5 * X - 20, np.zeros((1, 4)), np.full((1, 4), 1e3), np.full((1, 4), -1e3)])
GAPS = np.where((np.arange(len(X)) % 7 == 0)[:, None] & (np.arange(4) == 2), np.nan, X)


def outputs(module, samples, dtype):
    with torch.no_grad():
        return module(torch.tensor(samples, dtype=dtype)).double().numpy()


@pytest.mark.parametrize(("design", "gaussianise"), [*product(DESIGNS, (False, True)), ("paper", False)])
def test_the_module_gives_what_the_network_gives(design, gaussianise):
    clf = designed(design, X, Y, gaussianise=gaussianise)
    tried = np.vstack([EVERYWHERE, GAPS])  # medians take the place of missing numbers
    expected = clf.network_.forward(clf.network_.inputs(tried))
    double = outputs(clf.to_torch(torch.float64), tried, torch.float64)
    np.testing.assert_allclose(double, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())

    # float32 rounds each term of h; the region design multiplies what is left of it by P.
    module = clf.to_torch()
    samples = EVERYWHERE.astype(np.float32)
    expected = clf.network_.forward(samples)
    planes = clf.network_.hyperplanes
    scores = samples if planes.gaussianisation is None else planes.gaussianisation.apply(samples)
    terms = np.abs(scores) @ np.abs(planes.weights).T + np.abs(planes.biases)
    gain = np.abs(clf.network_.stages.weights[0]).max() * terms.sum(axis=1, keepdims=True)
    single = outputs(module, samples, torch.float32)
    assert (np.abs(single - expected) <= 1e-6 * (1 + gain)).all()
    assert next(module.parameters()).dtype == torch.float32


def test_features_with_few_values_have_few_knots():
    rng = np.random.default_rng(0)
    samples = np.column_stack([rng.integers(2, size=200), np.ones(200), rng.normal(size=200) ** 3])
    y = (samples[:, 2] > 0.1 * samples[:, 0]).astype(int)
    clf = designed("readout", samples, y, gaussianise=True)
    tried = np.vstack([samples, 3 * samples - 1, [[-5.0, 0.0, 100.0]]])
    np.testing.assert_allclose(
        outputs(clf.to_torch(torch.float64), tried, torch.float64),
        clf.network_.forward(tried),
        atol=1e-12,
    )


def test_layers_have_names():
    names = [name for name, _ in designed("readout", X, Y, gaussianise=True).to_torch().named_children()]
    assert names == [
        *("imputation", "gaussianise", "half_spaces", "half_spaces_activation"),
        *("evidence", "evidence_activation", "classes", "classes_activation"),
    ]
    trees = designed("readout with trees", X, Y, gaussianise=False).to_torch()
    assert [name for name, _ in trees.named_children()] == [
        *("imputation", "half_spaces", "half_spaces_activation"),
        *("evidence_and_leaves", "classes"),
    ]
    region = designed("region", X, Y, gaussianise=False).to_torch()
    assert [name for name, _ in region.named_parameters()] == [
        *("half_spaces.weight", "half_spaces.bias"),
        *("regions.weight", "regions.bias", "classes.weight", "classes.bias"),
    ]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_module_can_be_scripted_and_exported(design):
    module = designed(design, X, Y, gaussianise=True).to_torch(torch.float64)
    expected = outputs(module, EVERYWHERE, torch.float64)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    buffer.seek(0)
    np.testing.assert_array_equal(outputs(torch.jit.load(buffer), EVERYWHERE, torch.float64), expected)
    program = torch.export.export(
        module, (torch.tensor(EVERYWHERE[:7]),), dynamic_shapes=({0: torch.export.Dim("rows")},)
    )
    np.testing.assert_allclose(
        outputs(program.module(), EVERYWHERE, torch.float64), expected, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("design", DESIGNS)
def test_training_goes_on_from_the_design_and_comes_back_as_a_network(design):
    samples, y = overlapping(400)
    clf = designed(design, samples, y, n_components=2, gaussianise=True)
    module = clf.to_torch(torch.float64)
    untrained = ffmlp.from_torch(module)
    expected = clf.network_.forward(samples)
    np.testing.assert_allclose(untrained.forward(samples), expected, rtol=1e-12, atol=1e-12)

    inputs, targets = torch.tensor(samples), torch.tensor(y)
    if design == "blob":  # its outputs are probabilities as long as shares are only added up
        module.classes.requires_grad_(False)
    trainable = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=1e-3)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        out = module(inputs)
        # The region design puts out votes, the others probabilities.
        logits = out if design == "region" else out.log()
        loss = torch.nn.functional.cross_entropy(logits, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert all(parameter.grad is not None for parameter in trainable)

    trained = ffmlp.from_torch(module)
    np.testing.assert_allclose(
        trained.forward(samples), outputs(module, samples, torch.float64), rtol=1e-9, atol=1e-9
    )
    assert np.abs(trained.forward(samples) - clf.network_.forward(samples)).max() > 1e-3
    assert trained.layer_sizes == clf.network_.layer_sizes
    assert trained.activations == clf.network_.activations
    assert trained.meaning(1, 0).startswith("half-space ")
    if design == "readout with trees":
        axes = trained.stages.trees.axes
        before, after = clf.network_.hyperplanes.select(axes), trained.hyperplanes.select(axes)
        np.testing.assert_array_equal(after.weights, before.weights)
        np.testing.assert_array_equal(after.biases, before.biases)
        assert trained.stages.trees is clf.network_.stages.trees
    else:
        assert trained.meaning(2, 0).startswith(f"trained neuron 0 of {clf.network_.kinds[2]}, largest")
    state = module.state_dict()
    fresh = clf.to_torch(torch.float64)
    fresh.load_state_dict(state)
    np.testing.assert_array_equal(ffmlp.from_torch(fresh).forward(samples), trained.forward(samples))


def test_other_modules_are_refused():
    with pytest.raises(ValueError, match="got Linear"):
        ffmlp.from_torch(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="scripted or exported"):
        ffmlp.from_torch(torch.nn.Sequential(torch.nn.Linear(2, 2)))


def test_skorch_trains_the_module():
    skorch = pytest.importorskip("skorch")
    clf = designed("readout", X, Y, gaussianise=False)
    net = skorch.NeuralNetClassifier(
        clf.to_torch(), optimizer=torch.optim.Adam, max_epochs=3, lr=1e-5, verbose=0
    )
    net.fit(X.astype(np.float32), Y)
    assert net.score(X.astype(np.float32), Y) > 0.9
    ffmlp.from_torch(net.module_)


@pytest.mark.parametrize("design", [*DESIGNS, "paper"])
def test_a_table_is_given_as_cells(design):
    pd = pytest.importorskip("pandas")
    frame, y = mixed_table()
    clf = designed(design, frame, y)
    far = unseen_rows()[:2].assign(age=[1e18, np.nan], fare=[np.nan, 1e20])
    rows = pd.concat([frame, unseen_rows(), far], ignore_index=True)
    cells = checked_cells(clf, rows)
    module = clf.to_torch(torch.float64)
    assert [name for name, _ in module.named_children()][:2] == ["table", "imputation"]
    expected = clf.network_.forward(clf.network_.inputs(cells))
    found = outputs(module, cells, torch.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    again = ffmlp.from_torch(module)
    assert again.columns is clf.network_.columns
    np.testing.assert_allclose(again.forward(again.inputs(cells)), expected, rtol=1e-9, atol=1e-12)


def test_tables_are_not_trained():
    frame, y = mixed_table()
    module = designed("readout", frame, y).to_torch()
    names = [name for name, _ in module.named_parameters()]
    assert not [name for name in names if name.startswith(("table", "imputation"))]
    assert {"table.shares", "imputation.precisions"} <= module.state_dict().keys()
