"""docs/formats.md says of every sample what reading makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import SAMPLES
from tfvis_nb.events import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_table_of_samples(path: Path) -> None:
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{path.name}` |")]
    try:
        trace = tv.read_trace(path)
    except tv.EmptyTraceError:
        assert line.endswith("| `EmptyTraceError` |")
        return
    counts = trace.events["kind"].astype(str).value_counts()
    steps = int((trace.steps["step"] >= 0).sum())
    rows = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if kind in counts)
    cells = [steps, trace.lanes["device"].nunique(), len(trace.lanes), rows]
    assert line == f"| `{path.name}` | " + " | ".join(map(str, cells)) + " |"


def test_no_sample_is_listed_that_is_not_there() -> None:
    listed = [line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    files = [name for name in listed if "." in name and " " not in name and not name.startswith((".", "/"))]
    assert {path.name for path in SAMPLES} == set(files)
