"""Folders, patterns, archives: which files are read, in which order, and notes on the others."""

import contextlib
import io
import json
import lzma
import os
import shutil
import socket
import tarfile
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.mutants.attack import outcome
from tests.mutants.raw_bytes import mutant
from tests.real_traces import DATA
from tests.support.examples import examples
from tests.support.step_stats import one_op
from tests.support.texts import figures_of, raises_id
from tfvis_nb.reading.sources import files
from tfvis_nb.texts import Text, id_of

GOOD = one_op()
HOROVOD = lzma.decompress((DATA / "cpu_tf115_horovod.pb.xz").read_bytes())


def steps(folder: Path, *names: str) -> None:
    """Files whose one op starts at a time that tells their number."""
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one_op(100 - number))


def test_a_folder_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    steps(tmp_path, "step1.pb", "step2.pb", "step10.pb", "step20.pb")
    for source in (tmp_path, str(tmp_path), f"{tmp_path}/step*.pb", tmp_path / "*.pb"):
        trace = tv.read_trace(source)
        in_order = trace.events.sort_values("step")["start_ns"].tolist()
        assert in_order == [100_000, 99_000, 98_000, 97_000]
        is_folder = Path(source).is_dir()
        assert trace.title == f"4 traces: {tmp_path.name if is_folder else 'step{1,…,20}.pb'}"
        assert trace.notes == []


def test_folders_below_are_read_too(tmp_path: Path) -> None:
    steps(tmp_path, "run1/step1.pb", "run1/step2.pb", "run2/step1.pb", ".hidden/step1.pb", "run2/notes.txt")
    assert len(tv.read_trace(tmp_path).steps) == 3
    assert len(tv.read_trace(f"{tmp_path}/run*/step1.pb").steps) == 2
    assert tv.read_trace([tmp_path / "run1", f"{tmp_path}/run2/step1.pb"]).title == "3 traces: step{1,2}.pb"
    # Folders that match are read as if each were given, and so with notes.txt, but without hidden ones.
    assert len(tv.read_trace(f"{tmp_path}/run*").steps) == len(tv.read_trace(f"{tmp_path}/*").steps) == 4
    assert len(tv.read_trace(f"{tmp_path}/**/step2.pb").steps) == 1


def test_virtual_files_of_the_system_are_not_opened() -> None:
    with raises_id(tv.TraceFormatError, "system_folder"):
        tv.read_trace("/proc/self")


def test_virtual_files_below_a_folder_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps(tmp_path, "step1.pb", "system/step2.pb")
    device = tmp_path.stat().st_dev
    stat = Path.stat

    def mounted(path: Path, **options: bool) -> os.stat_result:
        found = list(stat(path, **options))
        # As if the folder were another file system, which /proc is of as well.
        found[2] = device + 1 if path in (tmp_path / "system", Path("/proc")) else found[2]
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", mounted)
    trace = tv.read_trace(tmp_path)
    assert len(trace.steps) == 1
    assert trace.notes == [Text("system_folders_left_out", folders=str(tmp_path / "system"))]


@pytest.mark.parametrize("pattern", ["", "*.pb"])
def test_pipes_and_links_to_devices_are_left_out(tmp_path: Path, pattern: str) -> None:
    steps(tmp_path, "step1.pb")
    os.mkfifo(tmp_path / "pipe.pb")
    os.mkfifo(tmp_path / "editor")
    (tmp_path / "zero.pb").symlink_to("/dev/zero")
    trace = tv.read_trace(tmp_path / pattern)
    assert len(trace.steps) == 1
    assert trace.notes == [Text("special_files_left_out", files="pipe.pb, zero.pb")]


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "link"])
def test_named_pipes_and_devices_are_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "step.pb"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
        if kind == "socket":
            server.bind(str(path))
        with raises_id(OSError, "source_no_file"):
            tv.read_trace("/dev/zero" if kind == "device" else path)


def test_a_folder_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps(tmp_path, *(f"run{number}/step.pb" for number in range(5)), ".hidden/step.pb")
    monkeypatch.setattr(files, "_MOST_SEEN", 10)
    with raises_id(tv.TraceFormatError, "folder_too_large", most=10):
        tv.read_trace(tmp_path)
    monkeypatch.setattr(files, "_MOST_SEEN", 11)
    assert len(tv.read_trace(tmp_path).steps) == 5


def test_files_that_are_no_traces_are_named(tmp_path: Path) -> None:
    steps(tmp_path, "step1.pb", "step2.pb")
    (tmp_path / "README.md").write_text("about these traces")
    (tmp_path / "broken.pb").write_bytes(GOOD[:-3])
    (tmp_path / "broken.pb.xz").write_bytes(b"\xfd7zXZ\x00 not xz")
    (tmp_path / "graph.pb").write_bytes(b"")
    (tmp_path / "keys.json").write_text('{"a": 1}')
    cut = f"broken.pb (a binary RunMetadata ends early, at byte {len(GOOD) - 3})"
    xz = "broken.pb.xz (damaged xz file of 13 bytes: Corrupt input data)"
    trace = tv.read_trace(tmp_path)
    assert len(trace.steps) == 2
    assert trace.notes == [
        Text("steps_without_events", empty=1, steps=3, names=": graph.pb"),
        Text("foreign_files_left_out", files="README.md, keys.json"),
        Text("damaged_files_left_out", files=f"{cut}, {xz}", more=""),
    ]


def test_a_folder_without_traces(tmp_path: Path) -> None:
    with raises_id(tv.TraceFormatError, "folder_without_traces"):
        tv.read_trace(tmp_path)
    (tmp_path / "a.txt").write_text("a text")
    (tmp_path / "b.pb").write_bytes(GOOD[:-3])
    (tmp_path / "c.pb").write_bytes(b"")
    with raises_id(tv.TraceFormatError, "no_file_is_trace", files=3) as caught:
        tv.read_trace(tmp_path)
    assert all(f"{name} (" in str(caught.value) for name in ("a.txt", "b.pb", "c.pb"))
    for name in ("a.txt", "b.pb"):
        (tmp_path / name).write_bytes(b"")
    with raises_id(tv.EmptyTraceError, "no_file_is_trace", files=3):
        tv.read_trace(tmp_path)


def test_files_of_different_runs_are_named(tmp_path: Path, data: Path) -> None:
    steps(tmp_path, "step1.pb", "step2.pb")
    assert tv.read_trace(tmp_path).notes == []
    files = [tmp_path / "step1.pb", data / "cpu_tf221_keras_fit.xplane.pb.xz"]
    (note,) = (note for note in tv.read_trace(files).notes if id_of(note) == "unlike_runs")
    assert "step 0 of jobs of a cluster" in note
    assert "steps 1 to" in note


@pytest.mark.parametrize(
    ("programs", "count"),
    [(["ab", "bc", "a"], 0), (["ab", "cd"], 2), (["a", "b", "a", "c"], 3), (["ab", "cd", "bc"], 0)],
)
def test_unrelated_runs_in_a_folder_are_noted(tmp_path: Path, programs: list[str], count: int) -> None:
    for number, names in enumerate(programs):
        bars = [
            {"ph": "X", "cat": "Op", "name": name, "pid": 1, "ts": 1000 * number + at, "dur": 5}
            | {"args": {"name": name, "op": "MatMul"}}
            for at, name in enumerate(names)
        ]
        process = {"ph": "M", "name": "process_name", "pid": 1}
        named = process | {"args": {"name": "/job:localhost/replica:0/task:0/device:CPU:0 Compute"}}
        (tmp_path / f"run{number}.json").write_text(json.dumps({"traceEvents": [named, *bars]}))
    notes = figures_of(tv.read_trace(tmp_path).notes, "unlike_programs")
    assert [note["programs"] for note in notes] == ([count] if count else [])


def test_simultaneous_runs_of_local_sessions_are_noted(tmp_path: Path) -> None:
    text = """dev_stats {{ device: "/job:localhost/replica:0/task:0/cpu:0" node_stats {{
        node_name: "a" timeline_label: "a = Const()" all_start_micros: {start} all_end_rel_micros: 9 }} }}"""
    files = []
    for name, start in (("one", 1000), ("apart", 1009), ("other", 1004)):
        files.append(tmp_path / f"{name}.pbtxt")
        files[-1].write_text(text.format(start=start))
    trace = tv.read_trace([files[0], files[2]])
    assert figures_of(trace.notes, "simultaneous_steps") == [{"one": "one", "other": "other"}]
    assert set(trace.events["task"]) == {"/job:localhost/replica:0/task:0"}
    # As the note advises, the files' names identify their processes.
    ranks = [file.rename(tmp_path / f"rank{rank}.pbtxt") for rank, file in enumerate(files[::2])]
    merged = tv.read_trace(ranks)
    assert set(merged.events["task"]) == {f"/job:worker/replica:0/task:{rank}" for rank in (0, 1)}
    assert not figures_of(merged.notes, "simultaneous_steps")
    # One that begins when the other ends is the next step.
    assert not figures_of(tv.read_trace([ranks[0], files[1]]).notes, "simultaneous_steps")


def test_large_files_that_are_not_named_like_traces_are_not_read(tmp_path: Path) -> None:
    steps(tmp_path, "step1.pb")
    with (tmp_path / "model.ckpt.data-00000-of-00001").open("wb") as file:
        file.truncate(1 << 40)
    trace = tv.read_trace(tmp_path)
    assert len(trace.steps) == 1
    assert trace.notes == [Text("large_files_left_out", files="model.ckpt.data-00000-of-00001")]


def test_a_sparse_file_costs_only_itself(tmp_path: Path) -> None:
    shutil.copyfile(DATA / "local_mlp_step1.pb", tmp_path / "step1.pb")
    huge = tmp_path / "step2.pb"
    with huge.open("wb") as file:
        file.truncate(1 << 43)
    trace = tv.read_trace(tmp_path)
    assert trace.events.equals(tv.read_trace(DATA / "local_mlp_step1.pb").events)
    assert [id_of(note) for note in trace.notes] == ["damaged_files_left_out"]
    assert "step2.pb (there is not enough memory to read it)" in trace.notes[0]
    with raises_id(tv.TraceFormatError, "no_memory", label=str(huge)):
        tv.read_trace(huge)


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    with raises_id(FileNotFoundError, "pattern_without_files"):
        tv.read_trace(tmp_path / "*.pb")


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    steps(tmp_path, "step[1].pb")
    assert len(tv.read_trace(tmp_path / "step[1].pb").steps) == 1


def profile(folder: Path, run: str, *hosts: str) -> None:
    for host, name in zip(hosts, ("cpu_jax.xplane.pb", "cpu_jax.xplane.pb"), strict=False):
        path = folder / "plugins" / "profile" / run / f"{host}.xplane.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(DATA / name, path)


def test_the_newest_profile_of_a_log_folder(tmp_path: Path) -> None:
    expected = tv.read_trace(DATA / "cpu_jax.xplane.pb")
    logs = tmp_path / "logs"
    profile(logs, "2026_01_09_00_00_00", "host")
    (logs / "plugins/profile/2026_01_09_00_00_00/host.xplane.pb").write_bytes(b"an old and broken one")
    profile(logs, "2026_01_10_00_00_00", "host")
    newest = logs / "plugins/profile/2026_01_10_00_00_00"
    (newest / "host.overview_page.pb").write_bytes(b"derived of the profile")
    beside = Text("profile_files_left_out", files="host.overview_page.pb")
    said = Text("newest_profile_read", profiles=2, newest="2026_01_10_00_00_00", others="2026_01_09_00_00_00")
    for source in (logs, tmp_path, logs / "plugins", logs / "plugins/profile"):
        trace = tv.read_trace(source)
        assert len(trace.events) == len(expected.events)
        assert {said, beside} <= set(trace.notes)
    alone = tv.read_trace(newest)
    assert len(alone.events) == len(expected.events)
    assert beside in alone.notes
    assert said not in alone.notes


def test_what_lies_beside_a_profile_is_read_too(tmp_path: Path) -> None:
    profile(tmp_path, "2026_01_09_00_00_00", "host")
    profile(tmp_path, "2026_01_10_00_00_00", "host")
    (tmp_path / "a_broken.pb").write_bytes(GOOD[:-3])
    steps(tmp_path, "step1.pb", "step2.pb")
    trace = tv.read_trace(tmp_path)
    assert trace.steps["label"].tolist().count("step1") == 1
    assert len(trace.events) == 2 + len(tv.read_trace(DATA / "cpu_jax.xplane.pb").events)
    assert any(id_of(note) == "damaged_files_left_out" for note in trace.notes)
    assert any(id_of(note) == "newest_profile_read" for note in trace.notes)


def test_a_folder_with_profiles_and_other_traces_is_read_whole(tmp_path: Path) -> None:
    steps(tmp_path, "step1.pb", "step2.pb")
    for name in ("cpu_jax.xplane.pb", "gpu_tf218_function.xplane.pb.xz"):
        shutil.copy(DATA / name, tmp_path)
    (tmp_path / "README.md").write_text("about these traces")
    trace = tv.read_trace(tmp_path)
    assert trace.events.equals(tv.read_trace(f"{tmp_path}/*").events)
    labels = trace.steps["label"].tolist()
    assert {"step1", "step2", "train 4"} <= set(labels)
    assert Text("foreign_files_left_out", files="README.md") in trace.notes


@pytest.mark.parametrize("apart", [0, 500_000_000, 60_000_000_000])
def test_ranks_that_ran_apart_are_not_merged(tmp_path: Path, apart: int) -> None:
    one = tv.read_trace(HOROVOD)
    one.to_parquet(tmp_path / "rank0.parquet")
    later = one.events.assign(start_ns=one.events["start_ns"] + apart)
    tv.Trace(later).to_parquet(tmp_path / "rank1.parquet")
    trace = tv.read_trace(tmp_path)
    tasks, steps = trace.events["task"].nunique(), len(trace.steps[trace.steps["step"] >= 0])
    assert (tasks, steps) == ((2, 1) if apart < 10**9 else (1, 2))
    noted = [note for note in trace.notes if id_of(note) == "ranks_apart"]
    assert len(noted) == (apart >= 10**9)


def test_ranks_are_tasks_of_the_same_step(tmp_path: Path) -> None:
    one = tv.read_trace(HOROVOD)
    for step in (2, 10):
        for rank in (0, 1):
            (tmp_path / f"hvd_rank{rank}_step{step}.pb").write_bytes(HOROVOD)
    trace = tv.read_trace(tmp_path)
    assert trace.steps["events"].tolist() == [2 * len(one.events)] * 2
    assert set(trace.events["task"]) == {f"/job:worker/replica:0/task:{rank}" for rank in (0, 1)}
    assert len(trace.graphs) == 2
    assert sum(id_of(note) == "ranks_named" for note in trace.notes) == 1
    assert len(trace.lanes) == 2 * len(one.lanes)
    alone = tv.read_trace(f"{tmp_path}/hvd_rank1_*.pb")
    assert set(alone.events["task"]) == {"/job:localhost/replica:0/task:0"}


def archive(members: dict[str, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("link.pb")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return packed.getvalue()


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("pack", [bytes, lzma.compress])
def test_archives_are_read_in_memory(form: int, pack: type[bytes], tmp_path: Path) -> None:
    long = "x" * 90 + "/" + "y" * 90 + "step30.pb"
    content = {"step2.pb": one_op(2), "step10.pb": lzma.compress(one_op(10)), long: one_op(30)}
    content |= {"../../escaped.pb": one_op(1), "notes.txt": b"a text"}
    path = tmp_path / "inside" / "steps.tar.xz"
    path.parent.mkdir()
    path.write_bytes(pack(archive(content, form)))
    trace = tv.read_trace(path)
    assert trace.events.sort_values("step")["start_ns"].tolist() == [1000, 2000, 10_000, 30_000]
    assert trace.notes == [Text("foreign_files_left_out", files="steps.tar.xz: notes.txt")]
    assert [found.name for found in tmp_path.rglob("*")] == ["inside", "steps.tar.xz"]
    assert tv.read_trace(path.read_bytes()).events.equals(trace.events)
    assert (trace.title, tv.read_trace(str(path)).title) == ("steps.tar.xz", "steps.tar.xz")
    assert tv.read_trace(path.read_bytes()).title.startswith("4 traces: ")


def test_damaged_archives() -> None:
    good = archive({"a.pb": GOOD, "b.pb": GOOD})
    with raises_id(tv.TraceFormatError, "tar_damaged", byte=1024):
        tv.read_trace(good[:1024] + b"?" + good[1025:])
    with raises_id(tv.TraceFormatError, "tar_cut_off", byte=1024):
        tv.read_trace(good[: 1024 + 512 + 5])
    with raises_id(tv.TraceFormatError, "tar_empty"):
        tv.read_trace(archive({}))


def test_a_member_that_claims_to_be_huge() -> None:
    good = bytearray(archive({"a.pb": GOOD}))
    good[124:136] = b"\x80" + (1 << 80).to_bytes(11, "big")
    good[148:156] = b" " * 8
    good[148:156] = b"%06o\0 " % sum(good[:512])
    with raises_id(tv.TraceFormatError, "tar_cut_off", byte=0, size=1 << 80):
        tv.read_trace(bytes(good))


@pytest.mark.slow
def test_any_damage_to_an_archive() -> None:
    good = archive({"a.pb": GOOD, "x" * 150: GOOD}, tarfile.PAX_FORMAT)
    outcomes = {outcome(mutant(good, GOOD, seed)) for seed in range(examples(300))}
    assert outcomes <= {"a sound trace", "TraceFormatError", "EmptyTraceError"}


@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_the_slow_steps_of_sixty(shared: Path) -> None:
    trace = tv.read_trace(shared / "h200" / "mlp_60steps.tar.xz")
    assert len(trace.steps) == 60
    kernels = trace.events[trace.events["kind"] == "kernel"]
    busy = kernels.groupby("step")["duration_ns"].sum()
    assert set(busy.nlargest(3).index) == {13, 33, 53}
