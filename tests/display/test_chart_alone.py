"""A chart on its own: saved by a script, and shown by a cell."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from bokeh.models.annotations import Title
from bokeh.plotting import figure, save
from bokeh.resources import INLINE
from IPython.core.formatters import DisplayFormatter

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tfvis_nb.display import bokehjs
from tfvis_nb.display.charts import Charts
from tfvis_nb.display.charts.chart_widget import ChartWidget

NAMES = [name for name in Charts.NAMES if name != "steps"]


@pytest.fixture(scope="module")
def trace() -> tv.Trace:
    return real_trace(DATA / "gpu_tf221_mlp.pb.xz")


def shown(made: figure) -> tuple[dict[str, Any], ChartWidget]:
    """What IPython shows of a figure, and the widget among it."""
    formatter: Any = DisplayFormatter()  # no shell: a process has one, and other tests want another class
    data, _ = formatter.format(made)
    widgets = [each for each in _widgets() if isinstance(each, ChartWidget)]
    number = data["application/vnd.jupyter.widget-view+json"]["model_id"]
    (widget,) = (each for each in widgets if each.model_id == number)
    return data, widget


def _widgets() -> list[Any]:
    from ipywidgets.widgets.widget import _instances

    return list(_instances.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_shows_the_chart_itself(trace: tv.Trace, name: str) -> None:
    made = getattr(trace.charts, name)()
    data, widget = shown(made)
    title = made.title.text
    assert data["text/plain"] == f"<chart {title!r}>"
    assert title.split("(", maxsplit=1)[0] in data["text/html"]
    assert "<script" not in data["text/html"]
    state = widget.get_state()
    item = json.loads(state["_item"])
    assert item["doc"]["roots"][0]["name"] == "Figure"
    assert (state["title"], state["_bokeh"]) == (title, bokehjs.version())


def test_changes_of_the_user_are_shown(trace: tv.Trace) -> None:
    made = trace.charts.breakdown()
    before, _ = shown(made)
    made.title = Title(text="Mine <b>")
    after, widget = shown(made)
    assert before["text/plain"] != after["text/plain"] == "<chart 'Mine <b>'>"
    assert "Mine &lt;b&gt;" in after["text/html"]
    assert "Mine <b>" in widget.get_state()["_item"]
    made.title = None
    assert shown(made)[0]["text/plain"] == "<chart 'Chart'>"


def test_each_view_has_a_link_of_its_own(trace: tv.Trace) -> None:
    made = trace.charts.memory()
    links = {shown(made)[1].get_state()["_link"] for _ in range(2)}
    assert len(links) == 2
    assert "" not in links


def test_a_script_saves_it_as_any_figure(trace: tv.Trace, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = trace.charts.breakdown()
        assert isinstance(made, figure)
        saved = save(made, tmp_path / "chart.html", resources=INLINE, title="Chart")
    text = Path(saved).read_text(encoding="utf-8")
    assert '"name":"Figure"' in text
    assert "_Shown" not in text


def test_bokehjs_is_sent_when_asked_for(trace: tv.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    _, widget = shown(trace.charts.breakdown())
    monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append((content, buffers)))
    widget._handle_custom_msg({"kind": "bokeh", "id": "7"}, [])
    widget._handle_custom_msg({"kind": "other"}, [])
    widget._handle_custom_msg("nothing", [])
    assert sent == [({"kind": "bokeh", "id": "7"}, [bokehjs.compressed_code()])]
