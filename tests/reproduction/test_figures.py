from itertools import combinations

import pytest

from ffmlp.reproduction import experiments
from ffmlp.reproduction.experiments import Settings
from ffmlp.reproduction.paper import ROWS, ROWS_BY_KEY

pytest.importorskip("matplotlib")
pytest.importorskip("torch")

from ffmlp.reproduction import gallery
from ffmlp.reproduction.gallery import FIGURES
from ffmlp.reproduction.report import ORDERINGS, ROBUSTNESS, SIZES, TABLE_I


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.setattr(experiments, "N_EPOCHS", 2)
    monkeypatch.setattr(gallery, "DOTS_PER_INCH", 30)


@pytest.mark.parametrize("plan", FIGURES, ids=lambda plan: plan.name)
def test_a_figure_shows_something_in_every_panel_and_no_title_hides_another(plan):
    figure = plan.drawing([row for row in ROWS if row.key in plan.rows], Settings())
    figure.suptitle(plan.title, fontsize="x-large", fontweight="bold")
    figure.draw_without_rendering()
    assert figure.axes
    assert all(ax.has_data() or not ax.axison for ax in figure.axes)
    texts = [figure._suptitle, *(ax.title for ax in figure.axes if ax.get_title())]
    boxes = [text.get_window_extent() for text in texts]
    for first, second in combinations(boxes, 2):
        assert not first.overlaps(second)
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    panels = [ax.get_window_extent() for ax in figure.axes]
    for legend in figure.legends:
        assert not any(legend.get_window_extent().overlaps(panel) for panel in panels)


@pytest.mark.parametrize("plan", FIGURES, ids=lambda plan: plan.name)
def test_a_figure_has_a_title_a_caption_and_a_table(plan):
    assert plan.title[-1].isalnum()  # the page ends it with a full stop
    assert plan.caption.endswith(".")
    assert plan.caption.count(". ") == 0  # one sentence
    assert plan.beside in (TABLE_I, SIZES, ORDERINGS, ROBUSTNESS)
    assert set(plan.rows) <= set(ROWS_BY_KEY)


@pytest.mark.parametrize("plan", [plan for plan in FIGURES if len(plan.rows) > 1], ids=lambda p: p.name)
def test_a_figure_of_several_rows_can_show_one(plan):
    figure = plan.drawing([ROWS_BY_KEY[plan.rows[0]]], Settings())
    figure.draw_without_rendering()
    assert len(figure.axes) == (2 if plan.name == "circle-and-ring" else 1)


def test_only_figures_of_the_rows_that_were_run(tmp_path):
    drawn = []
    assert gallery.draw([ROWS_BY_KEY["iris"]], Settings(), tmp_path, drawn.append) == []
    xor = [ROWS_BY_KEY["xor"]]
    assert gallery.n_undrawn(xor, tmp_path) == 3
    pictures = gallery.draw(xor, Settings(), tmp_path, drawn.append)
    assert [picture.path.name for picture in pictures] == ["two-blobs.png", "xor.png", "sets-xor.png"]
    assert drawn == pictures
    assert {path.name for path in tmp_path.iterdir()} == {picture.path.name for picture in pictures}
    assert all(picture.path.read_bytes()[1:4] == b"PNG" for picture in pictures)


def test_what_is_drawn_is_not_drawn_again(tmp_path):
    def interrupt(picture):
        raise KeyboardInterrupt

    rows = [ROWS_BY_KEY["two_moons"]]
    with pytest.raises(KeyboardInterrupt):
        gallery.draw(rows, Settings(), tmp_path, interrupt)
    (first,) = tmp_path.iterdir()
    before = first.stat().st_mtime_ns
    assert gallery.n_undrawn(rows, tmp_path) == 2
    drawn = []
    pictures = gallery.draw(rows, Settings(), tmp_path, drawn.append)
    assert len(pictures) == 3
    assert len(drawn) == 2
    assert first.stat().st_mtime_ns == before


def test_figures_depend_on_the_seed_only(tmp_path):
    plan = next(plan for plan in FIGURES if plan.name == "two-new-moons")

    def samples(seed):
        figure = plan.drawing([ROWS_BY_KEY["two_moons"]], Settings(seed))
        return figure.axes[1].collections[0].get_offsets().tolist()

    assert samples(0) == samples(0)
    assert samples(0) != samples(1)
