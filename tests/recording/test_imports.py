"""Noticing imports, as of a framework in a cell."""

import importlib
from pathlib import Path

import pytest

from tfvis_nb.recording.imports import Imports

NAME = "tfvis_nb_a_framework"


def test_an_import_that_fails_is_waited_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{NAME}.py").write_text("import os\nos.environ['TFVIS_NB_A_DRIVER']\n")
    calls: list[str] = []
    imports = Imports({NAME: lambda: calls.append(NAME)})
    imports.watch()
    try:
        with pytest.raises(KeyError):
            importlib.import_module(NAME)
        assert calls == []
        monkeypatch.setenv("TFVIS_NB_A_DRIVER", "1")
        importlib.import_module(NAME)
    finally:
        imports.end()
    assert calls == [NAME]
