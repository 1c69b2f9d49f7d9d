"""Completion: suggestions for a shell, and shells that accept the script."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import click
import pytest

from tests.cli.command import tfvis_nb_here
from tfvis_nb.cli import group, main
from tfvis_nb.cli.verb import VERBS

SHELLS = ("bash", "zsh", "fish")


def offered(line: str) -> list[str]:
    """Return the suggestions for the last word of a line, each with its type."""
    place = str(len(line.split(" ")) - 1)
    asked = {"COMP_WORDS": line, "COMP_CWORD": place, "_TFVIS_NB_COMPLETE": "bash_complete"}
    with patch.dict(os.environ, asked):
        done = tfvis_nb_here(cwd=Path.cwd())
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tfvis-nb e", ["plain,export"]),
        ("tfvis-nb --v", ["plain,--version"]),
        ("tfvis-nb export --time", ["plain,--time-range"]),
        ("tfvis-nb open --no-s", ["plain,--no-source"]),
        ("tfvis-nb export --color-by ", ["plain,kind", "plain,op", "plain,device"]),
        ("tfvis-nb run --mode s", ["plain,session"]),
        ("tfvis-nb completion ", [f"plain,{shell}" for shell in SHELLS]),
        ("tfvis-nb info step", ["file,step"]),
    ],
)
def test_offered_completions(line: str, words: list[str]) -> None:
    assert offered(line) == words


def test_every_verb_and_option_is_offered() -> None:
    assert offered("tfvis-nb ") == [f"plain,{verb}" for verb in VERBS]
    for verb in VERBS:
        command = group.get_command(click.Context(group), verb)
        assert command is not None
        long = [
            name
            for option in command.params
            if isinstance(option, click.Option)
            for name in option.opts
            if name.startswith("--")
        ]
        assert offered(f"tfvis-nb {verb} --") == [f"plain,{name}" for name in [*long, "--help"]]


def test_bash_completes_with_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    command = tmp_path / "tfvis-nb"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tfvis_nb "$@"\n')
    command.chmod(0o755)
    script += (
        "COMP_WORDS=(tfvis-nb export --color-by ''); COMP_CWORD=3; _tfvis_nb_completion tfvis-nb\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.stdout.split() == ["kind", "op", "device"]


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_the_shell_takes_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    subprocess.run([shell, "-n"], input=capsys.readouterr().out, text=True, check=True, capture_output=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"_TFVIS_NB_COMPLETE={shell}_complete" in capsys.readouterr().out
