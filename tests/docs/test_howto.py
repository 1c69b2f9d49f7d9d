"""The guides show what commands and code give."""

import doctest
import re
import shlex
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest

from tfvis_nb.cli import main

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "howto").glob("*.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_python(page: Path) -> None:
    code = "\n".join(blocks(page, "pycon"))
    examples = doctest.DocTestParser().get_doctest(code, {}, page.stem, str(page), 0)
    failures: list[str] = []
    wide = pd.option_context("display.width", 110, "display.max_columns", 20)
    with chdir(ROOT), wide:
        doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=failures.append)
    assert not failures, "".join(failures)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_commands(page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for block in blocks(page, "console"):
        command, _, output = block.partition("\n")
        assert command.startswith("$ tfvis-nb ")
        assert main(shlex.split(command)[2:]) == 0
        printed = capsys.readouterr().out
        assert doctest.OutputChecker().check_output(output, printed, FLAGS), printed


def test_every_guide_has_python_and_a_command() -> None:
    assert len(GUIDES) >= 6
    for page in GUIDES:
        assert page.stem == "index" or (blocks(page, "pycon") and blocks(page, "console")), page
