"""``tfvis-nb doctor``: results here, and on machines that lack something."""

import importlib.metadata
import importlib.util
import json
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.command import tfvis_nb
from tfvis_nb.cli import doctor, main
from tfvis_nb.display import bundles
from tfvis_nb.recording.gpu import cupti
from tfvis_nb.recording.gpu.probe import Probe, parsed
from tfvis_nb.texts import Text

REFUSED = "E0000 cupti_error_manager.cc] cuptiSubscribe: error 35: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
GPU = Probe(
    version="2.21.0",
    cuda="12",
    gpus=["/physical_device:GPU:0"],
    library="/lib/libcupti.so.12",
    events=30,
    kernels=2,
)

JAX = Probe(version="0.10.2", backend="gpu", gpus=["cuda:0"], events=30, kernels=2)


@pytest.fixture(autouse=True)
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The driver's folder of a machine with one GPU, on which everybody may profile."""
    folder = tmp_path / "nvidia"
    (folder / "gpus" / "0000:01:00.0").mkdir(parents=True)
    (folder / "params").write_text("RmLogonRC: 1\nRmProfilingAdminOnly: 0\n")
    monkeypatch.setattr(cupti, "DRIVER", folder)
    return folder


def findings(found: Probe, **changes: object) -> dict[str, doctor.Check]:
    vars(changed := Probe(**vars(found))).update(changes)
    return {one.about: one for one in doctor.tensorflow(changed)}


def test_unfit_versions_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number, *needs in (
        ("pyarrow", "26.0.1"),
        ("numpy", "1.26.4"),
        ("protobuf", "5.29.6"),
        ("tfvis_nb", "9.9", "numpy>=1.26", "protobuf>=4.25", "no-package>=2", "wheel<0.1; extra == 'x'"),
        ("tensorflow", "2.15.1", "protobuf<5,>=3", "numpy<2.0.0", "wheel<0.1"),
    ):
        (tmp_path / f"{name}-{number}.dist-info").mkdir()
        lines = [f"Name: {name}", f"Version: {number}", *(f"Requires-Dist: {need}" for need in needs)]
        (tmp_path / f"{name}-{number}.dist-info" / "METADATA").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {one.found: one.mend for one in doctor.combinations()}
    expected = {
        "tfvis-nb 9.9 needs no-package>=2; installed: none": "pip install 'no-package>=2'",
        "tensorflow 2.15.1 needs protobuf<5,>=3; installed: 5.29.6": "pip install 'protobuf<5,>=3'",
        "pyarrow 26.0.1 needs numpy>=2; installed: 1.26.4": "pip install 'pyarrow<26'",
    }
    assert expected.items() <= found.items()
    assert not any("extra" in text or "wheel" in text for text in found)


@pytest.mark.thorough
@pytest.mark.tensorflow
def test_this_machine() -> None:
    done = tfvis_nb("doctor", "--json")
    found = {one["about"]: one for one in json.loads(done.stdout)}
    assert found["TensorFlow"]["figures"]["version"].startswith(version(installed_tensorflow()))
    assert found["tfvis_nb"]["figures"]["version"] == version("tfvis-nb")
    assert found["JAX"]["figures"] == {"version": version("jax"), "backend": "cpu"}
    assert found["recording JAX"]["id"] == "recording_works"
    assert done.returncode == int(not all(one["ok"] for one in found.values()))


def test_text_has_a_line_for_each_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "probe", lambda: GPU)
    monkeypatch.setattr(doctor, "probe_jax", lambda: JAX)
    code = main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert main(["doctor"]) == code
    lines = capsys.readouterr().out.splitlines()
    assert [line[:5] for line in lines if line.startswith(("ok   ", "FIX  "))] == [
        "ok   " if one["ok"] else "FIX  " for one in found
    ]


def installed_tensorflow() -> str:
    """The name of the distribution that TensorFlow is of."""
    from importlib.metadata import packages_distributions

    return packages_distributions()["tensorflow"][0]


def test_a_finding_comes_with_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "probe_jax", lambda: None)
    monkeypatch.setattr(doctor, "probe", lambda: Probe(**{**vars(GPU), "kernels": 0, "log": REFUSED}))
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (place,) = [number for number, line in enumerate(lines) if line.startswith("FIX  GPU profiling")]
    assert "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" in lines[place]
    assert lines[place + 1].startswith("     echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0'")


def test_a_gpu_that_works() -> None:
    found = findings(GPU)
    assert [*found] == ["TensorFlow", "GPU", "CUPTI", "GPU profiling"]
    assert not any(one.mend for one in found.values())


@pytest.mark.parametrize(
    ("changes", "about", "key", "figures", "mend"),
    [
        (
            {"version": "2.9.1"},
            "TensorFlow",
            "tensorflow_too_old",
            {"version": "2.9.1", "oldest": "2.15"},
            "pip install --upgrade tensorflow",
        ),
        (
            {"gpus": [], "cuda": ""},
            "GPU",
            "gpu_unseen",
            {"gpus": 1, "log": ""},
            "'tensorflow[and-cuda]'",
        ),
        (
            {"gpus": [], "log": "I0\nW0 gpu_device.cc] Cannot dlopen some GPU libraries.\nx"},
            "GPU",
            "gpu_unseen",
            {"gpus": 1, "log": ": W0 gpu_device.cc] Cannot dlopen some GPU libraries."},
            "nvidia-smi",
        ),
        (
            {"library": "", "why": "no such file"},
            "CUPTI",
            "cupti_not_opened",
            {"major": "12", "reason": "no such file"},
            "pip install nvidia-cuda-cupti-cu12",
        ),
        (
            {"kernels": 0, "log": REFUSED},
            "GPU profiling",
            "profiling_restricted",
            {"reason": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
            "modprobe.d",
        ),
        (
            {"kernels": 0, "log": "E cupti_tracer: odd"},
            "GPU profiling",
            "gpu_profiling_empty",
            {"log": ": E cupti_tracer: odd"},
            "recording.gpu.probe",
        ),
        (
            {"events": 0, "log": "a\nb: broken\n"},
            "recording",
            "process_failed",
            {"code": 0, "log": ": b: broken"},
            "recording.gpu.probe",
        ),
        (
            {"events": 0, "code": -11},
            "recording",
            "process_killed",
            {"signal": 11, "log": ""},
            "recording.gpu.probe",
        ),
        ({"events": 0, "code": None}, "recording", "process_too_slow", {}, "recording.gpu.probe"),
    ],
)
def test_missing_parts_are_listed(
    changes: dict[str, object], about: str, key: str, figures: dict[str, object], mend: str
) -> None:
    one = findings(GPU, **changes)[about]
    assert (one.found.id, one.found.figures) == (key, figures)
    assert mend in one.mend


def test_no_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Probe(code=1, log="Traceback\nImportError: libstdc++.so.6\n")
    found = findings(broken)["TensorFlow"]
    failed = Text("process_failed", code=1, log=": ImportError: libstdc++.so.6")
    assert found.found == Text("framework_not_imported", reason=failed)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    found = findings(broken)["TensorFlow"]
    assert (found.found.id, found.mend) == ("framework_absent", "")


def test_readers_need_no_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    checks = [*doctor.tensorflow(Probe(code=1)), *doctor.jax(None)]
    assert [(one.found.id, one.mend) for one in checks] == [("framework_absent", "")] * 2


def test_jax() -> None:
    def results(**changes: object) -> list[tuple[str, bool]]:
        vars(changed := Probe(**vars(JAX))).update(changes)
        return [(one.found.id, bool(one.mend)) for one in doctor.jax(changed)]

    found = ("jax_found", False)
    works = [found, ("recording_works", False)]
    assert results() == results(backend="cpu", gpus=[], kernels=0) == works
    assert results(kernels=0) == [found, ("gpu_profiling_empty", True)]
    assert results(events=0, kernels=0) == [found, ("process_failed", True)]
    assert results(version="") == [("framework_not_imported", True)]
    assert [(one.found.id, one.mend) for one in doctor.jax(None)] == [("framework_absent", "")]


def test_no_gpu_is_no_fault(driver: Path) -> None:
    (driver / "gpus" / "0000:01:00.0").rmdir()
    found = findings(GPU, gpus=[], cuda="", library="", kernels=0)
    assert not any(one.mend for one in found.values())
    assert found["GPU"].found.id == "gpu_absent"


def test_the_view_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.front_end().mend == ""
    monkeypatch.setattr(bundles, "_STATIC", tmp_path / "tfvis_nb" / "static")
    assert doctor.front_end().mend.startswith("pip install --force-reinstall --no-deps ")
    (tmp_path / "package.json").touch()
    assert doctor.front_end().mend == f"cd {tmp_path} && npm ci && npm run build"


@pytest.mark.parametrize(
    ("direct", "origin"),
    [
        (None, "tfvis-nb"),
        ({"url": "file:///home/a/tfvis_nb", "dir_info": {}}, "file:///home/a/tfvis_nb"),
        ({"url": "https://a.b/c.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}, "git+https://a.b/c.git"),
    ],
)
def test_reinstallation_has_the_same_origin(
    direct: object, origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "tfvis_nb-9.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: tfvis_nb\nVersion: 9.9\n")
    if direct is not None:
        (about / "direct_url.json").write_text(json.dumps(direct))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(bundles, "_STATIC", tmp_path / "tfvis_nb" / "static")
    assert doctor.front_end().mend == f"pip install --force-reinstall --no-deps {origin}"


def test_one_bundle_of_the_view_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    static = tmp_path / "tfvis_nb" / "static"
    shutil.copytree(bundles._STATIC, static)
    monkeypatch.setattr(bundles, "_STATIC", static)
    assert doctor.front_end().mend == ""
    (static / "dashboard.js").unlink()
    found = doctor.front_end()
    assert found.found == Text("view_not_installed", files="dashboard.js")
    assert found.mend.startswith("pip install")
    # A checkout finds its entries in its sources.
    (tmp_path / "js" / "entries").mkdir(parents=True)
    (tmp_path / "js" / "entries" / "new.ts").touch()
    (tmp_path / "package.json").touch()
    found = doctor.front_end()
    assert found.found == Text("view_not_built", files="new.js")
    assert "npm run build" in found.mend


def test_jupyterlab_without_the_widget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.jupyterlab().mend == ""
    found = doctor.jupyterlab(tmp_path)
    assert found.found.id == "lab_without_widget"
    assert found.found.figures["extensions"] == "anywidget and @jupyter-widgets/jupyterlab-manager"
    assert found.mend.startswith("pip install")
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "3.6.1")
    found = doctor.jupyterlab()
    assert found.found == Text("lab_too_old", version="3.6.1", oldest=4)
    assert found.mend == "pip install --upgrade jupyterlab"


def test_errors_quote_the_output_of_a_failed_process() -> None:
    lines = [f"tfvis_nb.recording.probe: {json.dumps({'version': v, 'code': 9})}" for v in ("", "2.21.0")]
    found = parsed("\n".join(["noise", *lines]), "log", -6)
    assert (found.version, found.code, found.log) == ("2.21.0", -6, "log")
