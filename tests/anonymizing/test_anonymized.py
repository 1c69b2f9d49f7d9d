"""Replaced and kept names in each part of a trace."""

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


def secret_trace(secret: str = SECRET) -> Trace:
    """A trace of two steps with a secret in every part that has a text."""
    job = f"/job:{secret}/replica:0/task:1"
    gpu = f"{job}/device:GPU:0"
    graph = message_class("GraphDef")()
    node = graph.node.add(name=f"{secret}/MatMul".encode(), op=b"MatMul", device=gpu.encode())
    node.input.append(f"{secret}/weights".encode())
    attributes = (("T", "type", 1), ("label", "s", f"{secret}.csv".encode()), (f"{secret}_rate", "f", 0.5))
    for key, kind, value in attributes:
        setattr(node.attr.add(key=key.encode()).value, kind, value)
    constant = graph.node.add(name=b"Const", op=b"Const").attr.add(key=b"value").value.tensor
    constant.string_val.append(secret.encode())
    constant.tensor_content = secret.encode()
    graph.library.function.add().signature.name = f"__inference_{secret}_7".encode()
    whole = message_class("RunMetadata")()
    whole.partition_graphs.add().ParseFromString(graph.SerializeToString())
    whole.cost_graph.node.add(name=f"{secret}/MatMul".encode(), device=gpu.encode(), compute_cost=7)
    whole.session_metadata.name = secret.encode()
    builder = StackBuilder()
    number = builder.stack(  # noqa: PD013 - not of pandas
        [Frame(f"/home/{secret}/train.py", 3, f"run_{secret}", f"{secret}()")]
    )
    builder.file(f"/home/{secret}/train.py", f"import {secret}\n")
    table = events.build(
        {
            "step": [0, 0, 1, 1, 1],
            "start_ns": [10**18 + 10**6 * i for i in range(5)],
            "duration_ns": [900_000] * 5,
            "task": [job] * 5,
            "device": [gpu] * 5,
            "lane": ["ops", "stream:1", "recv", f"{secret}-thread/7", "ops"],
            "kind": ["op", "kernel", "transfer", "host", "op"],
            "op": ["MatMul", "MatMul", "RecvTensor", f"{secret}Call", f"{secret.title()}Op"],
            "name": [f"{secret}/MatMul", f"{secret}/MatMul", f"edge_9_{secret}", secret, f"{secret}/x_1"],
            "source": ["", "", f"/job:{secret}/replica:0/task:0/device:CPU:0", "", ""],
            "destination": ["", "", gpu, "", ""],
            "tensor": ["", "", f"edge_9_{secret}", "", ""],
            "bytes": [None, None, 512, None, None],
            "detail": [
                f"{secret}/MatMul = MatMul({secret}/weights, ^{secret}_S3)",
                f"void its{secret}::fused<float>(int) regs:16 grid:2,1,1 block:64,1,1",
                f"[512B] edge_9_{secret} from /job:{secret}/task:0/device:CPU:0 to {gpu}",
                f"tf_function_call=traced {secret}=1 note={secret}",
                f"{secret}/x_1 = {secret.title()}Op()",
            ],
        }
    )
    change = {"argument": secret, "kind": "value", "before": f"'{secret}'", "after": "3"}
    tracing = {"function": secret, "source": f"{secret}.py:3", "nodes": 3, "changes": [change]}
    memory = [{"allocator": f"{secret}_bfc", "records": [{"micros": 10**15 + 1, "bytes": 64}]}]
    nested = pa.table(
        {
            "stack": pa.array([number, number, None, None, None], pa.int32()),
            "tracing": pa.array([None, None, None, tracing, None], TYPE),
            "layer": [secret, secret, None, None, secret],
            "memory": [memory, None, None, None, None],
            "unknown_to_us": [[secret]] * 5,
        }
    )
    failed = {
        "time_ns": 10**18,
        "node": f"{secret}/MatMul",
        "text": f"out of {secret}",
        "file": f"{secret}.py",
    }
    program = {"subject": "op", "name": f"{secret}*", "factor": 2.0}
    trace = Trace(
        table,
        nested=nested,
        graphs=[[graph.SerializeToString()]] * 2,
        run_metadata=[whole.SerializeToString()] * 2,
        notes=[
            secret,
            Text("part_of_run", events=2, whole=5, ends=f"{secret} to 3 ms").named(f"{secret}.pb"),
        ],
        sources=[secret.encode()],
        profiles=[secret.encode()],
        title=f"{secret}.pb",
        step_labels={0: f"{secret} 0", 1: f"{secret} 1"},
        clock_bounds={job: (0, 0)},
        stacks=builder.table(),
        metadata={
            "devices": metadata.table_of("devices", [{"device": gpu, "vendor": "Nvidia", "model": "H200"}]),
            "out_of_memory": metadata.table_of("out_of_memory", [failed]),
            "prediction": metadata.table_of("prediction", [program]),
        },
        recorded_counters=counters.build(
            {"task": [job], "counter": [f"{secret} bytes"], "time_ns": [10**18], "value": [3.0]}
        ),
    )
    trace.annotations = [{"event": 0, "name": secret, "text": f"{secret} is slow"}]
    return trace


def written(folder: Path, secret: str = SECRET) -> dict[str, str]:
    """Everything that is made of the secret trace, as text."""
    trace = secret_trace(secret)
    shared = trace.anonymized()
    options: dict[str, Any] = {"lane_filter": secret}
    pages: dict[str, str] = {
        "page": trace.to_html(anonymize=True, time_range=(10**18, 10**18 + 10**7), **options),
        "widget": tv.show_timeline(trace, selection=[2], **options).to_html(anonymize=True),
        "dashboard": tv.show_dashboard(trace, against=trace, **options).to_html(anonymize=True),
        "comparison": tv.show_comparison(trace, steps=(0, 1), **options).to_html(anonymize=True),
    }
    files = (shared.to_parquet(folder / "a.parquet"), shared.to_chrome_trace(folder / "a.json"))
    pages["picture"] = shared.to_svg()
    return {name: page_text(page) for name, page in pages.items()} | {
        path.name: file_text(path) for path in files
    }


def test_secrets_are_in_no_written_file(tmp_path: Path) -> None:
    for name, text in written(tmp_path).items():
        assert SECRET not in text.lower(), name
        assert "job1/MatMul" in text or name == "picture", name
    # The content of a page without anonymizing.
    assert SECRET in page_text(secret_trace().to_html())


def test_secrets_are_nowhere_in_a_fleet(tmp_path: Path) -> None:
    source = tmp_path / SECRET
    source.mkdir()
    for run in range(2):
        secret_trace().to_parquet(source / f"{SECRET}{run}.parquet")
    dataset = tv.open_traces(source, tmp_path / f"{SECRET}-dataset")
    page = tv.show_fleet(dataset, since=(f"{SECRET}1", 0)).to_html(anonymize=True)
    assert SECRET not in page_text(page).lower()
    assert "job1/MatMul" in page_text(page)
    # The timelines of the fleet are in it.
    assert 'id="tfvis-drawn-2"' in page


def test_addresses_are_in_no_output(tmp_path: Path) -> None:
    addresses = ("10.20.30.40", "ip-172-31-5-6", "2001:db8::ff00:42:8329")
    for name, text in written(tmp_path, "_".join(addresses)).items():
        assert [one for one in (*addresses, "30.40", "31-5-6", "ff00") if one in text.lower()] == [], name
        assert "host1_host2_host3/MatMul" in text or name == "picture", name


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
    # Reading adds a note on the kernels that this table lacks.
    found = again.findings[again.findings["kind"] != "missing kernels"]
    pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(shared.findings))


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
        ("10.1.2.3.xplane.pb", "host1.op1.op2"),
        ("ip-172-31-5-6.ec2.internal and 172.31.5.6:80", "host1.op1.op2 and host1:80"),
        ("ip-ac1f0506 ip_172_31_5_6", "host1 host2"),
        ("/job:10.0.0.5/replica:0/task:0/device:CPU:0", "/job:host1/replica:0/task:0/device:CPU:0"),
        ("10.20.30.40/MatMul", "host1/MatMul"),
        ("/job:fd00::1/task:0 [2001:DB8::ff00:42:8329]:6009", "/job:host1/task:0 [host2]:6009"),
        ("events.out.1600000000.10.1.2.3.v2 node10.1.2.3", "op1.op2.1600000000.host1.op3 op4host1"),
        ("52-1-2-3 02:42:ac:11:00:02 ::ffff:10.1.2.3", "host1 host2 host3"),
        ("its::fd00::1::fused 300.10.1.2.3.400: fd00::2: 1:2", "op1::host1::op2 300.host2.400: host3: 1:2"),
        ("12:30:45 1.2.3 2026-01-02 3-3-640-64 a::b /device:GPU:0", None),
    ],
)
def test_addresses_of_hosts_are_replaced(text: str, other: str | None) -> None:
    assert Names().replaced(text, "op") == (text if other is None else other)


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


def test_labels_inside_notes_are_replaced() -> None:
    table = events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"], "name": [SECRET]})
    (found,) = anonymized([Trace(table, notes=[Text("step_of_run", first=0, label=SECRET)])])
    assert [note.id for note in found.notes if isinstance(note, Text)] == ["step_of_run"]
    assert SECRET not in found.notes[0]
