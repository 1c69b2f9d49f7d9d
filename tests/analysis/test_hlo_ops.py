"""Instructions of compiled programs: what ran, how long, at what cost."""

import pickle
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.protobuf_bytes import number
from tests.reading.test_programs import instruction, metadata, profile, program
from tests.real_traces import real_trace
from tests.wire_reader import optional, read_container, texts
from tfvis_nb import Trace, events
from tfvis_nb.analysis import fused_instructions, hlo_ops, why_not
from tfvis_nb.core.nested_columns import validate_nested
from tfvis_nb.display.tabs import tab
from tfvis_nb.display.wire.code import without_code
from tfvis_nb.display.wire.details import details
from tfvis_nb.reading.concat import concatenate

COUNTED = ["hlo_op", "count", "flops", "bytes_accessed", "cost"]


def values(table: pd.DataFrame, columns: list[str]) -> list[list[object]]:
    found = table[columns].astype(object)
    return found.where(found.notna(), None).to_numpy().tolist()


def ran(start: list[int], duration: list[int], **columns: list[str]) -> pd.DataFrame:
    kernels = {"start_ns": start, "duration_ns": duration, "kind": ["kernel"] * len(start)}
    return events.build(kernels | columns)


def test_a_profile_of_jax(data: Path) -> None:
    """By hand: a product of 500 x 500 matrices, something done to each element, and all of them added up."""
    trace = real_trace(data / "cpu_jax.xplane.pb")
    (row,) = trace.hlo_ops.to_dict("records")
    assert (row["program"], row["hlo_op"], row["category"]) == (
        "jit__lambda(4)",
        "ynn_fusion",
        "custom fusion",
    )
    assert row["flops"] == 2 * 500**3 + 500**2 + 500**2 - 1
    assert row["bytes_accessed"] == 2 * 4 * 500**2 + 4
    assert (row["count"], row["cost"], row["op_name"]) == (3, "shapes", "jit(<lambda>)/reduce_sum")
    assert row["source"].endswith("jx.py:4")
    assert row["expression"].startswith("f32[] fusion(f32[500,500] a.1, f32[500,500] b.1), kind=kCustom")
    thunks = trace.events[trace.events["name"] == "ynn_fusion"]
    assert row["total_ns"] == thunks["duration_ns"].sum()
    assert row["longest"] == thunks["duration_ns"].idxmax()
    assert row["share"] == 1


def test_what_xla_counts_comes_first() -> None:
    table = ran([0, 9, 20], [5, 3, 4], op=["loop fusion"] * 3)
    nested = pa.table(
        {
            "program": ["f(1)", "f(1)", None],
            "hlo_op": ["fusion.1", "fusion.2", "fusion.3"],
            "flops": pa.array([64, None, 1], pa.int64()),
            "bytes_accessed": pa.array([None, None, 1], pa.int64()),
        }
    )
    found = hlo_ops(Trace(table, nested=nested))
    assert values(found, COUNTED) == [["fusion.1", 1, 64, None, "XLA"], ["fusion.2", 1, None, None, ""]]
    assert found["category"].tolist() == ["loop fusion", ""]


def test_what_runs_beside_the_others_does_not_count() -> None:
    table = ran([0, 1], [5, 90], lane=["XLA Ops", "Async XLA Ops"])
    nested = pa.table({"program": ["f(1)"] * 2, "hlo_op": ["copy-start"] * 2})
    assert hlo_ops(Trace(table, nested=nested))["total_ns"].tolist() == [5]


def test_only_the_own_time_of_a_loop_counts() -> None:
    table = ran([0, 1], [10, 4], lane=["XLA Ops"] * 2)
    nested = pa.table({"program": ["f(1)"] * 2, "hlo_op": ["while", "dot"]})
    found = hlo_ops(Trace(table, nested=nested))
    assert values(found, ["hlo_op", "total_ns", "self_ns", "share"]) == [
        ["while", 10, 6, 0.6],
        ["dot", 4, 4, 0.4],
    ]


def test_an_instruction_that_its_program_lacks() -> None:
    """A program without HLO, one that is damaged, and one without that instruction."""
    whole = program([instruction("dot.1", metadata("jit(f)/dot"), opcode="custom-call")])
    for hlo, category in ((b"", ""), (whole[:-3], ""), (whole, "custom-call")):
        found = hlo_ops(profile(hlo, "dot.1", "dot.2"))
        assert values(found, COUNTED) == [
            ["dot.1", 1, None, 0 if category else None, "shapes" if category else ""],
            ["dot.2", 1, None, None, ""],
        ]
        assert found["category"].tolist() == [category, ""]


def test_programs_go_with_their_trace(data: Path, tmp_path: Path) -> None:
    trace = real_trace(data / "cpu_jax.xplane.pb")
    again = tv.read_trace(trace.to_parquet(tmp_path / "jax.parquet"))
    both = concatenate([trace, trace], "")
    assert again.programs == both.programs == trace.programs
    assert list(trace.programs) == ["jit__lambda(4)"]
    pd.testing.assert_frame_equal(again.hlo_ops, trace.hlo_ops)
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(trace)).hlo_ops, trace.hlo_ops)
    assert both.hlo_ops["count"].tolist() == [6]


def test_a_trace_without_programs_says_so() -> None:
    for trace in (Trace(events.build({}, rows=0)), Trace(ran([0], [1]))):
        assert why_not(trace.hlo_ops).id == "no_hlo_ops"


@pytest.mark.parametrize("column", ["flops", "bytes_accessed"])
def test_a_count_of_another_type_is_refused(column: str) -> None:
    with pytest.raises(ValueError, match=column):
        validate_nested(pa.table({column: ["many"]}))


def fusion() -> Trace:
    """A fusion of two instructions, of lines 4 and 7 of a file."""
    inner = [
        instruction("add.2", metadata("jit(f)/add", file="secret.py", line=4), opcode="add"),
        instruction("max.3", metadata("jit(f)/max", file="secret.py", line=7), opcode="maximum"),
        instruction("p.4", opcode="parameter"),
    ]
    # Instructions of a computation differ by their ids.
    inner = [one[: one.rindex(number(35, 7))] + number(35, at) for at, one in enumerate(inner, 1)]
    return profile(program(inner, [instruction("fusion.1", called=(1,))]), "fusion.1")


def test_the_instructions_of_a_fusion() -> None:
    found = fused_instructions(fusion(), "jit_f(3)", "fusion.1")
    assert values(found, ["hlo_op", "category", "op_name", "source", "flops"]) == [
        ["add.2", "non-fusion elementwise", "jit(f)/add", "secret.py:4", 0],
        ["max.3", "non-fusion elementwise", "jit(f)/max", "secret.py:7", 0],
    ]
    assert fused_instructions(fusion(), "jit_f(3)", "add.2").empty
    for name in (("jit_f(4)", "fusion.1"), ("jit_f(3)", "fusion.2")):
        assert why_not(fused_instructions(fusion(), *name)).id == "no_hlo"


def test_details_have_the_facts_of_the_program() -> None:
    header, columns = read_container(details(fusion()))
    assert optional(header, columns, "node") == [0]
    strings = texts(columns["strings_bytes"], columns["strings_offsets"])
    facts = {name: strings[columns[f"node_{name}"][0]] for name in ("program", "instruction", "fused")}
    assert facts == {
        "program": "jit_f(3)",
        "instruction": "fusion.1",
        "fused": "add.2\tjit(f)/add\tsecret.py:4\nmax.3\tjit(f)/max\tsecret.py:7",
    }


def test_no_code_is_left_without_source() -> None:
    part = without_code(fusion())
    assert b"secret" not in pickle.dumps(part)
    inside = fused_instructions(part, "jit_f(3)", "fusion.1")
    assert values(inside, ["op_name", "source"]) == [["jit(f)/add", ""], ["jit(f)/max", ""]]
    assert part.hlo_ops["category"].tolist() == fusion().hlo_ops["category"].tolist()


def test_the_kernels_have_the_instructions(data: Path) -> None:
    (block, *_) = tab(real_trace(data / "cpu_jax.xplane.pb"), "Kernels")["blocks"]
    assert block["rows"][0][:2] == ["ynn_fusion", "custom fusion"]
    titles = [block["title"] for block in tab(Trace(ran([0], [1])), "Kernels")["blocks"]]
    assert block["title"] not in titles
