"""The code of docs/first-trace.md runs, and the trace shows that the input is slow."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "first-trace.md"
CELLS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_cells_find_the_slow_input(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "tests").symlink_to(PAGE.parents[1] / "tests")
    for cell in CELLS:
        shell.run_cell(cell).raise_error()
    trace = shell.user_ns["t"]
    assert (trace.steps["step"] >= 0).sum() == 20
    assert trace.findings["id"].iloc[0].partition(".")[0] == "input_bound"
    assert len(shell.user_ns["trace"].transfers) > 0
    assert {path.name for path in tmp_path.iterdir()} >= {"step.html", "step.json"}
