"""The front end reads exactly what Python wrote: every event of real traces, to the nanosecond."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.timeline import OpenExported
from tests.hostile_names import hostile_trace
from tests.real_traces import DATA, name_of, real_trace, step_stats_files
from tfvis_nb import Trace

SMALL = DATA / "dist_inproc_ps_2workers_step0.pb"
NAMES = ("local_mlp_step1.pb", "inception_step1.pb.xz", "lstm_while_v2_step0.pb")
RECORDED = [
    SMALL,
    *(pytest.param(path, marks=pytest.mark.thorough) for path in step_stats_files() if path.name in NAMES),
]

_READ = """async (host) => {
  const { drawn } = host.tfvis.store;
  while (!host.tfvis.store.details) await new Promise((resolve) => setTimeout(resolve, 20));
  const details = host.tfvis.store.details;
  const epoch = (time) => (time === null ? null : String(drawn.originNs + BigInt(time)));
  return Array.from(drawn.start, (start, event) => ({
    start: epoch(start),
    duration: drawn.duration[event],
    name: drawn.names.get(drawn.name[event]),
    op: drawn.ops[drawn.op[event]],
    task: drawn.lanes[drawn.lane[event]].task,
    device: drawn.lanes[drawn.lane[event]].device,
    lane: drawn.lanes[drawn.lane[event]].lane,
    scheduled: epoch(details.scheduled(event)),
    compute: details.compute(event) && details.compute(event).end - details.compute(event).start,
    bytes: details.bytes(event),
    thread: Object.fromEntries(details.ids(event)).Thread ?? null,
    source: details.source(event) ?? "",
    destination: details.destination(event) ?? "",
    tensor: details.tensor(event),
    detail: details.label(event),
    inputs: details.inputs(event).map((edge) => [edge.event, edge.kind]),
    outputs: details.outputs(event).map((output) => [output.slot, output.bytes]),
    memory: details.memory(event).map((memory) => [memory.allocator, memory.total]),
  }));
}"""


def read_by_browser(trace: Trace, exported: OpenExported, folder: Path) -> pd.DataFrame:
    timeline = exported(trace.to_html(folder / "page.html")).wait()
    return pd.DataFrame(timeline.host.evaluate(_READ))


def numbers(column: pd.Series) -> list[Any]:
    return [None if value is None or value != value else int(value) for value in column.astype(object)]  # noqa: PLR0124


def check(trace: Trace, got: pd.DataFrame) -> None:
    table = trace.events
    assert got["start"].tolist() == table["start_ns"].astype("str").tolist()
    assert got["duration"].tolist() == table["duration_ns"].tolist()
    for name in ("name", "op", "task", "device", "lane", "source", "destination", "tensor", "detail"):
        assert got[name].tolist() == table[name].astype("str").tolist()
    known = table["scheduled_ns"].astype(object).where(table["scheduled_ns"].notna(), None)
    assert numbers(got["scheduled"]) == known.tolist()
    computing = (table["compute_end_ns"] - table["compute_start_ns"]).astype(object)
    assert numbers(got["compute"]) == computing.where(computing.notna(), None).tolist()
    for name in ("bytes", "thread"):
        values = (table[name] if name == "bytes" else table[name].mask(table[name] <= 0)).astype(object)
        assert numbers(got[name]) == values.where(values.notna(), None).tolist()
    edges = {(source, target, kind) for target, inputs in enumerate(got["inputs"]) for source, kind in inputs}
    assert edges == set(trace.edges.itertuples(index=False, name=None))


@pytest.mark.parametrize("path", RECORDED, ids=name_of)
def test_recorded_traces(exported: OpenExported, tmp_path: Path, path: Path) -> None:
    trace = real_trace(path)
    got = read_by_browser(trace, exported, tmp_path)
    check(trace, got)
    assert trace.nested is not None
    outputs = [
        [[output["slot"], output["requested_bytes"]] for output in of_event or []]
        for of_event in trace.nested["outputs"].to_pylist()
    ]
    assert got["outputs"].tolist() == outputs
    memory = [
        [[used["allocator"], used["total_bytes"]] for used in of_event or []]
        for of_event in trace.nested["memory"].to_pylist()
    ]
    assert got["memory"].tolist() == memory


def test_hostile_texts(exported: OpenExported, tmp_path: Path) -> None:
    trace = hostile_trace()
    check(trace, read_by_browser(trace, exported, tmp_path))
