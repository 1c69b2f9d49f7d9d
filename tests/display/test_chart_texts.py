"""Texts of a trace in charts: they are plain text, and stay distinct."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bokeh.embed import json_item
from bokeh.models import CustomJS, CustomJSTickFormatter, HoverTool
from bokeh.models.annotations import Title

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tfvis_nb import events
from tfvis_nb.display.charts import Charts
from tfvis_nb.display.charts.figure import chart_item
from tfvis_nb.display.charts.style import shown
from tfvis_nb.display.tabs import tab


@pytest.mark.parametrize("name", ["$$a$$", "\\(x\\)", "\\[y\\]", "$$$$$$"])
def test_no_text_of_a_trace_is_taken_for_a_formula(name: str) -> None:
    # BokehJS would fetch MathJax for it.
    text = shown(name)
    assert "$$" not in text
    assert "\\(" not in text
    assert "\\[" not in text


def marked_trace(mark: str) -> tv.Trace:
    """A trace with data for every chart, and a mark in each of its texts."""
    text = f"{mark}<img src=x>@{{name}}$index{{safe}}"
    count = 8
    kinds = ["op", "kernel", "memcpy", "memcpy", "transfer", "transfer", "op", "op"]
    ops = [f"{text}{number}" for number in range(count)]
    columns: dict[str, Any] = {
        "start_ns": np.arange(count) * 9000,
        "duration_ns": [8000] * count,
        "step": [0] * 4 + [1] * 4,
        "kind": kinds,
        "op": ops,
        "bytes": [4096] * count,
        "task": [f"{text}{number % 2}" for number in range(count)],
        "device": [f"{text}/device:GPU:{number % 2}" for number in range(count)],
    }
    columns |= dict.fromkeys(("name", "lane", "tensor", "detail", "source", "destination"), ops)
    records = [{"micros": 1, "bytes": 64}, {"micros": 5, "bytes": -64}]
    uses = [[{"allocator": f"{text}{number}", "records": records}] for number in range(count)]
    labels = {0: text, 1: text}
    work = {"program": ops, "hlo_op": ops, "flops": [4000] * count, "bytes_accessed": [1000] * count}
    nested = pa.table({"memory": uses, **work})
    return tv.Trace(events.build(columns), nested=nested, step_labels=labels, title=text)


TEXTS = {"data", "factors", "title", "label", "name"}

"""Properties of Bokeh's models that it draws as text, or looks things up by. No template is one of them."""


def templates(value: Any) -> list[str]:
    """Every text of a figure but those of `TEXTS`."""
    if isinstance(value, dict):
        return [text for name, part in value.items() if name not in TEXTS for text in templates(part)]
    if isinstance(value, list):
        return [text for part in value for text in templates(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("name", Charts.NAMES)
def test_no_text_of_a_trace_is_in_a_template(name: str) -> None:
    # Bokeh treats tooltips as HTML but by default escapes values of columns.
    trace = marked_trace("HOSTILE")
    assert trace.charts.why_not(name) == ""
    made = getattr(trace.charts, name)()
    written = json_item(made)
    # A bar of one task says the step alone.
    assert "HOSTILE" in json.dumps(written) or name == "breakdown"
    assert not [text for text in templates(written) if "HOSTILE" in text or "{safe}" in text]
    for tool in made.select({"type": HoverTool}):
        assert all("HOSTILE" not in part for row in tool.tooltips for part in row)
    for label in made.select({"type": Title}):
        assert "HOSTILE" not in str(label.text)


def test_lines_of_one_name_have_legends_of_their_own() -> None:
    columns = {"start_ns": [1000] * 2, "duration_ns": [9000] * 2, "kind": ["op"] * 2}
    # The names of these tasks are shortened to the same.
    columns |= {"task": ["/job:w/task:0", "/job:w/replica:0/task:0"]}
    records = [{"micros": 2, "bytes": 64}, {"micros": 5, "bytes": -64}]
    nested = pa.table({"memory": [[{"allocator": "cpu", "records": records}]] * 2})
    block = tab(tv.Trace(events.build(columns), nested=nested), "Memory")["blocks"][0]
    labels = [entry["label"] for entry in block["legend"]]
    assert len(labels) == len(set(labels)) == 2


def test_ops_that_begin_alike_have_legends_of_their_own() -> None:
    ops = ["Memcpy" + "x" * 60 + end for end in "ab"]
    columns = {"start_ns": [0, 9000], "duration_ns": [5000] * 2, "kind": ["memcpy"] * 2, "op": ops}
    trace = tv.Trace(events.build(columns | {"bytes": [4096] * 2}))
    for block in tab(trace, "Transfers")["blocks"]:
        labels = [entry["label"] for entry in block.get("legend", [])]
        assert len(labels) == len(set(labels))


def test_no_chart_needs_eval() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    for name in Charts.NAMES:
        if trace.charts.why_not(name):
            continue
        made = getattr(trace.charts, name)()
        assert not list(made.select({"type": CustomJS}))
        assert not list(made.select({"type": CustomJSTickFormatter}))
        assert "CustomJS" not in json.dumps(json_item(made))


@pytest.mark.parametrize("name", Charts.NAMES)
def test_a_dashboard_gets_what_bokeh_writes_of_a_chart(name: str) -> None:
    made = getattr(marked_trace("a").charts, name)()
    item = chart_item(made)
    assert item == json_item(made)
    assert len(item["doc"]["roots"][0]["attributes"]["renderers"]) == len(made.renderers)
