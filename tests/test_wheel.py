"""The wheel is all a user needs: no Node, no TensorFlow, nothing from the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.interpreters import interpreter
from tests.support.page_code import unpacked_code

REPOSITORY = Path(__file__).parent.parent
TRACE = REPOSITORY / "tests" / "data" / "local_mlp_step1.pb"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""With which a release is tried."""

EXTRAS = ["estimator", "fleet", "jax", "lab", "mcp", "nvml", "pictures", "remote", "sql", "tensorflow"]

READ_AND_WRITE = """
import sys
import importlib.util
import tfvis_nb

assert importlib.util.find_spec("tensorflow") is None
source, page = sys.argv[1:]
trace = tfvis_nb.read_trace(source)
trace.to_html(page)
print(len(trace.events))
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "version" in metafunc.fixturenames:
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        metafunc.parametrize("version", PYTHONS if metafunc.config.getoption("wheel") else [own])


@pytest.fixture(scope="module")
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given: Path | None = request.config.getoption("wheel")
    if given is not None:
        return given.absolute()
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*command, str(REPOSITORY)], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_view_and_no_sources(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    entries = sorted((REPOSITORY / "js" / "entries").glob("*.ts"))
    bundles = {f"tfvis_nb/static/{entry.stem}.js" for entry in entries}
    assert len(bundles) >= 8
    static = {name for name in names if name.startswith("tfvis_nb/static/")}
    assert static == {*bundles, "tfvis_nb/static/bundles.json"}
    # The licences of their packages require it.
    texts = {name: zipfile.ZipFile(wheel).read(name)[:200].decode() for name in bundles}
    assert [name for name, text in texts.items() if "preact: Copyright" not in text] == []
    assert "tfvis_nb/py.typed" in names
    skill = REPOSITORY / "tfvis_nb" / "skill"
    pages = {path.relative_to(REPOSITORY).as_posix() for path in skill.rglob("*.md")}
    assert len(pages) == 5
    assert {name for name in names if name.startswith("tfvis_nb/skill/")} == pages
    roots = {name.partition("/")[0] for name in names}
    assert {root for root in roots if not root.endswith((".dist-info", ".data"))} == {"tfvis_nb"}
    assert [name for name in names if name.endswith((".ts", ".tsx", ".test.js"))] == []


def test_wheel_puts_the_extensions_where_jupyter_looks(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    shared = {name.partition(".data/data/")[2]: name for name in archive.namelist() if ".data/data/" in name}
    enabled = json.loads(archive.read(shared["etc/jupyter/jupyter_server_config.d/tfvis-nb.json"]))
    (module,) = enabled["ServerApp"]["jpserver_extensions"]
    assert f"{module.replace('.', '/')}/__init__.py" in archive.namelist()
    folder = "share/jupyter/labextensions/tfvis-nb"
    built = json.loads(archive.read(shared[f"{folder}/package.json"]))["jupyterlab"]["_build"]
    code = archive.read(shared[f"{folder}/{built['load']}"]).decode()
    assert "_JUPYTERLAB" in code
    # The view lies beside it; nothing else, in particular of an earlier build, is there.
    view = built["load"].replace("remote_entry", "view")
    assert {name for name in shared if name.startswith(folder)} == {
        f"{folder}/{name}" for name in ("install.json", "package.json", built["load"], view)
    }
    # JupyterLab's extension manager shows how to uninstall it.
    assert json.loads(archive.read(shared[f"{folder}/install.json"]))["packageName"] == "tfvis-nb"
    # Nor a second time in the package.
    assert [name for name in archive.namelist() if name.startswith("tfvis_nb/labextension")] == []


def test_wheel_has_only_extras_of_users(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    extras = [line.removeprefix("Provides-Extra: ") for line in lines if line.startswith("Provides-Extra: ")]
    assert sorted(extras) == EXTRAS
    assert [line for line in lines if line.startswith("Author: ")] == ["Author: The tfvis_nb authors"]


def test_description_has_no_links_into_a_checkout(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    _, _, description = archive.read(metadata).decode().partition("\n\n")
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    headings = re.compile("^## .*$", re.MULTILINE)
    assert headings.findall(description) == headings.findall(readme)
    assert re.findall(r"\]\((?!https?:).*?\)", readme)
    assert re.findall(r"\]\((?!https?:).*?\)", description) == []


@pytest.mark.slow
@pytest.mark.parametrize("node", [None, "v18.20.0"])
def test_installation_without_node_ends_in_one_sentence(tmp_path: Path, node: str | None) -> None:
    checkout, programs = tmp_path / "checkout", tmp_path / "bin"
    for path in (checkout / "tfvis_nb", programs):
        path.mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "package.json", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, checkout)
    for name in ("node", "npm") if node else ():
        (programs / name).write_text(f"#!/bin/sh\necho {node}\n")
        (programs / name).chmod(0o755)
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index"]
    run = subprocess.run(
        [*pip, "--target", tmp_path / "target", checkout],
        env={**os.environ, "PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    output = run.stdout + run.stderr
    assert run.returncode != 0
    assert "Traceback" not in output
    (sentence,) = [line for line in output.splitlines() if "tfvis-nb: " in line]
    assert "needs Node 20.19 or later" in sentence
    assert (node or "not on the PATH") in sentence


@pytest.mark.thorough
def test_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path, version: str) -> None:
    installed = interpreter(version)
    if installed is None:
        pytest.skip(f"there is no Python {version}")
    home = tmp_path / "environment"
    subprocess.run([installed, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    no_node = {**os.environ, "PATH": str(python.parent), "PYTHONPATH": ""}
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True, env=no_node)
    page = tmp_path / "page.html"
    run = subprocess.run(
        [python, "-c", READ_AND_WRITE, TRACE, page],
        check=True,
        env=no_node,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert int(run.stdout) > 0
    text = page.read_text(encoding="utf-8")
    assert 'id="tfvis-drawn"' in text
    packed = text.split('id="tfvis-code">')[1].split("<")[0]
    code = REPOSITORY / "tfvis_nb" / "static" / "page.js"
    assert unpacked_code(packed) == code.read_text(encoding="utf-8")
    command = home / "bin" / "tfvis-nb"
    info = subprocess.run(
        [command, "info", TRACE], check=True, env=no_node, cwd=tmp_path, capture_output=True, text=True
    )
    assert info.stdout.startswith(f"{TRACE.name}: {run.stdout.strip()} events")
    pip = [str(python), "-m", "pip"]
    subprocess.run([*pip, "check"], check=True, env=no_node)
    # With JupyterLab, whose lists name both extensions.
    subprocess.run([*pip, "install", "--quiet", f"{wheel}[lab]"], check=True, env=no_node)
    subprocess.run([*pip, "check"], check=True, env=no_node)
    for words, name in ((["labextension"], "tfvis-nb"), (["server", "extension"], "tfvis_nb.file_view")):
        run = subprocess.run(
            [home / "bin" / "jupyter", *words, "list"],
            check=True,
            env=no_node,
            capture_output=True,
            text=True,
        )
        lines = (run.stdout + run.stderr).splitlines()
        assert any(name in line and "OK" in line for line in lines), lines
