"""Sessions that tftracer saved, as sessions of tfvis_nb; and adding one session to another."""

import datetime as dt
import gzip
import pickle
import sqlite3
import sys
import types
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.texts import raises_id
from tfvis_nb.compat.import_tftracer import converted
from tfvis_nb.compat.tftracer_server import add_session
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import Text

METADATA = (DATA / "local_mlp_step1.pb").read_bytes()
EVENTS = tv.read_trace(METADATA).events
ENDED_NS = int((EVENTS["start_ns"] + EVENTS["duration_ns"]).max())


class TracingSource:
    """Pickled under the name of tftracer's class."""


class RunMetadata:
    """Pickled like the message."""

    def __init__(self, serialized: bytes) -> None:
        self.serialized = serialized


@pytest.fixture(autouse=True)
def their_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, made in (
        ("tftracer.tracing_server", TracingSource),
        ("tensorflow.core.protobuf.config_pb2", RunMetadata),
    ):
        for dot in (
            place for place, letter in enumerate(name) if letter == "." and name[:place] not in sys.modules
        ):
            monkeypatch.setitem(sys.modules, name[:dot], types.ModuleType(name[:dot]))
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(made, "__module__", name)
        setattr(module, made.__name__, made)


def profile(run: int, *, fetches: str = "<tf.Operation 'train' type=NoOp>", **more: Any) -> dict[str, Any]:
    """What tftracer keeps of a run."""
    times = {"first_run": dt.datetime(2026, 11, 20, 9), "last_run": dt.datetime(2026, 11, 20, 10)}  # noqa: DTZ001
    return {
        "info": {"fetches": fetches, "feeds": more.pop("feeds", "None"), "options": "None"},
        "stats": {"runs": 4, "traces": 0, "runtimes": dt.timedelta(microseconds=250), **times, **more},
        "traces": [],
        "run_id": run,
    }


def saved(
    path: Path, profiles: list[dict[str, Any]], traces: dict[int, list[Any]], protocol: int = 3
) -> Path:
    source = TracingSource()
    source._run_profile = OrderedDict((str(each), each) for each in profiles)  # type: ignore[attr-defined]
    source._traces = traces  # type: ignore[attr-defined]
    path.write_bytes(pickle.dumps(source, protocol))
    return path


def test_a_session_of_tftracer_is_listed(tmp_path: Path) -> None:
    notes = converted(DATA / "tftracer_session.pickle.gz", tmp_path / "old.tfvis")
    assert notes == [Text("traces_not_kept", lost=1, traces=7)]
    with tv.open_session(tmp_path / "old.tfvis") as session:
        table = session.signatures
        assert table[["label", "runs", "mean_ns", "traces"]].to_numpy().tolist() == [
            ["GradientDescent", 12, 5_855_000, 4],
            ["loss, mul", 3, 7_019_000, 2],
        ]
        # With the one that tftracer no longer kept.
        assert table["traced"].sum() == 7
        assert table["fetches"].tolist() == [[], ["loss:0", "mul:0"]]
        assert table["targets"].tolist() == [["GradientDescent"], []]
        assert table["feeds"].tolist() == [[], ["scale:0"]]
        assert table["fetch_types"].tolist() == [[], ["float32[]", "float32[32, 8]"]]
        assert table["feed_types"].tolist() == [[], ["float32[]"]]
        # Recorded where the clock on the wall was that of UTC.
        assert table["first"].iloc[0] == pd.Timestamp("2026-11-20 22:44:00.318917")
        traces = session.traces
        whole = tv.read_trace(DATA / "tftracer_session.pickle.gz")
        assert (
            traces["start"].astype("int64").tolist()
            == whole.events.groupby("step")["start_ns"].min().tolist()
        )
        names = [session.read(number).events["name"].tolist() for number in traces.index]
        assert names == whole.events.groupby("step")["name"].apply(list).tolist()
        assert (traces["start"] > table["first"].iloc[0]).all()
        assert session.read(1).title == "GradientDescent"
        assert session.processes["host"].tolist() == ["tftracer, tftracer_session.pickle.gz"]
        assert session.processes["end"].notna().all()


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("compressed", [False, True])
def test_every_protocol(tmp_path: Path, protocol: int, compressed: bool) -> None:
    old = saved(tmp_path / "old", [profile(0)], {0: [None, RunMetadata(METADATA)]}, protocol)
    if compressed:
        old.write_bytes(gzip.compress(old.read_bytes()))
    converted(old, tmp_path / "new.tfvis")
    with tv.open_session(tmp_path / "new.tfvis") as session:
        assert session.signatures[["runs", "total_ns", "traces"]].iloc[0].tolist() == [4, 1_000_000, 1]
        assert len(session.read(1).events) == len(EVENTS)


def test_runs_that_differ_in_fed_values_are_one_signature(tmp_path: Path) -> None:
    feeds = "{{<tf.Tensor 'x:0' shape=() dtype=float32>: {}}}"
    profiles = [profile(run, feeds=feeds.format(run), runs=run + 1) for run in range(3)]
    converted(saved(tmp_path / "old", profiles, {}), tmp_path / "new.tfvis")
    with tv.open_session(tmp_path / "new.tfvis") as session:
        assert session.signatures[["label", "runs", "total_ns"]].to_numpy().tolist() == [
            ["train", 6, 1_500_000]
        ]


@pytest.mark.parametrize("hours", [-11, 0, 5.5, 14])
def test_the_time_zone_is_that_of_the_traces(tmp_path: Path, hours: float) -> None:
    # tftracer took the time when the run had come back, a little after its last event.
    wall = pd.Timestamp((ENDED_NS + 40_000_000) // 1000, unit="us") + pd.Timedelta(hours=hours)
    run = profile(0, first_run=(wall - pd.Timedelta(minutes=1)).to_pydatetime())
    run["traces"] = [{"trace_id": 0, "date": wall.to_pydatetime()}]
    converted(saved(tmp_path / "old", [run], {0: [RunMetadata(METADATA)]}), tmp_path / "new.tfvis")
    with tv.open_session(tmp_path / "new.tfvis") as session:
        first = session.signatures["first"].iloc[0]
    assert abs(first - pd.Timestamp(ENDED_NS) + pd.Timedelta(minutes=1)) < pd.Timedelta(seconds=1)


def test_what_cannot_be_shown_is_said(tmp_path: Path) -> None:
    kept = [None, RunMetadata(b""), RunMetadata(METADATA), RunMetadata(METADATA[:200])]
    notes = converted(saved(tmp_path / "old", [profile(0)], {0: kept}), tmp_path / "new.tfvis")
    assert notes == [
        Text("traces_not_kept", lost=1, traces=4),
        Text("traces_without_events", lost=1, traces=4),
        Text("traces_damaged", lost=1, traces=4),
    ]
    with tv.open_session(tmp_path / "new.tfvis") as session:
        assert len(session.traces) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"runs": -5},
        {"runs": 1 << 200},
        {"runs": "many"},
        {"runtimes": dt.timedelta.max},
        {"runtimes": None, "first_run": 3, "last_run": "never"},
    ],
    ids=str,
)
def test_absurd_figures_are_bounded(tmp_path: Path, change: dict[str, Any]) -> None:
    old = saved(tmp_path / "old", [profile(0, **change)], {0: [RunMetadata(METADATA)]})
    converted(old, tmp_path / "new.tfvis")
    with tv.open_session(tmp_path / "new.tfvis") as session:
        row = session.signatures.iloc[0]
        assert 0 <= row["runs"] < 1 << 62
        assert 0 <= row["total_ns"] <= 1 << 62
        assert row["traces"] == 1


def test_traces_of_runs_that_are_not_described(tmp_path: Path) -> None:
    converted(saved(tmp_path / "old", [], {7: [RunMetadata(METADATA)]}), tmp_path / "new.tfvis")
    with tv.open_session(tmp_path / "new.tfvis") as session:
        assert session.signatures[["label", "traces"]].to_numpy().tolist() == [["run 7", 1]]


def test_one_message_many_times_is_one_trace(tmp_path: Path) -> None:
    old = saved(tmp_path / "old", [profile(0)], {0: [RunMetadata(METADATA)] * 1000})
    converted(old, tmp_path / "new.tfvis")
    with tv.open_session(tmp_path / "new.tfvis") as session:
        assert len(session.traces) == 1


@pytest.mark.parametrize(
    "content", [b"", b"<!DOCTYPE html>" * 9, METADATA, pickle.dumps([1]), pickle.dumps(print)], ids=range(5)
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "old").write_bytes(content)
    with pytest.raises(tv.TraceFormatError, match="old: "):
        converted(tmp_path / "old", tmp_path / "new.tfvis")
    assert not (tmp_path / "new.tfvis").exists()


def test_cut_off_ones_are_refused(tmp_path: Path) -> None:
    whole = saved(tmp_path / "old", [profile(0)], {0: [RunMetadata(METADATA)]}).read_bytes()
    for length in [*range(1, 400, 7), len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(tv.TraceFormatError):
            converted(tmp_path / "cut", tmp_path / "new.tfvis")
        assert not (tmp_path / "new.tfvis").exists()


def recorded(path: Path, label: str, runs: int, type_: str = "") -> tuple[Writer, dict[int, Counts]]:
    """A running process with kept traces, and its counts."""
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", label, f"{label}:0{type_}"))
    for run in range(1, runs + 1):
        writer.add_trace(number, Recording("run_metadata", METADATA, run, 10**18 + run, 5_000), None)
    counts = Counts(runs, 0, runs * 5_000, 5_000, 10**18 + 1, 10**18 + runs)
    writer.count(slot, counts)
    return writer, {number: counts}


def test_one_session_is_added_to_another(tmp_path: Path) -> None:
    one, two = tmp_path / "one.tfvis", tmp_path / "two.tfvis"
    recordings = [recorded(one, "loss", 3), recorded(two, "other", 1), recorded(two, "loss", 2, " float32[]")]
    with tv.open_session(one) as session, tv.open_session(two) as other:
        other.trace_all("loss")
        session.delete(3)
        for writer, counts in recordings[:2]:
            writer.close(counts)
        add_session(session, two, 4)  # while it is being recorded
        table = session.signatures
        assert table[["label", "runs", "rule"]].to_numpy().tolist() == [["loss", 5, ""], ["other", 1, ""]]
        # 3 was a trace that may be remembered somewhere.
        assert session.traces["label"].to_dict() == {1: "loss", 2: "loss", 4: "other", 5: "loss", 6: "loss"}
        assert session.traces["process"].tolist() == [1, 1, 2, 3, 3]
        assert [len(session.read(number).events) for number in session.traces.index] == [len(EVENTS)] * 5
        assert session.processes["end"].notna().all()
        assert other.processes["end"].isna().tolist() == [False, True]
    writer, counts = recordings[2]
    writer.close(counts)


def test_what_cannot_be_added_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.tfvis"
    other = tmp_path / "two.tfvis"
    for file in (path, other):
        writer, counts = recorded(file, "loss", 1)
        writer.close(counts)
    with sqlite3.connect(other) as damaged:
        damaged.execute("DROP TABLE traces")
    damaged.close()
    with tv.open_session(path) as session:
        with raises_id(tv.TraceFormatError, "session_damaged"):
            add_session(session, other, 5)
        with pytest.raises(FileNotFoundError):
            add_session(session, tmp_path / "none.tfvis", 5)
        assert len(session.signatures) == len(session.traces) == len(session.processes) == 1
        session.delete(1)  # it is not held
