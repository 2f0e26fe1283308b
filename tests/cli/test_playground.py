import json

from commands import refused

from ffmlp.cli import main
from ffmlp.web.joining import playground_page


def test_the_page_is_written_whole(here, capsys):
    assert main(["playground", "-o", "page.html"]) == 0
    assert (here / "page.html").read_text(encoding="utf-8") == playground_page()
    assert "Open it in a browser" in capsys.readouterr().out


def test_an_existing_file_is_kept_unless_forced(here, capsys):
    (here / "page.html").write_text("mine")
    assert "--force" in refused(capsys, "playground", "-o", "page.html")
    assert (here / "page.html").read_text() == "mine"
    assert main(["playground", "-o", "page.html", "--force", "--json"]) == 0
    size = len((here / "page.html").read_bytes())
    assert json.loads(capsys.readouterr().out) == {"page": "page.html", "bytes": size}
    assert ".html" in refused(capsys, "playground", "-o", "page.model")
