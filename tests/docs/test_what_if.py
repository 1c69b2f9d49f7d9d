"""The documentation of predictions names all that `what_if` takes."""

import inspect
import re
from pathlib import Path

from tfvis_nb import Trace
from tfvis_nb.analysis import what_if
from tfvis_nb.analysis.events.activity import ACTIVITIES
from tfvis_nb.core.prediction import HOW

PAGE = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text(encoding="utf-8")
KEYWORDS = [*inspect.signature(what_if).parameters][1:]


def test_the_tables_have_each_keyword_activity_and_word() -> None:
    section = PAGE.partition("## Predictions\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    wanted = [f"`{name}`" for name in KEYWORDS] + [f'`"{word}"`' for word in HOW]
    assert [cell for cell in cells if cell in wanted] == wanted
    assert {*ACTIVITIES[1:]} <= {*re.findall(r"`(\w+)`", section)}


def test_the_method_names_the_keywords() -> None:
    assert {*KEYWORDS} <= {*re.findall(r"``(\w+)``", str(inspect.getdoc(Trace.what_if)))}
