"""A Horovod timeline with the traces of its ranks: in the right step and op, never counted twice."""

import io
import json
import lzma
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support.horovod_rows import FILES, RANKS, TEXT, TIMELINE, of_horovod, of_ranks, recorded, same_rows
from tests.support.texts import figures_of
from tests.wire_reader import read_drawn
from tfvis_nb import events as event_table
from tfvis_nb.analysis import communication_overlap, late_ranks
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.core.devices import horovod_device
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.reading.chrome.horovod_timeline import LANES
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import id_of

HOROVOD = f"{RANKS[0]}/device:Horovod"
PAIRS = {
    "even": [*(f"hvd/hvd_rank{rank}_step{step}.pb" for rank in (0, 1) for step in (1, 3))],
    "straggler": [*(f"hvd/hvd_straggler_rank{rank}_step{step}.pb" for rank in (0, 1) for step in (2, 3))],
}


@pytest.fixture(scope="module")
def trace() -> tv.Trace:
    return tv.read_trace([*FILES, TIMELINE])


def test_the_phases_of_the_traced_step_are_rank_0s(trace: tv.Trace) -> None:
    origin, bars = recorded(TEXT)
    alone = tv.read_trace(FILES[0]).events
    first = alone["start_ns"].min() / 1000 - origin
    last = (alone["start_ns"] + alone["duration_ns"]).max() / 1000 - origin
    moved = {
        (bar["tensor"], bar["number"])
        for bar in bars
        if bar["name"] in ("ALLREDUCE", "ALLGATHER") and first <= bar["start"] <= last
    }
    expected = sorted(
        (bar["tensor"], bar["name"], (origin + bar["start"]) * 1000, (bar["end"] - bar["start"]) * 1000)
        for bar in bars
        if (bar["tensor"], bar["number"]) in moved
    )
    rows = of_horovod(trace)
    phases = rows[rows["lane"] != "cycles"]
    found = phases[["name", "op", "start_ns", "duration_ns"]].astype(object).to_numpy().tolist()
    assert sorted(map(tuple, found)) == expected
    assert len(moved) == 8
    assert set(rows["task"]) == {RANKS[0]}
    assert set(rows["device"]) == {HOROVOD}
    assert set(phases["op"]) >= {
        "NEGOTIATE_ALLREDUCE",
        "ALLREDUCE",
        "MEMCPY_IN_FUSION_BUFFER",
        "GLOO_ALLREDUCE",
    }

    cycles = rows[rows["lane"] == "cycles"]
    marks = [
        (origin + event["ts"]) * 1000 for event in json.loads(TEXT) if event.get("name") == "CYCLE_START"
    ]
    assert cycles["start_ns"].tolist() == [mark for mark in marks if first <= mark / 1000 - origin <= last]
    assert (cycles["duration_ns"] == 0).all()

    lost = len(bars) + len(marks) + 28 - len(rows)  # 28 times, a rank said that it was ready
    (note,) = figures_of(trace.notes, "horovod_beside_in_part")
    assert (note["rows"], note["others"]) == (len(rows), lost)


def test_the_ranks_rows_and_figures_do_not_change(trace: tv.Trace) -> None:
    without = tv.read_trace(FILES)
    assert same_rows(of_ranks(trace), without.events)
    assert communication_overlap(trace).equals(communication_overlap(without))
    phases = of_horovod(trace).index
    assert (activity(trace)[phases] == NUMBER["none"]).all()
    assert late_ranks(trace).equals(late_ranks(without))
    assert len(trace.collective_waits) == len(without.collective_waits) == 16
    assert trace.transfers.empty
    kinds = of_horovod(trace)["kind"].astype(str)
    assert set(kinds) == {"host", "sync"}
    # Its op types are its own, so that a sum over one has each collective once.
    assert not set(of_horovod(trace)["op"]) & set(without.events["op"])
    assert trace.steps["label"].tolist() == without.steps["label"].tolist()
    assert trace.graphs == without.graphs
    assert trace.clock_bounds == without.clock_bounds
    assert trace.nested is not None
    outputs = [table.nested["outputs"].to_pylist() for table in (trace, without) if table.nested is not None]
    ids = np.setdiff1d(np.arange(len(trace.events)), of_horovod(trace).index)
    assert sorted(map(str, (outputs[0][event] for event in ids))) == sorted(map(str, outputs[1]))


def related(trace: tv.Trace, event: int) -> set[tuple[str, str, str]]:
    """What of Horovod's an event leads to: kind of the edge, device, op."""
    edges = trace.edges[
        (trace.edges["source"] == event) & trace.edges["target"].isin(of_horovod(trace).index)
    ]
    targets = trace.events.iloc[edges["target"]]
    return {
        (str(kind), str(device), str(op))
        for kind, device, op in zip(edges["kind"], targets["device"], targets["op"], strict=True)
    }


def test_each_op_leads_to_what_horovod_did(trace: tv.Trace) -> None:
    loss = trace.events[(trace.events["name"] == "avg_loss") & (trace.events["kind"] == "collective")]
    own, other = (int(loss.index[loss["task"] == rank][0]) for rank in RANKS)
    assert related(trace, own) == {
        ("launch", HOROVOD, op)
        for op in (
            "NEGOTIATE_ALLREDUCE",
            "ALLREDUCE",
            "MEMCPY_IN_FUSION_BUFFER",
            "GLOO_ALLREDUCE",
            "MEMCPY_OUT_FUSION_BUFFER",
        )
    }
    assert related(trace, other) == {("control", HOROVOD, "NEGOTIATE_ALLREDUCE")}
    rows = of_horovod(trace)
    negotiating = int(rows.index[(rows["name"] == "avg_loss") & (rows["lane"] == "negotiate")][0])
    assert related(trace, negotiating) == {("control", HOROVOD, "ALLREDUCE")}
    phases = rows[rows["lane"] != "cycles"]
    launched = trace.edges[trace.edges["kind"] == "launch"]
    assert sorted(launched["target"]) == sorted(phases.index)
    source, target = (trace.events.iloc[launched[end]] for end in ("source", "target"))
    assert (source["name"].to_numpy() == target["name"].to_numpy()).all()
    assert set(source["kind"]) == {"collective"}


@pytest.mark.parametrize("rank", [0, 1])
def test_one_rank_alone(rank: int) -> None:
    trace = tv.read_trace([TIMELINE, FILES[rank]])
    assert trace.title == f"2 traces: horovod_{{rank{rank}_step3.pb,timeline.json}}.xz"
    assert set(of_horovod(trace)["task"]) == {RANKS[0]}
    assert set(of_ranks(trace)["task"]) == {RANKS[rank]}
    assert same_rows(
        of_ranks(trace)[["step", "name", "start_ns", "task", "detail"]],
        tv.read_trace(FILES[rank]).events.assign(task=RANKS[rank])[
            ["step", "name", "start_ns", "task", "detail"]
        ],
    )
    kinds = trace.edges["kind"].value_counts()
    # Whoever is waited for, rank 0 negotiates; the phases are its own.
    assert kinds["launch"] == (41 if rank == 0 else 0)
    assert len(of_horovod(trace)[lambda rows: rows["lane"] == "negotiate"]) == 8


def test_a_trace_whose_rank_nothing_tells_is_taken_for_rank_0s() -> None:
    data = lzma.decompress(FILES[0].read_bytes())
    for source in (data, tv.read_trace(data)):
        trace = tv.read_trace([source, TEXT])
        assert set(trace.events["task"]) == {"/job:localhost/replica:0/task:0"}
        assert set(of_horovod(trace)["device"]) == {"/job:localhost/replica:0/task:0/device:Horovod"}
        assert any(id_of(note) == "rank_0_taken" for note in trace.notes)
        assert trace.edges["kind"].value_counts()["launch"] == 41


def test_tasks_that_are_no_ranks_are_told_apart_from_them() -> None:
    ranks = tv.read_trace(FILES)
    tasks = ranks.events["task"].cat.rename_categories(lambda task: task.replace("worker", "host"))
    mixed = tv.Trace(ranks.events.assign(task=tasks))
    trace = tv.read_trace([mixed, TIMELINE])
    assert set(of_horovod(trace)["device"]) == {"Horovod"}
    assert set(of_horovod(trace)["task"]) == {""}
    assert any(id_of(note) == "rank_0_unknown" for note in trace.notes)
    # Every op then is one that negotiating waits for.
    assert (trace.edges["kind"] == "launch").sum() == 0
    assert related(trace, int(trace.events.index[trace.events["name"] == "avg_loss"][0])) == {
        ("control", "Horovod", "NEGOTIATE_ALLREDUCE")
    }


def test_folders_patterns_and_archives(tmp_path: Path, trace: tv.Trace) -> None:
    for file in (*FILES, TIMELINE):
        shutil.copy(file, tmp_path)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for file in (TIMELINE, *FILES):
            tar.add(file, file.name)
    for source in (tmp_path, f"{tmp_path}/horovod_*", packed.getvalue()):
        assert same_rows(tv.read_trace(source).events, trace.events)


def test_a_timeline_of_another_time_says_so() -> None:
    later = TEXT.replace(b"1795214630618600", b"1795224630618600")
    trace = tv.read_trace([FILES[0], later])
    assert of_horovod(trace).empty
    (note,) = [note for note in trace.notes if id_of(note) == "horovod_outside"]
    assert id_of(note) == "horovod_outside"
    assert id_of(note) == "horovod_outside"
    assert id_of(note) == "horovod_outside"


def test_a_timeline_that_does_not_know_its_time_says_so() -> None:
    undated = TEXT.replace(b'"args": {"start_time_since_epoch_in_micros":1795214630618600}', b'"args": {}')
    assert undated != TEXT
    trace = tv.read_trace([FILES[0], undated])
    assert of_horovod(trace).empty
    assert any(id_of(note) == "horovod_undated" for note in trace.notes)


def test_a_timeline_alone_is_a_trace_as_before() -> None:
    alone = tv.read_trace(TIMELINE)
    assert "HorovodAllreduce" in set(alone.events["op"])
    assert set(alone.events["device"]) == {"Horovod"}
    two = tv.read_trace([TIMELINE, io.BytesIO(TEXT.replace(b"avg_loss", b"sum_loss"))])
    assert two.steps["step"].tolist() == [0, 1]
    assert len(two.events) == 2 * len(alone.events)


def test_ranks_that_are_ready_and_cycles_are_points_in_time() -> None:
    alone = tv.read_trace(TIMELINE).events
    ready = alone[alone["lane"] == "rank ready"]
    assert len(ready) == 28
    assert set(ready["detail"]) == {"rank 0", "rank 1"}
    cycles = alone[alone["lane"] == "cycles"]
    assert len(cycles) == 817
    assert set(cycles["name"]) == {"CYCLE_START"}
    for points in (ready, cycles):
        assert set(points["kind"]) == {"sync"}
        assert (points["duration_ns"] == 0).all()


def test_other_formats_keep_horovods_lanes(trace: tv.Trace, tmp_path: Path) -> None:
    stored = tv.read_trace(trace.to_parquet(tmp_path / "trace.parquet"))
    assert stored.edges.equals(trace.edges)
    chrome = tv.read_trace(trace.to_chrome_trace(tmp_path / "trace.json"))
    assert len(of_horovod(chrome)) == len(of_horovod(trace))
    # A trace that has its timeline already is no timeline.
    again = tv.read_trace([stored, FILES[0]])
    assert again.steps["step"].tolist() == [0, 1]


@pytest.mark.slow
def test_ranks_that_were_kept_by_this_package(tmp_path: Path, trace: tv.Trace) -> None:
    for rank, file in enumerate(FILES):
        tv.read_trace(file).to_parquet(tmp_path / f"rank{rank}.parquet")
    shutil.copy(TIMELINE, tmp_path)
    kept = tv.read_trace(tmp_path)
    assert same_rows(kept.events, trace.events)
    assert kept.graphs == trace.graphs
    assert len(kept.edges) == len(trace.edges)
    assert len(kept.collective_waits) == 16
    # Of several steps, each with that of the other rank.
    several = [tv.read_trace([file, file]) for file in FILES]
    for rank, each in enumerate(several):
        each.to_parquet(tmp_path / f"rank{rank}.parquet")
    both = tv.read_trace([tmp_path / f"rank{rank}.parquet" for rank in (0, 1)])
    assert both.steps["step"].tolist() == [0, 1]
    assert both.collective_waits.groupby("step").size().tolist() == [16, 16]
    assert len(both.graphs) == 2
    # What does not have the same steps is not of the same run.
    tv.read_trace(FILES[0]).to_parquet(tmp_path / "rank0.parquet")
    apart = tv.read_trace([tmp_path / f"rank{rank}.parquet" for rank in (0, 1)])
    assert apart.steps["step"].tolist() == [0, 1, 2]


def test_ranks_that_recorded_sessions(tmp_path: Path, trace: tv.Trace) -> None:
    (tmp_path / "step").mkdir()
    for rank, file in enumerate(FILES):
        path = tmp_path / f"rank{rank}.tfvis"
        writer = Writer(path, keep=None)
        number, _ = writer.add_signature(Signature("session", "train"))
        start = int(trace.steps["start_ns"].iloc[0])
        data = lzma.decompress(file.read_bytes())
        writer.add_trace(number, Recording("run_metadata", data, 3, start, 5_000), None)
        writer.close({number: Counts(3, 0, 15_000, 5_000, start, start)})
        with tv.open_session(path) as session:
            session.read(1).to_parquet(tmp_path / "step" / f"rank{rank}.parquet")
    kept = tv.read_trace([tmp_path / "step", TIMELINE])
    assert same_rows(kept.events, trace.events)
    assert kept.steps["label"].tolist() == ["train"]


def test_its_lanes_stand_below_those_of_the_ops(trace: tv.Trace) -> None:
    header, events = read_drawn(bar_bytes(trace))
    lanes = [lane["lane"] for lane in header["lanes"] if lane["device"] == HOROVOD]
    assert lanes == [lane for lane in LANES if lane != "rank ready"]
    places = [(lane["task"], lane["device"]) for lane in header["lanes"]]
    assert places.index((RANKS[0], f"{RANKS[0]}/device:CPU:0")) < places.index((RANKS[0], HOROVOD))
    # Only ops wait at their heads: what Horovod did in the meantime is in the row below.
    waiting = {event["lane"][1] for event in events if event["wait"]}
    assert waiting == {f"{RANKS[0]}/device:CPU:0"}


@pytest.mark.parametrize(
    ("files", "timeline"),
    [
        pytest.param(files, timeline, id=name, marks=pytest.mark.collection(*files, timeline))
        for (name, files), timeline in zip(
            PAIRS.items(), ("hvd/hvd_timeline.json", "hvd/hvd_straggler_timeline.json"), strict=True
        )
    ],
)
def test_several_steps_of_real_runs(files: list[str], timeline: str, shared: Path) -> None:
    trace = tv.read_trace([*(shared / name for name in files), shared / timeline])
    rows = of_horovod(trace)
    assert rows["step"].nunique() == 2
    without = tv.read_trace([shared / name for name in files])
    assert same_rows(of_ranks(trace), without.events)
    ran = without.events[without.events["kind"] == "collective"]
    own = ran[ran["task"] == RANKS[0]]
    for lane in ("negotiate", "collective"):
        names = rows[rows["lane"] == lane].groupby("step")["name"].apply(sorted)
        assert names.tolist() == own.groupby("step")["name"].apply(sorted).tolist()
    launched = trace.edges[trace.edges["kind"] == "launch"]
    assert set(launched["target"]) == set(rows.index[rows["lane"] != "cycles"])
    step = trace.events["step"].to_numpy()
    assert (step[launched["source"]] == step[launched["target"]]).all()
    # On the same clock: an op ends when Horovod is done with its tensor, within a tenth of a millisecond.
    moved = trace.events.iloc[launched["target"]].reset_index(drop=True)
    ops = trace.events.iloc[launched["source"]].reset_index(drop=True)
    left = (ops["start_ns"] + ops["duration_ns"]) - (moved["start_ns"] + moved["duration_ns"])
    assert left[moved["lane"] == "collective"].between(0, 100_000).all()
    control = trace.edges[(trace.edges["kind"] == "control") & trace.edges["target"].isin(rows.index)]
    tasks = trace.events["task"].to_numpy()[control["source"]]
    assert pd.Series(tasks).value_counts().to_dict() == dict.fromkeys(RANKS, len(own))


def test_only_the_suffix_marks_a_device_of_horovod() -> None:
    task = "/job:worker/replica:0/task:0"
    table = event_table.build(
        {
            "start_ns": [0, 10],
            "duration_ns": [100, 80],
            "kind": ["collective", "sync"],
            "lane": ["collective", "negotiate"],
            "name": ["loss"] * 2,
            "task": [task] * 2,
            "device": [f"{task}/device:CPU:0", f"{horovod_device(task)}:0"],
        }
    )
    assert tv.Trace(table).edges.empty
