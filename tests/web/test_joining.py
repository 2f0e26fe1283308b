import json
import re

import pytest

from ffmlp.web.joining import joined_script, one_page


@pytest.fixture
def joined(tmp_path):
    """The script of `main`, from the texts of modules."""

    def script(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")
        return joined_script(str(tmp_path / "main.js"))

    return script


def test_a_module_follows_those_that_it_imports(joined):
    script = joined(
        main='import { half } from "./half.js";\nimport { one } from "./one.js";\n\nprint(half(one));\n',
        half='import {\n  one,\n} from "./one.js";\nexport function half(x) { return (x * one) / 2; }\n',
        one="export const one = 1;\n",
    )
    assert script.index("const one") < script.index("function half") < script.index("print(")
    assert "import" not in script
    assert "export" not in script


def test_a_name_may_be_there_once_only(joined):
    with pytest.raises(ValueError, match="share names: size"):
        joined(main='import "./other.js";\nconst size = 1;\n', other="function size() {}\n")


def test_no_text_of_the_data_ends_its_element():
    page = one_page("A & B", "<main></main>", "", "", {"label": "</script><script>alert(1)</script>"})
    (text,) = re.findall(r'id="data">(.*?)</script>', page)
    assert json.loads(text) == {"label": "</script><script>alert(1)</script>"}
    assert page.count("<script") == 2
    assert "<title>A &amp; B</title>" in page
