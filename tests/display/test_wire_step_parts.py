"""Parts of steps for the front end, read back in a simple way."""

import pytest

from tests.real_traces import DATA, real_trace
from tests.wire_reader import read_container
from tfvis_nb.core.labels import task_label
from tfvis_nb.display.wire.details import details


@pytest.mark.parametrize(
    "names",
    [
        ["gpu_tf218_function.xplane.pb.xz"],
        ["gpu_tf221_worker0.xplane.pb.xz", "gpu_tf221_worker1.xplane.pb.xz"],
    ],
)
def test_every_part_of_every_step_arrives(names: list[str]) -> None:
    trace = real_trace([DATA / name for name in names])
    header, columns = read_container(details(trace))
    rows = trace.breakdown[trace.breakdown["device"].astype(str) == ""].to_dict("records")
    parts = header["parts"]
    assert columns["parts_step"] == [row["step"] for row in rows]
    assert columns["parts_total"] == [row["step_ns"] for row in rows]
    found = [list(columns["parts_ns"][at * len(parts) :][: len(parts)]) for at in range(len(rows))]
    assert found == [[row[f"{part}_ns"] for part in parts] for row in rows]
    assert [sum(times) for times in found] == columns["parts_total"]
    tasks = [task_label(str(row["task"])) for row in rows]
    labels = [header["parts_tasks"][task] for task in columns["parts_task"]]
    assert labels == (tasks if len(set(tasks)) > 1 else [""] * len(rows))


def test_of_a_single_step_the_overview_has_the_parts() -> None:
    header, columns = read_container(details(real_trace(DATA / "gpu_tf221_dist.pb.xz")))
    assert "parts" not in header
    assert "parts_ns" not in columns
