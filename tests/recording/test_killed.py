"""Jobs that are killed have in their session all that they had finished."""

from pathlib import Path

import pytest

from tests.support.kills import KINDS, killed

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.thorough] if kind == "one job" else []) for kind in KINDS]
)
def test_nothing_finished_is_lost(tmp_path: Path, kind: str) -> None:
    found = killed(tmp_path / "run.tfvis", kind, 1)
    assert found.wrong == ""
    assert found.finished > 0
