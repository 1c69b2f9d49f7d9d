"""Reasons why a table has no rows; their texts are in the catalogue, see tests/test_texts.py."""

from __future__ import annotations

import html
import pickle
from typing import Any

import pandas as pd
import pytest

from tfvis_nb.analysis.unavailable import NONE, cannot_say, why_not
from tfvis_nb.texts import Text


def test_a_table_keeps_its_reason_when_it_is_filtered() -> None:
    table = cannot_say({"step": "int64"}, Text("no_steps"))
    assert why_not(table[table["step"] > 0]).id == "no_steps"
    assert not why_not(pd.DataFrame({"step": [0]}))


def test_a_table_without_rows_shows_its_reason() -> None:
    reason = Text("gpu_rows_missing", fault="<b>")
    table = cannot_say({"step": "int64"}, reason)
    like_it: list[Any] = [table, table.head(), table.copy(), pickle.loads(pickle.dumps(table))]
    for shown in like_it:
        assert reason in repr(shown)
        assert html.escape(reason) in shown._repr_html_()
    filled: Any = table.merge(pd.DataFrame({"step": [1]}), how="right")
    plain: Any = pd.DataFrame(filled)
    assert (repr(filled), filled._repr_html_()) == (repr(plain), plain._repr_html_())


def test_a_table_without_rows_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        cannot_say({}, NONE)
