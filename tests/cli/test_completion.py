"""``tfvis-nb completion``: bash takes it and completes with it; no verb and no option is left out."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tfvis_nb.cli import main
from tfvis_nb.cli.arguments import SHELLS, VERBS, parser_of
from tfvis_nb.cli.completion import script_of


def completed(line: str) -> list[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    asked = " ".join(f"'{word}'" for word in words)
    script = (
        f"{script_of('bash')}\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}\n"
        '_tfvis_nb; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("tfvis-nb e", ["export"]),
        ("tfvis-nb --v", ["--version"]),
        ("tfvis-nb export --time", ["--time-range"]),
        ("tfvis-nb export --color-by ", ["kind", "op", "device"]),
        ("tfvis-nb run --mode s", ["session"]),
        ("tfvis-nb completion ", [*SHELLS]),
        ("tfvis-nb info step", []),
    ],
)
def test_bash_completes(line: str, offered: list[str]) -> None:
    assert completed(line) == offered


@pytest.mark.parametrize("shell", SHELLS)
def test_everything_is_in_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for verb in VERBS:
        assert verb in text
        for action in parser_of(verb).actions:
            for name in action.option_strings:
                in_fish = f"-l {name[2:]} " if name.startswith("--") else f"-s {name[1:]} "
                assert (in_fish if shell == "fish" else name) in text
    assert "%(" not in text


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_the_shell_takes_it(shell: str) -> None:
    subprocess.run([shell, "-n"], input=script_of(shell), text=True, check=True, capture_output=True)


def test_quotes_and_blocks_end_for_zsh() -> None:
    # They are written as bash's are, which is always there.
    subprocess.run(["bash", "-n"], input=script_of("zsh"), text=True, check=True, capture_output=True)
