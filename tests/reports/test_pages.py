import re

from ffmlp.reports.pages import Picture, Table, to_html, to_markdown


def test_pages(tmp_path):
    (tmp_path / "figures").mkdir()
    path = tmp_path / "figures" / "drawn.png"
    # What a page reads of a PNG file is its width, 1000 here.
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(8) + (1000).to_bytes(4, "big") + bytes(8))
    pictures = [Picture(path, "A < B", "See it.", "Sizes")]
    tables = [
        Table("Sizes", "Neurons.", ["set", "d|1"], [["Iris", "2.0 ± 0.1"]], ["A note."]),
        Table("Missing", "", ["row", "reason"], [["pima", "no <network>"]], (), [("Why", "a\n  b")]),
    ]
    content = "Title & all", ["An introduction."], tables, pictures
    text = to_markdown(*content)
    assert text.startswith("# Title & all\n\nAn introduction.\n")
    assert "| set | d\\|1 |\n| --- | --- |\n| Iris | 2.0 ± 0.1 |\n\n- A note.\n" in text
    assert "![A < B](figures/drawn.png)\n\n**A < B.** See it." in text
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
    links, targets = (re.findall(rf'{name}="#?(part-\d+)"', page) for name in ("href", "id"))
    assert links == targets
    assert len(links) == len(tables)
    # The figure stands below its own table.
    assert page.index("Sizes</h2>") < page.index("<img") < page.index("Missing</h2>")
