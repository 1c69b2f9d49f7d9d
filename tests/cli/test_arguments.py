"""What every verb has in common: help, versions, mistakes in arguments, exit codes, broken pipes."""

import errno
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.command import complaint, tfvis_nb
from tfvis_nb.cli import main
from tfvis_nb.cli.verb import EXIT_CODES, VERBS
from tfvis_nb.texts import Text

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")


def test_the_entry_point_is_the_module() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        scripts = tomllib.load(file)["project"]["scripts"]
    assert scripts == {"tfvis-nb": "tfvis_nb.__main__:main"}
    assert tfvis_nb("--version").stdout == f"tfvis-nb {version('tfvis-nb')}\n"


def test_reading_verbs_do_not_import_tensorflow(data: Path, tmp_path: Path) -> None:
    source, target = str(data / "local_mlp_step1.pb"), str(tmp_path / "a.html")
    code = (
        "import sys; from tfvis_nb.cli import main\n"
        f"assert main(['info', {source!r}]) == 0\n"
        f"assert main(['export', {source!r}, '-o', {target!r}]) == 0\n"
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["opne"], ["completion", "bash"]])
def test_the_list_of_verbs_imports_nothing_heavy(words: list[str]) -> None:
    code = (
        f"import sys; from tfvis_nb.cli import main; main({words!r})\n"
        "assert not {'numpy', 'pandas', 'pyarrow', 'tensorflow', 'tornado'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_examples_and_exit_codes(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.partition("\n")[0].split()[1:3] == ["tfvis-nb", verb]
    assert f"\n    tfvis-nb {verb.replace('convert', 'export')}" in text
    assert EXIT_CODES in text
    assert f"`tfvis-nb {verb}" in PAGE
    assert main([verb, "-h"]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("verb", "required"),
    [
        ("open", "TRACE..."),
        ("export", "TRACE..."),
        ("info", "TRACE..."),
        ("serve", "RUN.tfvis"),
        ("run", "SCRIPT"),
        ("completion", "{bash|zsh|fish}"),
    ],
)
def test_help_names_the_required_arguments(
    verb: str, required: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    usage = capsys.readouterr().out.partition("\n\n")[0]
    assert required in usage.split()
    assert main([verb]) == 2


def test_help_of_serve_has_the_codes_of_signals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    codes = " ".join(capsys.readouterr().out.split()).partition(EXIT_CODES)[2]
    assert re.findall(r"\d+", codes) == ["130", "143"]


def test_help_lists_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {verb} " in shown for verb in VERBS)
    assert main([]) == 2
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["opne"], ["'opne'", "'open'", "completion", "tfvis-nb --help"]),
        (["--verison"], ["--verison", "--version", "tfvis-nb --help"]),
        (["info"], ["TRACE", "tfvis-nb info --help"]),
        (["info", "--jsn", "x"], ["--jsn", "--json"]),
        (["info", "--top", "0", "x"], ["--top", "0"]),
        (["export", "x.pb"], ["-o"]),
        (["export", "--titel=a", "x.pb"], ["--titel", "--title"]),
        (["export", "x.pb", "-o", "x.htm"], ["'.htm'", "'.html'"]),
        (["export", "x.pb", "-o", "x.csv"], ["'.csv'", ".parquet"]),
        (["convert", "x.pb", "-o", "x.json", "--color-by", "op"], ["--color-by", ".json"]),
        (
            ["convert", "x.pb", "-o", "x.json", "--any-size"],
            ["--any-size", ".json", "convert --help"],
        ),
        (["export", "x.pb", "-o", "a.json", "-o", "b.parquet", "--any-size"], ["--any-size", ".json"]),
        (["export", "x.pb", "-o", "a.html", "--no-arrows"], ["--no-arrows", ".html"]),
        (["open", "x.pb", "-o", "x.json"], ["'x.json'", ".html"]),
        (["open", "x.pb", "--group-by", "devise"], ["--group-by", "'devise'", "'device'"]),
        (["run"], ["SCRIPT"]),
        (["run", "--mdoe", "session", "x.py"], ["--mdoe", "--mode"]),
        (["run", "-o", "x.htm", "x.py"], ["'.htm'", "'.html'"]),
        (["completion", "ksh"], ["'ksh'", "'bash'", "'zsh'", "'fish'"]),
        (["doctor", "now"], ["now"]),
        (["serve", "a.tfvis", "b"], ["b"]),
        (["export", "x.pb", "-o", "x.json", "--time-range"], ["--time-range"]),
    ],
)
def test_wrong_arguments(words: list[str], named: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("tfvis-nb: ")
    assert shown.err.count("\n") == 1
    assert [name for name in named if name not in shown.err] == []


@pytest.mark.thorough
def test_who_reads_no_further_ends_it_quietly(data: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m tfvis_nb info --json {data}/gpu_tf221_mlp.pb.xz"
    shell = f"set -o pipefail; {command} | true"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.parametrize("words", [["info", "local_mlp_step1.pb"], ["completion", "bash"], ["--help"]])
def test_an_output_that_is_full_is_one_line(words: list[str], data: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tfvis_nb", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=data,
        )
    assert done.returncode == 1
    assert done.stderr == f"tfvis-nb: {Text('output_unwritable', reason=os.strerror(errno.ENOSPC).lower())}\n"


def test_an_output_that_is_closed_is_none(data: Path) -> None:
    shell = f"{sys.executable} -m tfvis_nb info local_mlp_step1.pb >&-"
    done = subprocess.run(["bash", "-c", shell], stderr=subprocess.PIPE, text=True, check=False, cwd=data)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_of_another_encoding(data: Path) -> None:
    done = tfvis_nb("info", data / "cpu_tf18_dist.pb.xz", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "worker 1 ? CPU:0 ? ops" in done.stdout


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ('raise ImportError("pyarrow requires\\nNumPy 2.0")', "ImportError: pyarrow requires NumPy 2.0"),
        ('open("no/such/file")', "FileNotFoundError: [Errno 2] No such file or directory: 'no/such/file'"),
        ("raise AssertionError", "AssertionError"),
    ],
)
def test_unexpected_error_is_one_line(code: str, named: str, data: Path, tmp_path: Path) -> None:
    broken = tmp_path / "pyarrow.py"
    broken.write_text(code)
    words, path = ("info", data / "local_mlp_step1.pb"), os.pathsep.join([str(tmp_path), *sys.path])
    said = complaint(tfvis_nb(*words, PYTHONPATH=path), 1)
    assert said == Text("unexpected_error", error=named, file=str(broken), line=1)
    developing = tfvis_nb(*words, PYTHONPATH=path, PYTHONDEVMODE="1")
    assert developing.stderr.startswith("Traceback")


def test_an_error_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "two\nlines\x1b[31m"
    folder.mkdir()
    said = complaint(tfvis_nb("info", folder), 1)
    assert "\x1b" not in said


INTERRUPTED = """
import signal, sys
from tfvis_nb.__main__ import main
{at}
sys.argv[1:] = ["run", {script!r}]
sys.exit(main())
"""
WHILE_IMPORTING = """
class Interrupting:
    def find_spec(self, name, *_):
        if name == "click":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
"""
WHILE_ENDING = """
from tfvis_nb.cli import run
run.ScriptTrace.end = lambda self, failure: signal.raise_signal(signal.SIGINT)
"""


@pytest.mark.parametrize(("at", "said"), [(WHILE_IMPORTING, ""), (WHILE_ENDING, "interrupted_again")])
def test_an_interrupt_at_any_time_shows_no_traceback(at: str, said: str, tmp_path: Path) -> None:
    script = tmp_path / "idle.py"
    script.write_text("")
    program = INTERRUPTED.format(at=at, script=str(script))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    expected = f"tfvis-nb: {script}: {Text(said)}\n" if said else ""
    assert (done.returncode, done.stderr) == (130, expected)
