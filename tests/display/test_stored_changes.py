"""Whether the notebook's file has the annotations of a widget, and how the user can keep them."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

import tfvis_nb as tv
from tests.display.test_annotations import made
from tests.real_traces import DATA, real_trace
from tfvis_nb.core.trace import replaced
from tfvis_nb.display import stored_output
from tfvis_nb.display.timeline import timeline_widget


@pytest.fixture
def trace() -> tv.Trace:
    whole = real_trace(DATA / "local_mlp_step1.pb")
    return replaced(whole, whole.events)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The HTML of each stored part, as a kernel publishes it."""
    texts: list[str] = []
    monkeypatch.setattr(stored_output, "get_ipython", lambda: SimpleNamespace(kernel=True))
    monkeypatch.setattr(stored_output, "_publish", lambda data, **_: texts.append(data.get("text/html", "")))
    return texts


def versions(texts: list[str]) -> list[int]:
    return [int(number) for text in texts for number in re.findall(r'data-version="(\d+)"', text)]


def annotate(widget: Any, name: str) -> None:
    widget.set_state({"_annotations": [made(name=name)]})


def test_each_version_is_published_and_announced(trace: tv.Trace, published: list[str]) -> None:
    widget = tv.show_timeline(trace)
    widget._repr_mimebundle_()
    annotate(widget, "a first note")
    assert "a first note" in published[-1]
    assert versions(published) == [1, 2]
    assert (widget._stored_version, widget._unsaved) == (2, "")
    sent: list[Any] = []
    widget.send = lambda content, buffers: sent.append((content, buffers))
    widget._handle_custom_msg({"kind": "stored", "id": "x"}, [])
    assert sent == [({"kind": "stored", "id": "x"}, [published[-1].encode()])]


def test_comparisons_store_the_annotations_of_both_sides(trace: tv.Trace, published: list[str]) -> None:
    shown = tv.show_comparison(trace, replaced(trace, trace.events))
    shown._repr_mimebundle_()
    for side, name in ((shown.a, "a note above"), (shown.b, "a note below")):
        annotate(side, name)
        assert name in published[-1]
    assert versions(published)[-1] == shown._a__stored_version


def test_large_traces_ask_to_run_the_cell_again(
    trace: tv.Trace, published: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline_widget, "QUICK", len(trace.events) - 1)
    widget = tv.show_timeline(trace)
    widget._repr_mimebundle_()
    assert widget._unsaved == ""
    annotate(widget, "a large note")
    assert widget._unsaved == "rerun"
    assert "a large note" not in published[-1]
    again = tv.show_timeline(trace)
    again._repr_mimebundle_()
    assert "a large note" in published[-1]
    assert again._unsaved == ""


def test_other_hosts_ask_for_an_export(trace: tv.Trace) -> None:
    widget = tv.show_timeline(trace)
    widget._repr_mimebundle_()
    assert widget._unsaved == ""
    annotate(widget, "a note")
    assert (widget._stored_version, widget._unsaved) == (0, "export")
