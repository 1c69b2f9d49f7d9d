"""Reasons why a table has no rows: ids and figures, and their texts in a golden file."""

from __future__ import annotations

import copy
import json
import pickle
import string
from pathlib import Path

import pandas as pd
import pytest

from tests.real_traces import DATA
from tfvis_nb.analysis.unavailable import NONE, REASONS, Reason, cannot_say, why_not

GOLDEN: dict[str, str] = json.loads((DATA / "texts" / "reasons.json").read_text(encoding="utf-8"))
FIGURES = {"steps": 3, "least": 5}


def _figures(template: str) -> dict[str, int]:
    return {name: FIGURES[name] for _, name, _, _ in string.Formatter().parse(template) if name}


def test_the_texts() -> None:
    assert {key: str(Reason(key, **_figures(text))) for key, text in REASONS.items() if key} == GOLDEN


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_reason_is_copied_with_its_figures(again: object) -> None:
    assert callable(again)
    reason = again(Reason("few_steps", **FIGURES))
    assert (reason, reason.id, reason.figures) == (Reason("few_steps", **FIGURES), "few_steps", FIGURES)


def test_a_table_keeps_its_reason_when_it_is_filtered() -> None:
    table = cannot_say({"step": "int64"}, Reason("no_steps"))
    assert why_not(table[table["step"] > 0]).id == "no_steps"
    assert not why_not(pd.DataFrame({"step": [0]}))


def test_a_table_without_rows_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        cannot_say({}, NONE)


def test_every_reason_is_used() -> None:
    package = Path(__file__).parents[2] / "tfvis_nb"
    code = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    assert [key for key in REASONS if key and code.count(f'"{key}"') < 2] == []
