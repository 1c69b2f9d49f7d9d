"""Closed widgets, for example after running a cell again, do not stay in memory."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import tfvis_nb as tv
from tfvis_nb import events


def made() -> tv.Trace:
    return tv.Trace(events.build({"start_ns": [0, 9], "duration_ns": [5, 7], "kind": ["op"] * 2}))


@pytest.mark.parametrize(
    "show",
    [tv.show_timeline, tv.show_dashboard, lambda trace: tv.show_comparison(trace, made())],
    ids=["timeline", "dashboard", "comparison"],
)
def test_closed_widgets_let_go_of_their_traces(show: Callable[[tv.Trace], Any]) -> None:
    trace = made()
    held, widget = weakref.ref(trace), show(trace)
    del trace
    widget.close()
    del widget
    gc.collect()
    assert held() is None
