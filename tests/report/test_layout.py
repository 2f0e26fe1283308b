import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffmlp.report.layout import Picture, Table, to_html, to_markdown

# Elements without an end tag.
_VOID = {"meta", "img"}


class Page(HTMLParser):
    """The cells, texts and order of a page; its elements must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells, self.heads, self.alts = [], [], [], [], []
        self.folded, self.summaries = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "img":
            self.alts.append(attributes["alt"])
        if tag == "td" or attributes.get("scope") == "row":
            self.cells.append([tag, attributes["data-label"], ""])
        if attributes.get("scope") == "col":
            self.heads.append("")
        if tag == "summary":
            self.summaries.append("")
        if tag in ("table", "ul"):
            self.folded.append("details" in self.open)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ""
        if inside == "summary":
            self.summaries[-1] += data
        elif inside in ("th", "td"):
            if "thead" in self.open:
                self.heads[-1] += data
            else:
                self.cells[-1][2] += data


def picture(beside, width=1000):
    """A picture beside the section of a title; what a page reads of a PNG image is its width."""
    png = b"\x89PNG\r\n\x1a\n" + bytes(8) + width.to_bytes(4, "big") + bytes(8)
    return Picture(png, "A < B", "See it.", beside, "figures/drawn.png")


def test_pages():
    tables = [
        Table("Sizes", "Neurons.", ["set", "d|1"], [["Iris", "2.0 ± 0.1"]], ["A note."]),
        Table("Missing", "", ["row", "reason"], [["pima", "no <network>"]], (), [("Why", "a\n  b")]),
    ]
    content = "Title & all", ["An introduction."], tables, [picture("Sizes")]
    text = to_markdown(*content)
    assert text.startswith("# Title & all\n\nAn introduction.\n\n## Sizes\n")
    assert "| set | d\\|1 |\n| --- | --- |\n| Iris | 2.0 ± 0.1 |\n\n- A note.\n" in text
    assert "![A < B](figures/drawn.png)\n\n**A < B.** See it." in text
    assert "## Missing\n\n| row | reason |" in text
    assert "**Why**\n\n```text\na\n  b\n```" in text
    page = to_html(*content)
    assert "<h1>Title &amp; all</h1><p>An introduction.</p>" in page
    assert "no &lt;network&gt;" in page
    assert "2.0&nbsp;±&nbsp;0.1" in page
    assert "<b>A &lt; B.</b> See it." in page
    assert "<summary>Why</summary><pre>a\n  b</pre>" in page
    assert 'width="650"' in page
    assert re.findall(r'src="([^,]*),', page) == ["data:image/png;base64"]
    assert "http" not in page  # nothing is fetched when it is opened
    assert '<html lang="en">' in page
    assert Page(page).alts == ["A < B"]
    links, targets = (re.findall(rf'{name}="#?(part-\d+)"', page) for name in ("href", "id"))
    assert links == targets
    assert len(links) == len(tables)
    # The figure stands below its own table.
    assert page.index("Sizes</h2>") < page.index("<img") < page.index("Missing</h2>")


def test_a_picture_with_the_title_of_the_page_opens_it():
    content = "The page", ["First.", "Second."], [Table("Sizes", "Text.")], [picture("The page")]
    page = to_html(*content)
    assert page.count("<img") == 1
    assert page.index("Second.") < page.index("<figure>") < page.index("<nav>")
    text = to_markdown(*content)
    assert text.count("![") == 1
    assert text.index("Second.") < text.index("![A < B]") < text.index("## Sizes")


@pytest.mark.parametrize(("width", "scrolls"), [(1000, False), (1200, True)])
def test_only_a_wide_picture_scrolls(width, scrolls):
    page = to_html("The page", (), (), [picture("The page", width)])
    assert ('class="scroll wide"' in page) == scrolls


def test_a_section_may_have_no_table():
    content = "The page", (), [Table("Words", "One.\n\nTwo & three.", notes=["A note."])], ()
    page = to_html(*content)
    assert "<h2>Words</h2><p>One.</p><p>Two &amp; three.</p><ul" in page
    assert "table" not in Page(page).tags
    assert to_markdown(*content) == "# The page\n\n## Words\n\nOne.\n\nTwo & three.\n\n- A note.\n"


@pytest.mark.parametrize("folded", [True, False])
def test_a_folded_table_is_opened_with_its_notes(folded):
    lines = [[str(number), "x"] for number in range(60)]
    made = Table("Many", "Text.", ["number", "letter"], lines, ["A note."], folded=folded)
    page = Page(to_html("The page", (), [made], ()))
    assert page.summaries == ["Show the table (60 lines)"] * folded
    assert page.folded == [False, folded, folded]  # contents, table, notes
    assert to_markdown("The page", (), [made], ()).count("\n| ") == 62


def test_without_a_table_nothing_is_folded():
    page = Page(to_html("The page", (), [Table("Words", "One.", notes=["A note."], folded=True)], ()))
    assert "details" not in page.tags


@pytest.mark.parametrize(("n_columns", "cards"), [(1, False), (4, False), (5, True)])
def test_wide_tables_become_cards(n_columns, cards):
    page = to_html("The page", (), [Table("T", "", ["a"] * n_columns, [["b"] * n_columns])], ())
    assert ('<table class="cards">' in page) == cards
    assert (f'<table style="--columns:{n_columns}">' in page) != cards


_names = st.text(st.sampled_from("ab\"'<>&=/ é"), max_size=6)


@given(
    st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(_names, min_size=n, max_size=n), min_size=2))
)
def test_every_cell_has_the_name_of_its_column(grid):
    header, *lines = grid
    page = Page(to_html("The page", (), [Table('A "title" <b>', "", header, lines)], ()))
    assert page.heads == header
    expected = [
        ["td" if column else "th", header[column], cell]
        for line in lines
        for column, cell in enumerate(line)
    ]
    assert [[tag, label, cell.replace("\xa0", " ")] for tag, label, cell in page.cells] == expected


def test_a_line_has_a_cell_for_each_column():
    with pytest.raises(ValueError):
        to_html("The page", (), [Table("T", "", ["a", "b"], [["1"]])], ())


def test_cells_in_bold():
    table = Table("T", "", ["name", "number"], [["a", "1 ± 2"], ["b", "3"]], bold={(0, 1)})
    assert "| a | **1 ± 2** |\n| b | 3 |" in to_markdown("Page", [], [table], [])
    page = to_html("Page", [], [table], [])
    assert '<td data-label="number"><b>1&nbsp;±&nbsp;2</b></td>' in page
    assert page.count("<b>") == 1
