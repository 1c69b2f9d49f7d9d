"""Tests of notebooks start forked kernels."""

import pytest

from tests.support.kernels import jupyter_path


@pytest.fixture(autouse=True)
def _forked_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_PATH", jupyter_path())
