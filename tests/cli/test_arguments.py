"""What every verb has in common: help, versions, mistakes in arguments, exit codes, broken pipes."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.command import complaint, tfvis_nb
from tfvis_nb.cli import main
from tfvis_nb.cli.arguments import VERBS

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")


def test_the_entry_point_is_the_module() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        scripts = tomllib.load(file)["project"]["scripts"]
    assert scripts == {"tfvis-nb": "tfvis_nb.cli:main"}
    assert tfvis_nb("--version").stdout == f"tfvis-nb {version('tfvis-nb')}\n"


def test_reading_verbs_do_not_import_tensorflow(data: Path, tmp_path: Path) -> None:
    source, target = str(data / "local_mlp_step1.pb"), str(tmp_path / "a.html")
    code = (
        "import sys; from tfvis_nb.cli import main\n"
        f"assert main(['info', {source!r}]) == 0\n"
        f"assert main(['export', {source!r}, '-o', {target!r}]) == 0\n"
        "assert main(['completion', 'bash']) == 0\n"
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_examples_and_exit_codes(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"\nexamples:\n  tfvis-nb {verb}" in text
    assert "exit codes: 0 done, 1 failed, 2 wrong arguments" in text
    assert f"`tfvis-nb {verb}" in PAGE


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("open", "TRACE [TRACE ...]"),
        ("export", "-o FILE"),
        ("info", "TRACE [TRACE ...]"),
        ("serve", "RUN.tfvis"),
        ("run", "SCRIPT ..."),
        ("completion", "SHELL"),
    ],
)
def test_help_tells_what_has_to_be_given(verb: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    usage = " ".join(capsys.readouterr().out.partition("\n\n")[0].split())
    assert f" {given}" in usage
    assert f"[{given}" not in usage
    assert main([verb]) == 2  # the help has changed nothing


def test_help_of_serve_tells_how_it_is_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    assert "130 ended by Ctrl-C, 143 by SIGTERM" in capsys.readouterr().out


def test_help_lists_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {verb} " in shown for verb in VERBS)
    assert main([]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["opne"], "unknown verb 'opne'; did you mean 'open'?"),
        (["--verison"], "unknown option '--verison'; did you mean '--version'?"),
        (["info"], "TRACE is missing; see tfvis-nb info --help"),
        (["info", "--jsn", "x"], "unknown option '--jsn'; did you mean '--json'?"),
        (["info", "--top", "0", "x"], "argument --top: '0' is no number of rows"),
        (["export", "x.pb"], "-o FILE is missing"),
        (["export", "--titel=a", "x.pb"], "unknown option '--titel'; did you mean '--title'?"),
        (["export", "x.pb", "-o", "x.htm"], "unknown suffix '.htm'; did you mean '.html'?"),
        (["export", "x.pb", "-o", "x.pb"], "unknown suffix '.pb'"),
        (
            ["convert", "x.pb", "-o", "x.json", "--color-by", "op"],
            "--color-by is of pages, not of .json files",
        ),
        (["convert", "x.pb", "-o", "x.json", "--any-size"], "--any-size is of pages, not of .json files"),
        (["open", "x.pb", "-o", "x.json"], "'x.json' is no page"),
        (["open", "x.pb", "--group-by", "devise"], "invalid choice: 'devise' (choose from"),
        (["run"], "the script is missing"),
        (["run", "--mdoe", "session", "x.py"], "unknown option '--mdoe'; did you mean '--mode'?"),
        (["run", "-o", "x.htm", "x.py"], "unknown suffix '.htm'; did you mean '.html'?"),
        (["completion", "ksh"], "invalid choice: 'ksh'"),
        (["doctor", "now"], "unexpected argument 'now': tfvis-nb doctor takes options alone"),
        (["serve", "a.tfvis", "b"], "unexpected argument 'b': tfvis-nb serve takes RUN.tfvis alone"),
        (["export", "x.pb", "-o", "x.json", "--time-range"], "argument --time-range: expected one"),
        (["export", "x.pb", "-o", "x.json", "--time-range", "--title"], "--time-range: expected one"),
    ],
)
def test_wrong_arguments(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("tfvis-nb: ")
    assert shown.err.count("\n") == 1
    assert said in shown.err


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
    assert done.stderr == "tfvis-nb: the output cannot be written: no space left on device\n"


def test_an_output_that_is_closed_is_none(data: Path) -> None:
    shell = f"{sys.executable} -m tfvis_nb info local_mlp_step1.pb >&-"
    done = subprocess.run(["bash", "-c", shell], stderr=subprocess.PIPE, text=True, check=False, cwd=data)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_of_another_encoding(data: Path) -> None:
    done = tfvis_nb("info", data / "cpu_tf18_dist.pb.xz", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "worker 1 ? CPU:0 ? ops" in done.stdout


def test_an_error_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "two\nlines\x1b[31m"
    folder.mkdir()
    said = complaint(tfvis_nb("info", folder), 1)
    assert "\x1b" not in said


def test_two_files_of_one_export_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "step.pb", "-o", "a.json", "-o", "b.parquet"]) == 2
    assert "-o is given twice" in capsys.readouterr().err
