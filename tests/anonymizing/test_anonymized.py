"""Replaced and kept names in each part of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.anonymizing.survivors import file_text, page_text
from tests.cli.command import tfvis_nb_here
from tests.hostile_names import hostile_trace
from tfvis_nb import Trace, events
from tfvis_nb.anonymizing.anonymized import START_NS, anonymized
from tfvis_nb.anonymizing.names import Names
from tfvis_nb.core import counters, metadata
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.core.tracings import TYPE
from tfvis_nb.reading.protobuf.schema import message_class
from tfvis_nb.texts import Text

SECRET = "zanzibar"
JOB = f"/job:{SECRET}/replica:0/task:1"
GPU = f"{JOB}/device:GPU:0"


def secret_trace() -> Trace:
    """A trace of two steps with a secret in every part that has a text."""
    graph = message_class("GraphDef")()
    node = graph.node.add(name=f"{SECRET}/MatMul".encode(), op=b"MatMul", device=GPU.encode())
    node.input.append(f"{SECRET}/weights".encode())
    attributes = (("T", "type", 1), ("label", "s", f"{SECRET}.csv".encode()), (f"{SECRET}_rate", "f", 0.5))
    for key, kind, value in attributes:
        setattr(node.attr.add(key=key.encode()).value, kind, value)
    constant = graph.node.add(name=b"Const", op=b"Const").attr.add(key=b"value").value.tensor
    constant.string_val.append(SECRET.encode())
    constant.tensor_content = SECRET.encode()
    graph.library.function.add().signature.name = f"__inference_{SECRET}_7".encode()
    whole = message_class("RunMetadata")()
    whole.partition_graphs.add().ParseFromString(graph.SerializeToString())
    whole.cost_graph.node.add(name=f"{SECRET}/MatMul".encode(), device=GPU.encode(), compute_cost=7)
    whole.session_metadata.name = SECRET.encode()
    builder = StackBuilder()
    number = builder.stack(  # noqa: PD013 - not of pandas
        [Frame(f"/home/{SECRET}/train.py", 3, f"run_{SECRET}", f"{SECRET}()")]
    )
    builder.file(f"/home/{SECRET}/train.py", f"import {SECRET}\n")
    table = events.build(
        {
            "step": [0, 0, 1, 1, 1],
            "start_ns": [10**18 + 10**6 * i for i in range(5)],
            "duration_ns": [900_000] * 5,
            "task": [JOB] * 5,
            "device": [GPU] * 5,
            "lane": ["ops", "stream:1", "recv", f"{SECRET}-thread/7", "ops"],
            "kind": ["op", "kernel", "transfer", "host", "op"],
            "op": ["MatMul", "MatMul", "RecvTensor", f"{SECRET}Call", f"{SECRET.title()}Op"],
            "name": [f"{SECRET}/MatMul", f"{SECRET}/MatMul", f"edge_9_{SECRET}", SECRET, f"{SECRET}/x_1"],
            "source": ["", "", f"/job:{SECRET}/replica:0/task:0/device:CPU:0", "", ""],
            "destination": ["", "", GPU, "", ""],
            "tensor": ["", "", f"edge_9_{SECRET}", "", ""],
            "bytes": [None, None, 512, None, None],
            "detail": [
                f"{SECRET}/MatMul = MatMul({SECRET}/weights, ^{SECRET}_S3)",
                f"void its{SECRET}::fused<float>(int) regs:16 grid:2,1,1 block:64,1,1",
                f"[512B] edge_9_{SECRET} from /job:{SECRET}/task:0/device:CPU:0 to {GPU}",
                f"tf_function_call=traced {SECRET}=1 note={SECRET}",
                f"{SECRET}/x_1 = {SECRET.title()}Op()",
            ],
        }
    )
    change = {"argument": SECRET, "kind": "value", "before": f"'{SECRET}'", "after": "3"}
    tracing = {"function": SECRET, "source": f"{SECRET}.py:3", "nodes": 3, "changes": [change]}
    memory = [{"allocator": f"{SECRET}_bfc", "records": [{"micros": 10**15 + 1, "bytes": 64}]}]
    nested = pa.table(
        {
            "stack": pa.array([number, number, None, None, None], pa.int32()),
            "tracing": pa.array([None, None, None, tracing, None], TYPE),
            "layer": [SECRET, SECRET, None, None, SECRET],
            "memory": [memory, None, None, None, None],
            "unknown_to_us": [[SECRET]] * 5,
        }
    )
    failed = {
        "time_ns": 10**18,
        "node": f"{SECRET}/MatMul",
        "text": f"out of {SECRET}",
        "file": f"{SECRET}.py",
    }
    program = {"subject": "op", "name": f"{SECRET}*", "factor": 2.0}
    trace = Trace(
        table,
        nested=nested,
        graphs=[[graph.SerializeToString()]] * 2,
        run_metadata=[whole.SerializeToString()] * 2,
        notes=[
            SECRET,
            Text("part_of_run", events=2, whole=5, ends=f"{SECRET} to 3 ms").named(f"{SECRET}.pb"),
        ],
        sources=[SECRET.encode()],
        profiles=[SECRET.encode()],
        title=f"{SECRET}.pb",
        step_labels={0: f"{SECRET} 0", 1: f"{SECRET} 1"},
        clock_bounds={JOB: (0, 0)},
        stacks=builder.table(),
        metadata={
            "devices": metadata.table_of("devices", [{"device": GPU, "vendor": "Nvidia", "model": "H200"}]),
            "out_of_memory": metadata.table_of("out_of_memory", [failed]),
            "prediction": metadata.table_of("prediction", [program]),
        },
        recorded_counters=counters.build(
            {"task": [JOB], "counter": [f"{SECRET} bytes"], "time_ns": [10**18], "value": [3.0]}
        ),
    )
    trace.annotations = [{"event": 0, "name": SECRET, "text": f"{SECRET} is slow"}]
    return trace


def written(folder: Path) -> dict[str, str]:
    """Everything that is made of the secret trace, as text."""
    trace = secret_trace()
    shared = trace.anonymized()
    options: dict[str, Any] = {"lane_filter": SECRET}
    pages: dict[str, str] = {
        "page": trace.to_html(anonymize=True, time_range=(10**18, 10**18 + 10**7), **options),
        "widget": tv.show_timeline(trace, selection=[2], **options).to_html(anonymize=True),
        "dashboard": tv.show_dashboard(trace, against=trace, **options).to_html(anonymize=True),
        "comparison": tv.show_comparison(trace, steps=(0, 1), **options).to_html(anonymize=True),
    }
    source = folder / SECRET
    source.mkdir()
    for run in range(2):
        trace.to_parquet(source / f"{SECRET}{run}.parquet")
    dataset = tv.open_traces(source, folder / f"{SECRET}-dataset")
    pages["fleet"] = tv.show_fleet(dataset, since=(f"{SECRET}1", 0)).to_html(anonymize=True)
    files = (shared.to_parquet(folder / "a.parquet"), shared.to_chrome_trace(folder / "a.json"))
    return {name: page_text(page) for name, page in pages.items()} | {
        path.name: file_text(path) for path in files
    }


def test_secrets_are_nowhere_in_what_is_written(tmp_path: Path) -> None:
    for name, text in written(tmp_path).items():
        assert SECRET not in text.lower(), name
        assert "job1/MatMul" in text, name
    # The timelines of the fleet are in it.
    assert 'id="tfvis-drawn-2"' in tv.show_fleet(tmp_path / f"{SECRET}-dataset").to_html(anonymize=True)
    # What a page without anonymizing has.
    assert SECRET in page_text(secret_trace().to_html())


def test_a_name_is_the_same_one_everywhere() -> None:
    trace, shared = secret_trace(), secret_trace().anonymized()
    assert shared.events["name"].tolist() == ["job1/MatMul"] * 2 + ["edge_9_job1", "job1", "job1/x_1"]
    assert shared.events["detail"][0] == "job1/MatMul = MatMul(job1/op3, ^job1_S3)"
    assert shared.edges.equals(trace.edges)
    assert shared.nodes["op"].tolist() == trace.nodes["op"].tolist()
    assert shared.stacks is not None
    (frame,) = shared.stacks.frames_of(0)
    assert (frame.line, frame.text) == (3, "")
    assert shared.metadata["devices"]["model"].tolist() == ["H200"]


def test_notes_of_ours_stay_and_others_are_left_out() -> None:
    (note,) = secret_trace().anonymized().notes
    assert isinstance(note, Text)
    assert (note.id, note.figures["events"]) == ("part_of_run", 2)
    assert note.startswith("job1.pb: ")


def test_dates_are_moved_together() -> None:
    trace = secret_trace()
    shared, after = anonymized([trace, Trace(trace.events.assign(start_ns=trace.events["start_ns"] + 7000))])
    assert shared.events["start_ns"].iloc[0] == START_NS
    assert after.events["start_ns"].iloc[0] == START_NS + 7000
    later = START_NS - 10**18
    assert shared.nested is not None
    assert shared.nested["memory"][0].as_py()[0]["records"][0]["micros"] == 10**15 + 1 + later // 1000
    assert shared.recorded_counters["time_ns"].tolist() == [START_NS]
    assert shared.metadata["out_of_memory"]["time_ns"].tolist() == [START_NS]


def test_the_table_is_read_back(tmp_path: Path) -> None:
    shared = secret_trace().anonymized()
    again = tv.read_trace(shared.to_parquet(tmp_path / "a.parquet"))
    pd.testing.assert_frame_equal(again.events, shared.events)
    pd.testing.assert_frame_equal(again.findings, shared.findings)


def test_hostile_texts_are_replaced() -> None:
    shared = hostile_trace().anonymized()
    events.check(shared.events)
    assert "evil" not in shared.to_html()


def test_an_empty_trace_has_nothing_to_replace() -> None:
    assert (
        len(Trace(events.build({"start_ns": [], "duration_ns": []}), title=SECRET).anonymized().events) == 0
    )


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Adam/update_dense/kernel/ResourceApplyAdam", "Adam/update_layer1/kernel/ResourceApplyAdam"),
        ("DistributedZanzibarOptimizer_2/x", "distributedoptimizer1_2/x"),
        ("trainer.py:12 fit", "file1.py:12 op1"),
        (
            "StatefulPartitionedCall/while/body/_12/z/MatMul_1",
            "StatefulPartitionedCall/while/body/_12/z/MatMul_1",
        ),
        ("\u732b/\u732b_1", "layer1/layer1_1"),
        ("4.0MB of dense:0", "4.0MB op1 op2:0"),
        (
            "region_type=temp kernel_type=_Recv kind_src:pinned",
            "region_type=temp kernel_type=_Recv kind_src:pinned",
        ),
        ("region_type=zoo kernel_type=ZanzibarOp kind:z_zoo", "region_type=op1 kernel_type=op2 op3:z_op1"),
    ],
)
def test_grammar_stays(text: str, other: str) -> None:
    assert Names().replaced(text, "op") == other


@pytest.mark.parametrize(
    ("kernel", "other"),
    [
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize32x32x64_kernel", None),
        ("void Eigen::internal::EigenMetaKernel<Zanzibar<float>, long>", "Zanzibar"),
        ("_ZN5Eigen8internal15EigenMetaKernelI8ZanzibarLi64EEEvT_", "8Zanzibar"),
        ("zanzibar_s1688gemm_fused", "zanzibar"),
    ],
)
def test_kernels_of_libraries_keep_their_names(kernel: str, other: str | None) -> None:
    new = Names().replaced(kernel, "kernel", kernel=True)
    expected = "7kernel1" if other == "8Zanzibar" else "kernel1"
    assert new == (kernel if other is None else kernel.replace(other, expected))


def test_commands_anonymize(tmp_path: Path) -> None:
    source = secret_trace().to_parquet(tmp_path / "source.parquet")
    page, table = tmp_path / "page.html", tmp_path / "table.parquet"
    words = ["--anonymize", "--time-range", "0ms:3ms"]
    assert tfvis_nb_here("export", source, "-o", page, "-o", table, *words, cwd=tmp_path).returncode == 0
    assert [SECRET in file_text(path).lower() for path in (page, table)] == [False, False]
    assert len(tv.read_trace(table).events) == 3
    opened = tfvis_nb_here(
        "open", source, "-o", page, "--anonymize", "--title", "ours", "--no-browser", cwd=tmp_path
    )
    assert opened.returncode == 0
    assert SECRET not in file_text(page).lower()
    assert "ours" in page.read_text()
    refused = tfvis_nb_here("export", source, "-o", tmp_path / "a.pb", "--anonymize", cwd=tmp_path)
    assert refused.returncode == 2
