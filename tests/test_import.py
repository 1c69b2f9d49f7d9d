"""What importing costs: no TensorFlow, JAX or library of the widget's, until they are used."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.session_files import filled

HEAVY = {"tensorflow", "jax", "bokeh", "anywidget", "ipywidgets", "IPython", "mcp", "pydantic", "duckdb"}

LOADED = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


@cache
def modules_after(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_import_loads_nothing_heavy() -> None:
    loaded = modules_after("import tfvis_nb\ntfvis_nb.analysis.memory_peaks")
    assert "tfvis_nb" in loaded
    assert loaded & HEAVY == set()


def test_listed_names_are_public() -> None:
    assert dir(tv) == sorted(tv.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("unwanted", ["tensorflow", "jax", "bokeh"])
def test_loading_the_extension_loads_no(unwanted: str) -> None:
    loaded = modules_after(
        "from IPython.testing.globalipapp import start_ipython\n"
        "start_ipython().run_line_magic('load_ext', 'tfvis_nb')"
    )
    assert {"tfvis_nb", "IPython"} <= loaded
    assert unwanted not in loaded


READERS = [
    ("tv.read_trace(data / 'local_mlp_step1.pb').edges", HEAVY),
    ("tv.Timeline.from_pickle(data / 'pickle_tf221.pickle').visualize()", {"tensorflow", "jax"}),
    ("with tv.open_session(folder / 'a.tfvis') as session: session.signatures; session.read(1)", HEAVY),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("code", "unwanted"), READERS)
def test_reading_loads_nothing_heavy(code: str, unwanted: set[str], tmp_path: Path) -> None:
    filled(tmp_path / "a.tfvis")
    names = f"data, folder = map(Path, {(str(DATA), str(tmp_path))!r})"
    loaded = modules_after(f"from pathlib import Path; import tfvis_nb as tv; {names}\n{code}")
    assert loaded & unwanted == set()


WITHOUT_POSIX = """
import builtins, importlib, os, pkgutil, signal, sys, types

ABSENT = {
    "os": (
        "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH SEEK_DATA SEEK_HOLE chown fchmod fork geteuid"
        " getuid killpg mkfifo pread pwrite register_at_fork sched_getaffinity setsid statvfs sysconf uname"
    ),
    "signal": "SIGHUP SIGKILL SIGUSR1 pthread_sigmask",
}
stripped = {}
for module in (os, signal):
    copy = stripped[module.__name__] = types.ModuleType(module.__name__)
    absent = ABSENT[module.__name__].split()
    vars(copy).update((name, value) for name, value in vars(module).items() if name not in absent)
stripped["os"].supports_dir_fd = set()
originally = builtins.__import__

def imported(name, globals=None, *rest, **more):
    if (globals or {}).get("__name__", "").startswith("tfvis_nb"):
        if name in ("fcntl", "grp", "pwd", "resource", "termios"):
            raise ImportError(name)
        if name in stripped:
            return stripped[name]
    return originally(name, globals, *rest, **more)

builtins.__import__ = imported
"""
"""What Windows lacks, for this package alone."""

USES = """
from pathlib import Path
import tfvis_nb as tv
from tfvis_nb.cli import main
from tfvis_nb.core.folder_lock import locked_folder
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import text_of

for module in pkgutil.walk_packages(tv.__path__, "tfvis_nb."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
data, folder = map(Path, sys.argv[1:])
trace = tv.read_trace(data / "local_mlp_step1.pb")
trace.to_html(folder / "page.html")
assert main(["info", str(data / "local_mlp_step1.pb")]) == 0
for _ in range(2):
    TemporaryFolder()  # also removes earlier ones
with locked_folder(folder) as locked:
    assert not locked
with tv.open_session(folder / "a.tfvis") as session:
    session.save(folder / "copy.tfvis")
try:
    Writer(folder / "new.tfvis", None)
except OSError as error:
    print(text_of(error).id, *sorted(path.name for path in folder.iterdir()))
"""


@pytest.mark.slow
def test_reading_needs_no_posix(tmp_path: Path) -> None:
    filled(tmp_path / "a.tfvis")
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX + USES, str(DATA), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "sessions_on_unix_only a.tfvis copy.tfvis page.html"
