"""Pages of a pack from a stranger: its texts are shown, not obeyed."""

from __future__ import annotations

from pathlib import Path

from profrx.language.docs import rules_docs
from profrx.language.pack import load_pack

HOSTILE = '''
reference bad { title "[x](javascript:alert(1)) <b>" url "javascript:alert(1)" }
rule hostile {
  title "A <script>alert(1)</script> title"
  cause gpu-idle
  scope launch
  when sm.throughput > 60 %
  because """See <img src=x onerror=alert(1)> and [this](javascript:alert(2)) in `a<b>`.

# not a heading"""
  see bad
  test "ticks ``` and tags <i>" { given sm.throughput = 70 % expect fired }
}
'''


def test_texts_of_a_pack_are_shown_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / "bad.rule").write_text(HOSTILE)
    pages = rules_docs(load_pack([tmp_path]), ["hostile"])
    page = pages["hostile.md"]
    for shown in ("\\<script>", "\\<img", "`a<b>`"):
        assert shown in page
    assert "](javascript:" not in page.replace("\\](javascript:", "")
    assert "\n# not a heading" not in page
    tests = page.split("## Tests")[1]
    assert tests.strip().startswith("````\n")
    assert "<script>" not in pages["index.md"].replace("\\<script>", "").replace("#lt;script>", "")
