"""Reasons why a table has no rows; their texts are in the catalogue, see tests/test_texts.py."""

import html
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.real_traces import real_trace
from tfvis_nb.analysis.unavailable import NONE, cannot_say, why_not
from tfvis_nb.display.tabs import blocks
from tfvis_nb.display.tabs.blocks import TableColumn
from tfvis_nb.texts import Text


def test_a_table_keeps_its_reason_when_it_is_filtered() -> None:
    table = cannot_say({"step": "int64"}, Text("no_steps"))
    assert why_not(table[table["step"] > 0]).id == "no_steps"
    assert not why_not(pd.DataFrame({"step": [0]}))


def test_a_table_without_rows_shows_its_reason() -> None:
    reason = Text("gpu_rows_missing", fault="<b>")
    table = cannot_say({"step": "int64"}, reason)
    like_it: list[Any] = [table, table.head(), table.copy(), pickle.loads(pickle.dumps(table))]
    for shown in like_it:
        assert reason in repr(shown)
        assert html.escape(reason) in shown._repr_html_()
    filled: Any = table.merge(pd.DataFrame({"step": [1]}), how="right")
    plain: Any = pd.DataFrame(filled)
    assert (repr(filled), filled._repr_html_()) == (repr(plain), plain._repr_html_())


def test_a_table_without_rows_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        cannot_say({}, NONE)


_NO_PROFILE = {
    "hlo_ops": "no_hlo_ops",
    "input_pipeline": "no_input_pipeline",
    "program_memory": "no_program_memory",
    "out_of_memory": "no_out_of_memory",
}
_NO_GPU = {"kernels": "no_kernels"}
_NO_MEMORY = {"memory": "no_allocations"}
_NO_COSTS = {"roofline": "no_op_costs"}
_NO_CEILINGS = {"roofline": {"peak_flops", "peak_bytes", "ideal_ns", "efficiency"}}
_NO_FREE = {"memory": {"free_bytes", "fragmentation"}}
_NO_LAUNCH = {"static_shared_bytes", "occupancy", "waves"}
_NO_RATES = {"flop_rate", "byte_rate"}
WITHOUT_STATS: dict[str, dict[str, Any]] = {
    "run_metadata_run_step99_tag_train.pbtxt": _NO_PROFILE | _NO_GPU | _NO_MEMORY | _NO_COSTS,
    "run_meta.v1": _NO_PROFILE | _NO_GPU | _NO_FREE | _NO_CEILINGS,
    "run_meta.v3": _NO_PROFILE | _NO_FREE | _NO_CEILINGS | {"kernels": _NO_LAUNCH},
    "gpu_tf221_mlp.pb.xz": _NO_PROFILE | _NO_FREE | _NO_CEILINGS | {"kernels": {"waves"}},
    "local_mlp_step1.pb": _NO_PROFILE | _NO_GPU | _NO_FREE | _NO_CEILINGS,
    "timeline_tf10_gpu.json": _NO_PROFILE
    | _NO_MEMORY
    | _NO_COSTS
    | {"kernels": {"registers"} | _NO_LAUNCH | _NO_RATES},
    "kineto_rank0.json.xz": _NO_PROFILE | _NO_MEMORY | _NO_COSTS | {"kernels": _NO_LAUNCH | _NO_RATES},
    "tf2_host.trace.json": _NO_PROFILE
    | _NO_GPU
    | _NO_MEMORY
    | _NO_COSTS
    | {"input_pipeline": {"buffered_mean", "buffered_bytes", "cpu_budget", "ram_budget_bytes"}},
    "horovod_timeline.json.xz": _NO_PROFILE | _NO_GPU | _NO_MEMORY | _NO_COSTS,
    "gpu_tf218_function.xplane.pb.xz": {"hlo_ops": "no_hlo_ops", "kernels": _NO_RATES},
}


@pytest.mark.parametrize("name", WITHOUT_STATS)
def test_unrecorded_values_are_missing_and_not_0(data: Path, name: str) -> None:
    """A table has its reason, a column of a table with other figures has no value, in the tabs a name."""
    trace = real_trace(data / name)
    for table, missing in WITHOUT_STATS[name].items():
        found = getattr(trace, table)
        if isinstance(missing, str):
            assert why_not(found).id == missing
        else:
            assert found[[*missing]].isna().all(axis=None), table
            assert len(found)


def test_a_tab_names_the_columns_without_a_value() -> None:
    columns = [TableColumn("op", "Op", "text", "It."), TableColumn("a", "A", "ns", "It.")]
    rows = pd.DataFrame({"op": ["", "Mul"], "a": pd.array([pd.NA, pd.NA], "Int64")})
    shown = blocks.table("T", rows, columns)
    assert [column["label"] for column in shown["columns"]] == ["Op"]
    assert (shown["rows"], shown["absent"]) == ([[""], ["Mul"]], ["A"])
    assert blocks.table("T", rows.head(0), columns)["absent"] == []
    assert blocks.table("T", rows.head(1), columns, light="op")["absent"] == ["A"]
