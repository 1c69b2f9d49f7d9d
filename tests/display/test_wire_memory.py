"""Memory data for the front end equals the recorded data: curves, buffers, peaks."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.large_traces import answers_of, layout_of
from tests.real_traces import DATA, each, real_trace, step_stats_files, xspace_files
from tests.wire_reader import read_container, texts
from tfvis_nb.analysis import memory_peaks
from tfvis_nb.display.wire import memory as wire_memory
from tfvis_nb.display.wire.details import details
from tfvis_nb.display.wire.header import origin_ns
from tfvis_nb.display.wire.memory import memory_bytes, memory_tracks

SMALL = [path for path in [*step_stats_files(), *xspace_files()] if path.stat().st_size < 2**20]


def read(data: bytes, origin: int) -> list[dict[str, Any]]:
    """Each track with its curve and its buffers, in epoch nanoseconds, as the front end decodes it."""
    header, columns = read_container(data)
    names = texts(columns["strings_bytes"], columns["strings_offsets"])
    tracks = []
    for number, track in enumerate(header["tracks"]):
        own_columns = {
            name.removeprefix(f"track_{number}_"): values
            for name, values in columns.items()
            if name.startswith(f"track_{number}_")
        }
        gaps, start_gaps = (
            list(
                itertools.accumulate(
                    (int(gap) * track["unit"] for gap in own_columns[name]), initial=track["first"] + origin
                )
            )[1:]
            for name in ("gap", "start_gap")
        )
        buffers = [
            (names[name], int(size), start, start + int(length) * track["unit"], event - 1)
            for name, size, start, length, event in zip(
                own_columns["name"],
                own_columns["bytes"],
                start_gaps,
                own_columns["length"],
                own_columns["event"],
                strict=True,
            )
        ]
        curve = list(zip(gaps, map(int, own_columns["level"]), strict=True))
        tracks.append({**track, "curve": curve, "of": buffers})
    return tracks


@pytest.mark.parametrize("path", each(SMALL))
def test_curves_and_buffers_come_back(path: Path) -> None:
    trace = real_trace(path)
    origin = origin_ns(trace.events)
    tracks = read(memory_bytes(trace), origin)
    assert {(track["task"], track["allocator"]) for track in tracks} == set(
        trace.memory[["task", "allocator"]].itertuples(index=False, name=None)
    )
    for track in tracks:
        rows = trace.lifetimes
        rows = rows[(rows["task"] == track["task"]) & (rows["allocator"] == track["allocator"])]
        assert (rows["estimated"] == ("estimated" in track)).all()
        curve = trace.memory
        curve = curve[(curve["task"] == track["task"]) & (curve["allocator"] == track["allocator"])]
        points = curve[["time_ns", "bytes"]].itertuples(index=False, name=None)
        # Buffers that outlive their step are drawn until freed; earlier ones from the start of the profile.
        assert set(points) <= set(track["curve"])
        assert curve.empty or track["peak"] == curve["bytes"].max()
        assert (track["at"] + origin, track["peak"]) in track["curve"]
        expected = rows[["name", "bytes", "alloc_ns", "event"]].itertuples(index=False, name=None)
        assert [(name, size, start, event) for name, size, start, _, event in track["of"]] == list(expected)
        ends = [end for *_, end, _ in track["of"]]
        freed = rows["free_ns"].fillna(-1).tolist()
        assert all(end == until for end, until in zip(ends, freed, strict=True) if until >= 0)
        last = int((trace.events["start_ns"] + trace.events["duration_ns"]).max())
        assert all(end > last for end, until in zip(ends, freed, strict=True) if until < 0)
        assert track["device"] == "" or track["device"] in set(trace.lanes["device"])


def test_tracks_belong_to_their_devices(data: Path) -> None:
    tracks, _, _ = memory_tracks(real_trace(data / "gpu_tf218_function.xplane.pb.xz"))
    assert [(track["allocator"], track["device"]) for track in tracks] == [
        ("GPU_0_bfc", "/device:GPU:0"),
        ("gpu_host_bfc", "/device:CPU:0"),
    ]


def test_a_profile_starts_with_earlier_buffers(data: Path) -> None:
    trace = real_trace(data / "gpu_tf218_function.xplane.pb.xz")
    track = read(memory_bytes(trace), origin_ns(trace.events))[0]
    first = trace.lifetimes[trace.lifetimes["allocator"] == "GPU_0_bfc"].iloc[0]
    level = trace.memory.loc[trace.memory["allocator"] == "GPU_0_bfc", "bytes"].iloc[0]
    assert track["curve"][0] == (origin_ns(trace.events), level - first["bytes"])
    assert level > first["bytes"]


def test_steps_follow_one_another(data: Path) -> None:
    trace = real_trace([data / "local_mlp_step1.pb"] * 2)
    (track,) = read(memory_bytes(trace), origin_ns(trace.events))
    (alone,) = read(memory_bytes(real_trace(data / "local_mlp_step1.pb")), origin_ns(trace.events))
    # Both steps have the same times, so that at each of them twice as much is given out.
    assert track["curve"] == [(time, 2 * level) for time, level in alone["curve"]]
    assert track["peak"] == 2 * memory_peaks(trace)["peak_bytes"].max()


def test_a_part_shows_earlier_buffers(data: Path) -> None:
    trace = real_trace(data / "local_mlp_step1.pb")
    peak = int(memory_peaks(trace)["at_ns"].iloc[0])
    part = trace.between(peak, peak + 1000)
    (track,) = read(memory_bytes(part), origin_ns(part.events))
    alive = [(name, size) for name, size, start, end, _ in track["of"] if start <= peak < end]
    assert sum(size for _, size in alive) == memory_peaks(trace)["peak_bytes"].iloc[0]
    unknown = [event for *_, event in track["of"] if event < 0]
    assert unknown
    assert "gradients/logits_grad/MatMul" in dict(alive)


def test_of_very_many_the_largest_are_listed_and_all_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    origin = origin_ns(trace.events)
    every = read(memory_bytes(trace), origin)
    monkeypatch.setattr(wire_memory, "MAX_BUFFERS", 20)
    for track, whole in zip(read(memory_bytes(trace), origin), every, strict=True):
        rows = trace.lifetimes[trace.lifetimes["allocator"] == track["allocator"]]
        sizes = sorted((size for _, size, *_ in track["of"]), reverse=True)
        assert sizes == sorted(rows["bytes"], reverse=True)[:20]
        starts = [start for _, _, start, _, _ in track["of"]]
        assert starts == sorted(starts)
        assert len(track["curve"]) <= 40
        assert track["peak"] == whole["peak"] == max(level for _, level in track["curve"])
        heads = [time for time, _ in track["curve"]] + [2**63]
        for (start, shown), end in zip(track["curve"], heads[1:], strict=True):
            assert shown == max(level for time, level in whole["curve"] if start <= time < end)


def test_details_have_the_tracks_and_a_kernel_tells_them_alone(data: Path) -> None:
    trace = real_trace(data / "local_mlp_step1.pb")
    origin = origin_ns(trace.events)
    alone = read(memory_bytes(trace), origin)
    assert read(details(trace), origin) == alone
    answer, (asked,) = answers_of(layout_of(trace)).answer({"kind": "memory"})
    assert answer == {}
    assert read(asked, origin) == alone
    assert read(memory_bytes(real_trace(data / "cpu_jax.xplane.pb")), 0) == []
