"""Functions of TensorFlow, their tracings and why they were traced again, in made-up events."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA, each
from tfvis_nb import Trace, events
from tfvis_nb.analysis import functions, measurements, retraces, why_not
from tfvis_nb.core.metadata import PYTHON_SAMPLES, table_of
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.core.tracings import TRACING, TYPE

BUILDING = "tf.function-graph_building"
SHAPE = {"argument": "x", "kind": "shape", "before": "(3,)", "after": "(4,)"}
VALUE = {"argument": "n", "kind": "value", "before": "1", "after": "2"}

Row = tuple[str, int, int, str]


def trace_of(*rows: Row, lanes: list[str] | None = None, recorded: list[Any] | None = None) -> Trace:
    """Make a trace of (name, start, duration, detail); `recorded` has the facts about its tracings."""
    columns = {
        "start_ns": [row[1] for row in rows],
        "duration_ns": [row[2] for row in rows],
        "kind": ["host"] * len(rows),
        "lane": lanes or ["python"] * len(rows),
        "name": [row[0] for row in rows],
        "op": [row[0] for row in rows],
        "detail": [row[3] for row in rows],
    }
    nested = None if recorded is None else pa.table({TRACING: pa.array(recorded, TYPE)})
    return Trace(events.build(columns, rows=len(rows)), nested=nested)


def call(name: str, start: int, duration: int, *, traced: bool = False, count: int = 1) -> Row:
    mode = "traced" if traced else "notTraced"
    return name, start, duration, f"tf_function_call={mode}-nonXla tracing_count={count}"


def jitted(function: str, start: int, duration: int, *, compiles: bool = False) -> list[Row]:
    """Return the rows of a call of a JAX function; a compiling call compiles in its last 20 ns."""
    name = f"PjitFunction({function})"
    if not compiles:
        return [(name, start, duration, "")]
    lowered = start + duration - 20
    parts = [(name, start + 1, duration - 2, ""), ("lower_sharding_computation", lowered - 10, 10, "")]
    return [(name, start, duration, ""), *parts, ("backend_compile_and_load", lowered, 18, "")]


def building(start: int, duration: int) -> Row:
    return BUILDING, start, duration, ""


def noted(function: str, *changes: dict[str, str], source: str = "a.py:1", nodes: int = 5) -> dict[str, Any]:
    return {"function": function, "source": source, "nodes": nodes, "changes": list(changes)}


def figures(table: pd.DataFrame, *names: str) -> dict[str, Any]:
    rows = table[list(names)].itertuples(index=False)
    return {row[0]: row[1:] if len(names) > 2 else row[1] for row in rows}


@pytest.mark.parametrize("own", [True, False])
def test_compilations_of_ops_outside_jit_are_no_retracings(*, own: bool) -> None:
    """A function of the program has a frame on the stacks of its ops; a function of JAX has not."""
    rows = [row for start in range(0, 400, 100) for row in jitted("add", start, 80, compiles=True)]
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    stack = stack_of([Frame("a.py", 3, "run"), *([Frame("a.py", 1, "make.<locals>.add")] if own else [])])
    rows += [("add.1", start + 70, 5, "") for start in range(0, 400, 100)]
    rows.sort(key=lambda row: (row[1], -row[2]))
    ops = [name == "add.1" for name, *_ in rows]
    nested = pa.table(
        {
            "program": pa.array(["jit_add(7)" if op else None for op in ops], pa.string()),
            "stack": pa.array([stack if op else None for op in ops], pa.int32()),
        }
    )
    trace = Trace(trace_of(*rows).events, nested=nested, stacks=builder.table())
    assert figures(functions(trace), "name", "traces", "retraces") == {"add": (4, 3 if own else 0)}
    found = trace.findings.set_index("kind")
    assert ("retracing" in found.index) == own
    if not own:
        assert found["figures"]["compiling"]["one_by_one"]
        assert "jax.jit" in found["advice"]["compiling"]


def test_later_compiling_calls_of_jax_are_retracings() -> None:
    rows = [
        *jitted("train", 0, 100, compiles=True),
        ("PjitFunction(tanh)", 10, 20, ""),
        *jitted("train", 200, 5),
        *jitted("train", 300, 50, compiles=True),
        *jitted("<lambda>", 360, 40, compiles=True),
        ("PjitFunction(add)", 402, 4, ""),
        # An eager op in the tracing of another function is compiled by itself.
        *jitted("outer", 410, 100, compiles=True),
        *jitted("const", 420, 60, compiles=True),
    ]
    trace = trace_of(*sorted(rows, key=lambda row: row[1]))
    table = functions(trace)
    names = ("name", "calls", "traces", "retraces", "compilations", "tracing_ns", "compiling_ns")
    assert figures(table, *names) == {
        "train": (3, 2, 1, 2, 110, 36),
        "outer": (1, 1, 0, 1, 20, 18),
        "const": (1, 1, 0, 1, 40, 18),
        "<lambda>": (1, 1, 0, 1, 20, 18),
        "add": (1, 0, 0, 0, 0, 0),
    }
    why = why_not(retraces(trace))
    assert why is not None
    assert why.id == "signatures_not_recorded"
    (found,) = trace.findings["figures"][trace.findings["kind"] == "retracing"]
    assert (found["name"], found["jitted"], found["here_ns"]) == ("train", True, 48)
    samples = [{"time_ns": at, "file": "a.py", "line": line} for at, line in ((310, 4), (345, 4), (380, 9))]
    sampled = trace_of(*sorted(rows, key=lambda row: row[1]))
    sampled.metadata[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, samples)
    how = sampled.findings.set_index("kind")["how"]["retracing"]
    assert "a.py:4 runs in the only sample" in how
    samples = [{"time_ns": at, "file": "a.py", "line": 4} for at in range(300, 350)]
    sampled.metadata[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, samples)
    sure = tv.Trace(sampled.events, step_labels=sampled.step_labels, metadata=dict(sampled.metadata))
    assert "a.py:4 runs in 100 % of the samples" in sure.findings.set_index("kind")["text"]["retracing"]


def test_a_first_call_with_variables_traces_only_twice() -> None:
    trace = trace_of(
        call("f", 0, 100, traced=True, count=2),
        building(10, 20),
        building(40, 30),
        call("f", 200, 50, traced=True, count=3),
        building(210, 20),
        call("f", 300, 5, count=3),
    )
    table = trace.functions
    assert figures(table, "name", "calls", "traces", "retraces", "total_ns", "self_ns", "tracing_ns") == {
        "f": (3, 3, 1, 155, 85, 70)
    }
    assert table["longest"].tolist() == [2]


def test_the_time_of_a_function_traced_within_another_is_its_own() -> None:
    trace = trace_of(
        call("outer", 0, 100, traced=True),
        building(5, 90),
        call("inner", 10, 60, traced=True),
        building(20, 30),
        building(25, 5),
    )
    # The last one is traced while inner is, but not called.
    assert figures(functions(trace), "name", "traces", "tracing_ns") == {
        "outer": (1, 60),
        "inner": (1, 25),
        "": (1, 5),
    }


def test_functions_of_one_name_have_all_their_places() -> None:
    rows: list[Row] = []
    for start in range(0, 500, 100):
        rows += [call("<lambda>", start, 50, traced=True), building(start + 1, 20)]
    recorded = [None, noted("<lambda>", source="a.py:1")] * 2
    for line in (7, 8, 9):
        recorded += [None, noted("<lambda>", source=f"a.py:{line}")]
    table = functions(trace_of(*rows, recorded=recorded))
    assert figures(table, "name", "traces", "source") == {"<lambda>": (5, "a.py:1, a.py:7, a.py:8, ...")}


def test_compilations_belong_to_the_enclosing_call() -> None:
    compile_, other = ("JitCompiler::Compile", 20, 30, ""), ("JitCompiler::Compile", 40, 20, "")
    loose = ("JitCompiler::Compile", 900, 5, "")
    rows = [call("f", 0, 100, traced=True), compile_, other, call("g", 110, 10), loose]
    table = functions(trace_of(*rows, lanes=["python", "python", "tf_xla/1", "python", "python"]))
    assert figures(table, "name", "compilations", "compiling_ns") == {"f": (1, 40), "g": (0, 0)}


def test_tracings_without_times_have_none() -> None:
    table = functions(trace_of(call("f", 0, 9, traced=True, count=4)))
    assert figures(table, "name", "traces", "retraces") == {"f": (1, 1)}
    assert table["tracing_ns"].isna().tolist() == [True]


def test_a_trace_without_functions_cannot_say() -> None:
    trace = trace_of(("MatMul", 0, 9, ""))
    for table in (functions(trace), retraces(trace)):
        assert why_not(table).id == "no_functions"


def test_without_a_second_tracing_there_is_nothing_to_explain() -> None:
    table = retraces(trace_of(call("f", 0, 9, traced=True), building(1, 5)))
    assert table.empty
    assert not why_not(table)


def test_reasons_that_are_not_recorded_are_missing() -> None:
    table = retraces(trace_of(call("f", 0, 9, traced=True, count=2), building(1, 5)))
    assert table.empty
    assert why_not(table).id == "signatures_not_recorded"


def test_what_changed() -> None:
    dtype = SHAPE | {"kind": "dtype", "before": "float32", "after": "float64"}
    trace = trace_of(
        call("f", 0, 9, traced=True, count=2),
        building(1, 5),
        recorded=[None, noted("f", SHAPE, dtype, nodes=7)],
    )
    table = retraces(trace)
    assert table[["name", "argument", "change", "before", "after"]].to_numpy().tolist() == [
        ["f", "x", "shape", "(3,)", "(4,)"],
        ["f", "x", "dtype", "float32", "float64"],
    ]
    assert table["event"].tolist() == [1, 1]
    assert functions(trace)[["nodes", "source"]].to_numpy().tolist() == [[7, "a.py:1"]]


def test_a_function_made_anew_from_the_same_code_is_traced_again() -> None:
    def trace(*sources: str) -> Trace:
        rows, recorded = [], []
        for at, source in enumerate(sources):
            rows += [call("f", 100 * at, 50, traced=True), building(100 * at + 1, 9)]
            recorded += [None, noted("f", source=source)]
        return trace_of(*rows, recorded=recorded)

    again = trace("a.py:1", "a.py:1", "b.py:1", "a.py:1")
    assert functions(again)["retraces"].tolist() == [2]
    assert retraces(again)["change"].tolist() == ["function"] * 2
    assert functions(trace("a.py:1", "a.py:9"))["retraces"].tolist() == [0]


def test_tracings_outside_calls_have_their_recorded_names() -> None:
    trace = trace_of(building(0, 9), building(20, 4), recorded=[noted("map"), noted("map", SHAPE)])
    assert figures(functions(trace), "name", "calls", "traces", "retraces") == {"map": (0, 2, 1)}
    assert retraces(trace)["name"].tolist() == ["map"]


@pytest.mark.parametrize("path", each(sorted(DATA.glob("*.xplane.pb*"))))
def test_counts_of_real_profiles(path: Any) -> None:
    trace = tv.read_trace(path)
    detail = trace.events["detail"].astype(object).fillna("")
    called = int(detail.str.contains("tf_function_call=", regex=False).sum())
    built = int((trace.events["op"] == BUILDING).sum())
    reached = 0
    jitted = trace.events[trace.events["name"].str.startswith("PjitFunction(")]
    for start, duration in jitted[["start_ns", "duration_ns"]].to_numpy().tolist():
        called += start >= reached
        reached = max(reached, start + duration)
    built += int((trace.events["op"] == "lower_sharding_computation").sum())
    table = functions(trace)
    assert (int(table["calls"].sum()), int(table["traces"].sum())) == (called, built)


def again(*kinds: str | tuple[str, ...], traced: int = 40, after: str = "(4,)") -> Trace:
    """Make a trace of calls that each take 100 ns; all but the first trace again for some changes."""
    rows, recorded = [], []
    for at, kind in enumerate(kinds):
        rows += [call("f", 200 * at, 100, traced=True, count=at + 1), building(200 * at + 10, traced)]
        changed = [kind] if isinstance(kind, str) else kind
        changes = [VALUE if one == "value" else SHAPE | {"kind": one, "after": after} for one in changed]
        recorded += [None, noted("f", *(changes if at else []))]
    trace = trace_of(*rows, recorded=recorded)
    step = np.arange(len(rows), dtype=np.int32) // 2
    return Trace(trace.events.assign(step=step), nested=trace.nested)


def test_the_finding_names_the_argument_and_the_time() -> None:
    trace = again("", "shape", "shape", "dtype")
    found = trace.findings.set_index("id")
    row = found.loc["retracing"]
    assert row["share"] == pytest.approx(120 / 400)
    figures = row["figures"]
    wanted = {"name": "f", "retraces": 3, "source": "a.py:1", "change": "shape", "argument": "x", "times": 2}
    assert {name: figures[name] for name in wanted} == wanted
    assert (figures["before"], figures["after"], figures["here_ns"]) == ("(3,)", "(4,)", 40)
    assert row["events"] == [3, 5, 7]


def test_a_value_that_changes_with_a_shape_comes_first() -> None:
    figures = again(*[("shape", "value")] * 3).findings.set_index("id").loc["retracing"]["figures"]
    assert (figures["change"], figures["argument"], figures["times"]) == ("value", "n", 2)
    assert figures["also"] == [{"change": "shape", "argument": "x"}]


@pytest.mark.parametrize(
    ("tracings", "after", "advised"),
    [
        (["shape"] * 4, "(4,)", True),
        (["shape"] * 4, "(None,)", False),
        (["shape"] * 4, "<unknown>", False),
        (["shape", "shape", "shape", "value"], "(4,)", False),
    ],
)
def test_relaxed_shapes_are_advised_only_if_they_help(tracings: list[str], after: str, advised: bool) -> None:
    row = again(*tracings, after=after).findings.set_index("id").loc["retracing"]
    assert (row["figures"]["change"], row["figures"]["relaxable"]) == ("shape", advised)
    assert ("reduce_retracing" in row["advice"]) == advised


def first_runs(*, traced: bool = True, run: str = "FunctionRun") -> Trace:
    """Make two steps that call a function: 10 ns before tracing, 40 tracing, 30 preparing, 20 running."""
    rows, lanes = [], []
    for step in range(2):
        at, ready = 1000 * step, 85 if traced else 5
        rows += [
            call("f", at, ready + 30, traced=traced, count=step + 2),
            *([building(at + 10, 40)] if traced else []),
            ("EagerLocalExecute", at + ready - 3 - 30 * traced, 30 * traced + 25, ""),
            ("KernelAndDeviceFunc::Run", at + ready - 2, 24, ""),
            (run, at + ready, 20, ""),
            ("ExecutorState::Process", at + ready + 5, 10, ""),
        ]
        lanes += ["python"] * (4 + traced) + ["tf_Compute/1"]
    table = trace_of(*rows, lanes=lanes).events
    number = table["start_ns"].to_numpy() // 1000
    links = {"produced": run, "consumed": "ExecutorState::Process"}
    nested = {name: pa.array(number + 1, mask=(table["op"] != op).to_numpy()) for name, op in links.items()}
    return Trace(table.assign(step=number.astype(np.int32)), nested=pa.table(nested))


@pytest.mark.parametrize("run", ["FunctionRun", "CpuExecutable::ExecuteAsyncOnStream"])
def test_tracing_includes_the_first_run_until_it_starts(run: str) -> None:
    trace = first_runs(run=run)
    assert figures(functions(trace), "name", "traces", "tracing_ns") == {"f": (2, 170)}
    assert trace.breakdown["compile_ns"].tolist() == [85] * len(trace.breakdown)
    row = trace.findings.set_index("id").loc["retracing"]
    assert (row["share"], row["figures"]["here_ns"]) == (pytest.approx(85 / 115), 85)
    path = trace.critical_path.groupby("category", observed=True)["duration_ns"].sum()
    assert path["compile"] == 2 * (85 + 10)


def test_without_tracing_a_run_keeps_its_work() -> None:
    trace, plain = first_runs(), first_runs(traced=False)
    assert plain.breakdown["compile_ns"].sum() == 0
    found = trace.what_if(activities={"compile": 0})
    assert found.drift == 0
    assert found.times["predicted_ns"].tolist() == [20, 20]
    of_run = found.events["op"].isin(["FunctionRun", "ExecutorState::Process"])
    assert found.events.loc[of_run, "duration_ns"].tolist() == [20, 10] * 2


def test_no_time_is_reported_twice() -> None:
    trace = again("", "shape", "shape", "shape")
    retracing = trace.findings.set_index("id").loc["retracing"]
    assert retracing["share"] == pytest.approx(120 / 400)
    assert f"{retracing['figures']['name']} takes 30.0 % of step time" in trace.overview["headline"]
    row = measurements(trace).set_index("kind").loc["compiling"]
    assert row["share"] == pytest.approx(40 / 400)


@pytest.mark.parametrize("retraced", [True, False])
def test_steps_that_trace_again_are_not_slow_as_well(*, retraced: bool) -> None:
    """Every third step takes 100 ns more, in which a function is traced again or nothing is recorded."""
    rows, step = [("MatMul", 0, 60, "")], [0]
    at = 100
    for number in range(1, 13):
        took = 100 if number % 3 else 200
        rows.append(("MatMul", at, 60, ""))
        if number % 3 == 0:
            rows += [call("f", at + 60, 140, traced=retraced, count=number + 1)]
            rows += [building(at + 70, 120)] if retraced else []
        else:
            rows.append(("Tanh", at + 60, 40, ""))
        step += [number] * (len(rows) - len(step))
        at += took
    trace = trace_of(*rows)
    trace = Trace(trace.events.assign(step=np.array(step, np.int32)))
    found = set(trace.findings["id"])
    assert ("retracing" in found) == retraced
    assert ("slow_steps.periodic" in found) == (not retraced)


def test_a_first_step_that_compiles_as_later_ones_is_no_finding() -> None:
    trace = again("", "shape", "shape", "shape")
    assert "compiling.first" not in set(trace.findings["id"])
    row = measurements(trace).set_index("kind").loc["compiling"]
    assert "later steps retrace functions" in row["text"]


def test_a_call_outside_steps_that_compiles_in_one_is_named() -> None:
    compiling = ("JitCompiler::Compile", 120, 300, "")
    trace = trace_of(("MatMul", 0, 50, ""), call("f", 100, 400, traced=True, count=3), compiling)
    trace = Trace(trace.events.assign(step=np.array([0, -1, 0], np.int32)))
    row = trace.findings.set_index("id").loc["retracing"]
    assert (row["figures"]["name"], row["figures"]["here_ns"], row["events"]) == ("f", 300, [2])


def test_few_short_retraces_are_none() -> None:
    trace = again("", "shape", "shape", traced=4)
    assert "retracing" not in set(trace.findings["id"])
    row = measurements(trace).set_index("kind").loc["retracing"]
    assert row["share"] == pytest.approx(8 / 300)
    assert row["figures"]["retraces"] == 2


def test_many_short_retraces_are_reported() -> None:
    trace = again("", *["value"] * 3, traced=1)
    assert "retracing" in set(trace.findings["id"])


NOTHING: list[Any] = [
    {"function": None, "source": None, "nodes": None, "changes": None},
    {"function": "f", "source": None, "nodes": 2**63 - 1, "changes": [None]},
    {"function": "f", "source": "", "nodes": -5, "changes": [dict.fromkeys(SHAPE)]},
]


@pytest.mark.parametrize("known", NOTHING)
def test_tracings_in_a_file_may_be_malformed(known: Any) -> None:
    trace = trace_of(call("f", 0, 9, traced=True, count=2), building(1, 5), recorded=[known, known])
    assert functions(trace)["retraces"].tolist() == [1]
    assert len(retraces(trace)) == (known["changes"] == [dict.fromkeys(SHAPE)])


def slow(rows: list[Row]) -> dict[str, tuple[int, int]]:
    """Count the calls and tracings of each function, each tracing for the call right around it."""
    found: dict[str, list[int]] = {}
    for row in rows:
        name, start, length, _ = row
        if name != BUILDING:
            found.setdefault(name, [0, 0])[0] += 1
            continue
        around = [one for one in rows if one is not row and one[1] <= start]
        around = [one for one in around if one[1] + one[2] >= start + length]
        nearest = min(around, key=lambda one: one[2], default=row)
        found.setdefault("" if nearest[0] == BUILDING else nearest[0], [0, 0])[1] += 1
    return {name: (calls, traces) for name, (calls, traces) in found.items()}


@st.composite
def nests(draw: st.DrawFn) -> list[Row]:
    """Make calls and tracings that are nested or disjoint."""
    rows: list[Row] = []

    def fill(start: int, end: int, depth: int) -> None:
        while end - start > 4 and depth < 5 and draw(st.booleans()):
            length = draw(st.integers(3, end - start - 1))
            name = draw(st.sampled_from(["f", "g", BUILDING]))
            rows.append(building(start, length) if name == BUILDING else call(name, start, length))
            fill(start + 1, start + length - 1, depth + 1)
            start += length + 1

    fill(0, 300, 0)
    return rows


@given(nests())
def test_nested_calls_against_a_slow_count(rows: list[Row]) -> None:
    table = functions(trace_of(*rows))
    assert figures(table, "name", "calls", "traces") == slow(rows)
    built = [row for row in rows if row[0] == BUILDING]
    covered = np.unique([time for row in built for time in range(row[1], row[1] + row[2])])
    assert int(table["tracing_ns"].sum()) == len(covered)
