"""Why a GPU's rows are missing: the library and the permission, and the note of a recording."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tfvis_nb.recording.gpu import cupti
from tfvis_nb.texts import id_of

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
NORMAL = "Name:\tpython\nCapEff:\t0000000000000000\n"
ADMINISTRATOR = "CapEff:\t000001ffffffffff\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose driver lets only administrators profile, and a user who is none."""
    (tmp_path / "params").write_text("RmProfilingAdminOnly: 1\n")
    (tmp_path / "status").write_text(NORMAL)
    (tmp_path / "maps").write_text("7f00-7f01 r-xp 0 08:01 5   /usr/lib/libc.so.6\n")
    monkeypatch.setattr(cupti, "DRIVER", tmp_path)
    monkeypatch.setattr(cupti, "_STATUS", tmp_path / "status")
    monkeypatch.setattr(cupti, "_MAPS", tmp_path / "maps")
    return tmp_path


def test_who_may_profile(machine: Path) -> None:
    fault = cupti.restricted()
    assert fault is not None
    assert fault.what.id == "profiling_restricted"
    assert "RmProfilingAdminOnly" in fault.what.figures["reason"]
    (machine / "status").write_text(ADMINISTRATOR)
    assert cupti.restricted() is None
    (machine / "status").write_text(NORMAL)
    (machine / "params").write_text("RmProfilingAdminOnly: 0\n")
    assert cupti.restricted() is None
    (machine / "params").unlink()
    assert cupti.restricted() is None


def test_gpus_are_counted(machine: Path) -> None:
    assert cupti.gpus() == 0
    for name in ("a", "b"):
        (machine / "gpus" / name).mkdir(parents=True)
    assert cupti.gpus() == 2


def test_the_library_that_is_open(machine: Path) -> None:
    path, why = cupti.library("99")
    assert path is None
    assert "libcupti.so.99" in why
    with (machine / "maps").open("a") as file:
        file.write("7f02-7f03 r-xp 0 08:01 9   /opt/nvidia/libcupti.so.2024.1.0\n")
    assert cupti.library("99") == (Path("/opt/nvidia/libcupti.so.2024.1.0"), "")


def test_the_library_beside_tensorflow(machine: Path) -> None:
    folder = machine / "nvidia" / "cuda_cupti" / "lib"
    folder.mkdir(parents=True)
    (folder / "empty.c").write_text("int nothing;")
    library = folder / "libcupti.so.98"
    subprocess.run(["cc", "-shared", "-o", library, folder / "empty.c"], check=True)
    code = f"import sys; sys.path.insert(0, {str(machine)!r})\nfrom tfvis_nb.recording.gpu import cupti\n"
    code += "print(*cupti.library('98'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(library)


def test_what_mends_a_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupti, "_TOOLKITS", ())
    assert cupti.missing("12", "").mend == "pip install nvidia-cuda-cupti-cu12"
    assert cupti.missing("13", "").mend == "pip install nvidia-cuda-cupti"
    (tmp_path / "libcupti.so.12").touch()
    monkeypatch.setattr(cupti, "_TOOLKITS", (str(tmp_path),))
    assert cupti.missing("12", "").mend == f"export LD_LIBRARY_PATH={tmp_path}:$LD_LIBRARY_PATH"


@pytest.mark.tensorflow
def test_the_note_names_the_fault(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupti, "cuda_major", lambda: "99")
    note = cupti.note_of({"op"}, {GPU})
    assert note is not None
    assert id_of(note) == "gpu_rows_missing"
    assert note.figures["fault"][1] == "pip install nvidia-cuda-cupti"
    monkeypatch.setattr(cupti, "library", lambda _: (machine, ""))
    note = cupti.note_of({"op"}, {GPU})
    assert note is not None
    assert note.figures["fault"][0].id == "profiling_restricted"
    assert cupti.note_of({"op", "kernel"}, {GPU}) is None
    (machine / "params").unlink()
    assert cupti.note_of({"op"}, {GPU}) is None


@pytest.mark.tensorflow
@pytest.mark.parametrize("level", ["full", "software"])
def test_a_recording_has_the_note(
    level: str, machine: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.is_dir()
    monkeypatch.setattr(cupti, "_eager_gpus", lambda: True)
    monkeypatch.setattr(cupti, "cuda_major", lambda: "99")
    with tv.trace(level=level) as t:  # type: ignore[arg-type]
        session.run("loss:0")
    # Without a GPU's level, none of its rows were asked for.
    assert any(id_of(note) == "gpu_rows_missing" for note in t.notes) == (level == "full")
    assert t.findings["id"].tolist().count("missing_kernels.recording") == (level == "full")


@pytest.mark.tensorflow
def test_a_tensorflow_without_cuda_has_no_fault(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.is_dir()
    monkeypatch.setattr(cupti, "cuda_major", lambda: "")
    assert cupti.note_of({"op"}, {GPU}) is None
