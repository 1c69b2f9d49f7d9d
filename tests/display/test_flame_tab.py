"""The content of the tab of flame graphs."""

from pathlib import Path

import numpy as np

import tfvis_nb as tv
from tests.display.test_tabs import in_json
from tests.real_traces import real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare_flame_graphs, flame_graph
from tfvis_nb.display.tabs import tab


def test_a_flame_graph_has_the_times_and_events_of_each_step(data: Path) -> None:
    trace = real_trace(data / "gpu_tf218_function.xplane.pb.xz")
    (block,) = in_json(tab(trace, "Flame graph"))["blocks"]
    for graph in block["graphs"]:
        if graph["by"] in ("layer", "stack"):
            assert graph["cannot_say"]
            continue
        assert all(parent < at for at, parent in enumerate(graph["parents"]))
        listed = []
        for part in graph["parts"]:
            tree = flame_graph(trace, graph["by"], graph["side"], [part["step"]])
            assert sum(part["self_ns"]) == tree["total_ns"].iloc[0]
            assert sum(map(len, part["events"])) == tree["events"].iloc[0]
            assert [sum(own) for own in part["own_ns"]] == part["self_ns"]
            assert list(map(len, part["own_ns"])) == list(map(len, part["events"]))
            listed += [event for events in part["events"] for event in events]
        assert (
            len(listed)
            == len(set(listed))
            == flame_graph(trace, graph["by"], graph["side"])["events"].iloc[0]
        )


def test_a_comparison_has_the_flame_graphs_of_both(data: Path) -> None:
    traces = [real_trace(data / f"gpu_tf{version}_mlp.pb.xz") for version in ("218", "221")]
    shown = tv.show_comparison(*traces)
    (block,) = next(tab for tab in shown.panels.tabs() if tab["title"] == "Flame graph")["blocks"]
    for graph in block["graphs"]:
        if graph["cannot_say"]:
            continue
        tree = compare_flame_graphs(traces[0], traces[1], graph["by"], graph["side"])
        for letter, trace, part in zip("ab", traces, (graph["base"], *graph["parts"]), strict=True):
            assert sum(part["self_ns"]) == tree[f"total_{letter}_ns"][0]
            assert sum(map(len, part["events"])) == tree[f"events_{letter}"][0]
            assert max(event for listed in part["events"] for event in listed) < len(trace.events)
    assert [graph["side"] for graph in block["graphs"] if graph["by"] == "scope" and "base" in graph] == [
        "device",
        "host",
    ]


def test_small_frames_count_in_the_frame_around_them() -> None:
    count = 30_000
    durations = np.arange(1, count + 1)
    names = ["small", *(f"{at % 7}/{at % 1400}/x" for at in range(1, count))]
    columns = {
        "start_ns": durations * 100_000,
        "duration_ns": durations,
        "name": names,
        "kind": ["kernel"] * count,
    }
    trace = Trace(events.build({**columns, "step": np.arange(count) % 100}))
    (block,) = in_json(tab(trace, "Flame graph"))["blocks"]
    graph = block["graphs"][0]
    assert len(graph["labels"]) == len(graph["parents"]) <= 800
    assert "small" not in graph["labels"]
    assert graph["colours"][0] == ""
    assert sum(sum(part["self_ns"]) for part in graph["parts"]) == durations.sum()
    assert all(events for part in graph["parts"] for events in part["events"])
    assert not any("own_ns" in part for part in graph["parts"])
    assert sum(len(events) for part in graph["parts"] for events in part["events"]) < count
