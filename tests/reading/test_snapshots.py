"""The results of reading all samples, compared line by line with `snapshots.jsonl`.

After an intended change, ``python -m tests.reading.test_snapshots`` rewrites the file; the diff shows the
changes.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.real_traces import SAMPLES
from tfvis_nb.reading.formats import FORMATS
from tfvis_nb.reading.sources.unpacking import unpack

GOLDEN = Path(__file__).parent / "snapshots.jsonl"
FIRST = 5


def snapshot(path: Path) -> dict[str, Any]:
    data = bytes(unpack(path.read_bytes(), path.name))
    found = {"file": path.name, "format": next(one.name for one in FORMATS if one.matches(data))}
    try:
        trace = tv.read_trace(path)
    except tv.EmptyTraceError as error:
        return {**found, "error": type(error).__name__}
    return {
        **found,
        "events": len(trace.events),
        "lanes": len(trace.lanes),
        "steps": trace.steps["step"].tolist(),
        "duration_ns": int(trace.events["duration_ns"].sum()),
        "edges": len(trace.edges),
        "names": trace.events["name"].astype(str).head(FIRST).tolist(),
        "notes": list(trace.notes),
    }


def test_every_sample_has_a_line() -> None:
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["file"] for line in lines] == [path.name for path in SAMPLES]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_reads_as_before(path: Path) -> None:
    lines = map(json.loads, GOLDEN.read_text(encoding="utf-8").splitlines())
    assert snapshot(path) == next(line for line in lines if line["file"] == path.name)


if __name__ == "__main__":
    lines = [json.dumps(snapshot(path), ensure_ascii=False) for path in SAMPLES]
    GOLDEN.write_text("\n".join(lines) + "\n", encoding="utf-8")
