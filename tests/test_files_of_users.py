"""Writers and deleters leave a user's files, links, pipes and folders alone, even those named like ours."""

import ast
import ctypes
import io
import os
import resource
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.run_history.runs import run_of
from tests.support.apart import apart
from tests.support.changing_calls import changing_calls
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.cli import main, run
from tfvis_nb.cli.open import page_path
from tfvis_nb.compat.tfvis_timeline import Timeline
from tfvis_nb.core.output_path import UNFINISHED
from tfvis_nb.display.pages.page import PageTooLargeError
from tfvis_nb.run_history import files as history
from tfvis_nb.session.file.schema import new_session
from tfvis_nb.texts import Text
from tfvis_nb.writing.save import save

TABLE = {
    "core/output_path.py": "`whole` and `writable`: the writers below",
    "core/temporary_folder.py": "tests/core/test_temporary_folder.py",
    "core/plain_files.py": "tests/fleet/dataset/test_foreign_files.py",
    "assistants/roots.py": "tests/assistants/test_roots.py",
    "assistants/tools.py": "a temporary folder of its own",
    "cli/skill.py": "tests/cli/test_skill.py",
    "cli/open.py": "the page that `page_path` made; the deleters below",
    "compat/tftracer_server.py": "the session that `load_session` made: tests/compat/test_tftracer_server.py",
    "fleet/dataset/compaction.py": "tests/fleet/dataset/test_compaction.py",
    "fleet/dataset/ingest.py": "tests/fleet/dataset/test_foreign_files.py",
    "fleet/dataset/own_files.py": "an intent, whose name no other file has",
    "fleet/dataset/parts.py": "folders of parts",
    "fleet/dataset/levels.py": "the file that `parts.py` gives it",
    "fleet/dataset/remote_copy.py": "a temporary folder of its own",
    "fleet/dataset/stored_parts.py": "the file that `parts.py` gives it",
    "serving/worker.py": "its standard output",
    "run_history/files.py": "the deleters below, and tests/run_history/test_files.py",
    "cli/serve.py": "a temporary folder of its own",
    "session/file/connection.py": "tests/session/test_files_beside_sessions.py",
    "session/file/copy.py": "the writers below",
    "session/file/counters.py": "tests/session/test_files_beside_sessions.py",
    "session/file/creation.py": "tests/session/test_files_beside_sessions.py",
    "session/file/database.py": "tests/session/test_files_beside_sessions.py",
    "session/file/left_files.py": "a temporary folder: tests/session/test_killed_jobs.py",
    "session/file/dead_writers.py": "tests/session/test_files_beside_sessions.py",
}
"""The modules that create, replace or delete files by themselves, and where each is tried.

Others write inside ``with whole(...)`` or ``with TemporaryDirectory(...)``, which is safe anywhere.
"""


def test_every_writer_is_in_the_table() -> None:
    package = Path(tv.__file__).parent
    calls = {
        path.relative_to(package).as_posix(): [*changing_calls(ast.parse(path.read_text("utf-8")))]
        for path in package.rglob("*.py")
    }
    assert {module: found for module, found in calls.items() if found and module not in TABLE} == {}
    assert [module for module in TABLE if not calls[module]] == []


TRACE = tv.Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}), title="mine")
MESSAGE = (DATA / "run_meta.v1").read_bytes()


def of_messages(*messages: bytes) -> tv.Trace:
    return tv.Trace(TRACE.events, sources=[*messages])


def run_cli(*words: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", io.StringIO())
        patch.setattr(sys, "stdout", io.StringIO())
        patch.setattr("tfvis_nb.recording.remote.capture.capture", lambda *_, **__: TRACE)
        if main([*words]):
            raise OSError(sys.stderr)


def save_fleet(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        TRACE.to_parquet(Path(folder, "step1.parquet"))
        tv.show_fleet(tv.open_traces(Path(folder, "step1.parquet"), Path(folder, "dataset"))).to_html(path)


def save_session(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source.tfvis")
        source.write_bytes(new_session())
        with tv.open_session(source) as session:
            session.save(path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "a.html": TRACE.to_html,
    "widget.html": lambda path: tv.TimelineWidget(TRACE).to_html(path),
    "a.json": TRACE.to_chrome_trace,
    "a.json.gz": TRACE.to_chrome_trace,
    "a.parquet": TRACE.to_parquet,
    "a.svg": TRACE.to_svg,
    "a.pb": lambda path: save(of_messages(MESSAGE), path),
    "a.pickle": lambda path: save(of_messages(MESSAGE), path),
    "tfvis.html": lambda path: Timeline.from_pickle(DATA / "pickle_tf221.pickle").visualize(path),
    "tfvis.pickle": lambda path: Timeline.from_pickle(DATA / "pickle_tf221.pickle").to_pickle(path),
    "a.pdf": TRACE.to_pdf,
    "a.png": TRACE.to_png,
    "dashboard.html": lambda path: tv.show_dashboard(TRACE).to_html(path),
    "comparison.html": lambda path: tv.show_comparison(TRACE, TRACE).to_html(path),
    "fleet.html": save_fleet,
    "export.json": lambda path: run_cli("export", str(DATA / "run_meta.v1"), "-o", str(path)),
    "captured.html": lambda path: run_cli("capture", "localhost:1", "-o", str(path)),
    "saved.tfvis": save_session,
}
"""Writers by the name of a file that they write."""

HEX = "0123456789abcdef" * 2


def crowd(folder: Path, name: str) -> None:
    """Fill a folder with things of a user that are named like temporary files and companions of a file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.txt").write_text("mine")
    (folder / f"{UNFINISHED}{HEX}").write_text("mine")
    (folder / f"{UNFINISHED}dangling").symlink_to("nowhere")
    (folder / f"{UNFINISHED}link").symlink_to("mine.txt")
    (folder / f"{name}.new-{HEX}").write_text("mine")
    (folder / f"{name}.new").symlink_to("mine.txt")
    (folder / "tfvis-nb-folder").mkdir()
    (folder / "tfvis-nb-folder/a.html").write_text("mine")
    (folder / "tfvis-nb-link").symlink_to("tfvis-nb-folder")
    os.mkfifo(folder / f"{UNFINISHED}pipe")


def contents(folder: Path) -> dict[str, tuple[int, str | bytes]]:
    """Return the kind and content of everything in a folder, without following links."""
    found: dict[str, tuple[int, str | bytes]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content: str | bytes = ""
        if stat.S_ISLNK(mode):
            content = str(path.readlink())
        elif stat.S_ISREG(mode):
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = mode, content
    return found


def put(path: Path, kind: str) -> None:
    """Put something of a user at a path."""
    elsewhere = path.parent / "tfvis-nb-folder"
    if kind == "file":
        path.write_text("old")
    elif kind == "link":
        (elsewhere / "old").write_text("old")
        path.symlink_to("tfvis-nb-folder/old")
    elif kind == "dangling link":
        path.symlink_to("tfvis-nb-folder/new")
    elif kind == "link to a folder":
        path.symlink_to("tfvis-nb-folder")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "mine.txt").write_text("mine")


@pytest.mark.parametrize("kind", ["nothing", "file", "link", "dangling link", "link to a folder", "folder"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_changes_only_the_file_it_is_given(name: str, kind: str, tmp_path: Path) -> None:
    crowd(tmp_path, name)
    put(tmp_path / name, kind)
    before = contents(tmp_path)
    written = {"nothing": name, "file": name, "link": "tfvis-nb-folder/old"}.get(kind, "tfvis-nb-folder/new")
    refused = "folder" in kind or (name == "saved.tfvis" and kind != "nothing")
    if refused:
        with pytest.raises((OSError, ValueError)):
            WRITERS[name](tmp_path / name)
    else:
        WRITERS[name](tmp_path / name)
    after = contents(tmp_path)
    if not refused:
        assert after.pop(written)[1] != before.pop(written, (0, "old"))[1]
    assert after == before


@pytest.mark.parametrize("form", ["text", "json", "junit", "markdown"])
def test_reports_are_only_printed(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd(tmp_path, "run_meta.v1")
    shutil.copy(DATA / "run_meta.v1", tmp_path)
    before = contents(tmp_path)
    monkeypatch.chdir(tmp_path)
    run_cli("check", "run_meta.v1", "--max", "ops=1000", "--format", form)
    assert contents(tmp_path) == before


def write_each(folder: Path, *, full: bool) -> list[str]:
    """Call each writer without an administrator's rights; return the writers that do not fail."""
    # Python <= 3.13 keeps the cut off .pyc of a module that is imported now: other processes then fail.
    sys.dont_write_bytecode = True
    _give_up_rights()
    if full:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    quiet = []
    for name, write in WRITERS.items():
        try:
            write(folder / name / name)
        except (OSError, ValueError, sqlite3.Error):
            continue
        quiet.append(name)
    return quiet


def _give_up_rights() -> None:
    """Take the right to ignore permissions from this process, if an administrator runs it."""
    libc = ctypes.CDLL(None)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    sets[0] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert libc.capset(header, sets) == 0


@pytest.mark.parametrize(
    ("kind", "full"),
    [
        ("file", True),
        ("read-only file", False),
        ("read-only folder", False),
        ("file in a read-only folder", False),
        ("file in a read-only folder", True),
    ],
)
def test_a_failed_write_keeps_existing_files(kind: str, full: bool, tmp_path: Path) -> None:
    for name in WRITERS:
        crowd(tmp_path / name, name)
        path = tmp_path / name / name
        if kind != "read-only folder":
            path.write_text("old")
            path.chmod(0o444 if kind == "read-only file" else 0o644)
        if "read-only folder" in kind:
            path.parent.chmod(0o555)
    before = contents(tmp_path)
    done = apart(partial(write_each, full=full), tmp_path)
    assert done.raised == ""
    after = contents(tmp_path)
    if kind == "file in a read-only folder" and not full:
        assert {*done.result} == {*WRITERS} - {"saved.tfvis"}
        for name in done.result:
            before.pop(f"{name}/{name}"), after.pop(f"{name}/{name}")
    else:
        assert done.result == []
    assert after == before


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "link to a folder", "folder", "pipe"])
def test_steps_replace_only_traces(kind: str, tmp_path: Path) -> None:
    crowd(tmp_path, "run.step1.pb")
    put(tmp_path / "run.step1.pb", kind)
    before = contents(tmp_path)
    with raises_id(ValueError, "step_in_the_way", path=str(tmp_path / "run.step1.pb")):
        save(of_messages(MESSAGE, MESSAGE), tmp_path / "run.pb")
    assert contents(tmp_path) == before
    path = tmp_path / "run.step1.pb"
    shutil.rmtree(path) if kind == "folder" else path.unlink()
    for _ in range(2):
        assert len(save(of_messages(MESSAGE, MESSAGE), tmp_path / "run.pb")) == 2


def test_a_table_in_place_of_a_page_replaces_only_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object, **__: object) -> None:
        raise PageTooLargeError("too large")

    monkeypatch.setattr(tv.Trace, "to_html", too_large)
    (tmp_path / "run.parquet").write_text("mine")
    assert Text("step_in_the_way", path=str(tmp_path / "run.parquet")) in str(
        run.write(TRACE, [tmp_path / "run.html"])
    )
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("run.parquet", "mine")]


def test_the_history_deletes_only_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = run_of("old")
    folder = tmp_path / "history"
    history.keep(folder, old)
    (own,) = folder.iterdir()
    (folder / f"{UNFINISHED}{HEX[::-1]}").write_bytes(own.read_bytes()[:20])
    crowd(folder, own.name)
    (folder / f"{HEX}.jsonl").write_text("mine")
    (folder / f"{HEX[1:]}a.jsonl").symlink_to(own)
    (folder / f"{HEX[1:]}b.jsonl").mkdir()
    os.mkfifo(folder / f"{HEX[1:]}c.jsonl")
    (folder / f"{HEX}.jsonl.damaged-1").write_text("mine")
    before = contents(folder)
    for name in (own.name, f"{UNFINISHED}{HEX[::-1]}"):
        before.pop(name)
    monkeypatch.setattr(history, "MOST_BYTES", 0)
    history.keep(folder, run_of("new"))
    assert contents(folder) == before


def test_old_pages_are_deleted_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    page = page_path("old")
    TRACE.to_html(page)
    crowd(page.parent, page.name)
    (page.parent / "mine.html").write_text("mine")
    (page.parent / "link.html").symlink_to(page)
    (page.parent / "folder.html").mkdir()
    os.mkfifo(page.parent / "pipe.html")
    before = contents(page.parent)
    for path in page.parent.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    new = page_path("new")
    after = contents(page.parent)
    assert {*before} - {*after} == {page.name}
    assert {*after} - {*before} == {new.name}
    assert all(after[name] == before[name] for name in before if name != page.name)
