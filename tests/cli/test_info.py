"""``tfvis-nb info``: the figures are those of the tables."""

import json
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.examples import sample
from tfvis_nb.analysis import gate_metrics, op_statistics
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.cli import main
from tfvis_nb.cli.info import lines, summary
from tfvis_nb.core.note_order import most_important_first
from tfvis_nb.events import build
from tfvis_nb.texts import id_of

_OPS = "ops by self time: "
SAMPLES = [
    "cpu_tf18_dist.pb.xz",
    "gpu_tf221_mlp.pb.xz",
    "gpu_tf218_function.xplane.pb.xz",
    "horovod_timeline.json.xz",
    "kineto_rank0.json.xz",
]


@pytest.mark.parametrize("name", sample(SAMPLES, {"gpu_tf218_function.xplane.pb.xz", "kineto_rank0.json.xz"}))
def test_json_has_the_figures(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(DATA / name)]) == 0
    facts = json.loads(capsys.readouterr().out)
    trace = real_trace(DATA / name)
    assert facts["events"] == len(trace.events)
    assert [step["duration_ns"] for step in facts["steps"]] == trace.steps["duration_ns"].tolist()
    assert [lane["busy_ns"] for lane in facts["lanes"]] == trace.lanes["busy_ns"].tolist()
    assert sum(device["events"] for device in facts["devices"]) == len(trace.events)
    assert sum(op["total_ns"] for op in facts["ops"]) == int(trace.events["duration_ns"].sum())
    assert sum(row["count"] for row in facts["transfers"]) == len(trace.transfers)
    assert sum(row["bytes"] or 0 for row in facts["transfers"]) == trace.transfers["bytes"].sum()
    assert facts["notes"] == most_important_first(trace.notes)
    for column in ("id", "figures", "events", "event_count", "step", "text"):
        assert [finding[column] for finding in facts["findings"]] == trace.findings[column].tolist()
    known = gate_metrics(trace)
    assert [row["metric"] for row in facts["metrics"] if row["value"] is not None] == (
        known["metric"][known["value"].notna()].tolist()
    )


@pytest.mark.parametrize("name", ["tf2_host.trace.json", "run_meta.v0"])
def test_json_has_no_nan_and_its_fields_are_documented(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(DATA / name)]) == 0
    facts = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    page = (DATA.parents[1] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"| `schema_version` | {facts['schema_version']};" in page
    fields = [*facts, *(field for finding in facts["findings"] for field in finding)]
    assert [field for field in fields if f"`{field}`" not in page] == []


def test_json_has_the_reason_for_no_findings() -> None:
    facts = summary(tv.Trace(build({}, rows=0)))
    assert (facts["findings"], id_of(facts["findings_reason"])) == ([], "no_steps")


@pytest.mark.parametrize("name", sample(SAMPLES, {"gpu_tf218_function.xplane.pb.xz", "kineto_rank0.json.xz"}))
def test_text_has_a_table_for_all_there_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(DATA / name), "--top", "2"]) == 0
    text = capsys.readouterr().out
    trace = real_trace(DATA / name)
    assert text.startswith(f"{name}: {len(trace.events):,} events")
    stated = op_statistics(trace)
    kinds = set(stated["kind"][stated["side"] != "network"])
    assert {line.removeprefix(_OPS) for line in text.splitlines() if line.startswith(_OPS)} == kinds
    assert ("\ntransfers and copies\n" in text) == (len(trace.transfers) > 0)
    assert ("\nnotes\n" in text) == bool(trace.notes)
    if len(trace.lanes) > 2:
        assert f"({len(trace.lanes) - 2:,} more; --top {len(trace.lanes)} shows all)" in text


def test_the_busiest_and_the_longest_come_first() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    text = lines(trace, 1)
    kernels = trace.events[trace.events["kind"] == "kernel"].groupby("op", observed=True)["duration_ns"].sum()
    place = text.index(f"{_OPS}kernel")
    assert text[place + 2].split()[0] == kernels.idxmax()


def test_nested_calls_count_once() -> None:
    columns = {"lane": ["python"] * 2, "kind": ["host"] * 2, "op": ["outer", "inner"]}
    table = build({"start_ns": [0, 1], "duration_ns": [10, 6], **columns})
    text = [line.split() for line in lines(tv.Trace(table), 5)]
    place = text.index(f"{_OPS}host".split())
    assert [row[:3] for row in text[place + 2 : place + 4]] == [["inner", "1", "6"], ["outer", "1", "4"]]


def test_the_slow_rank_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Rank 1 was given more work."""
    ranks = [str(DATA / f"horovod_rank{rank}_step3.pb.xz") for rank in (0, 1)]
    assert main(["info", *ranks, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    slow, fast = facts["ranks"]
    assert slow["task"].endswith("/task:1")
    assert (slow["last"], slow["collectives"], fast["last"]) == (8, 8, 0)
    assert slow["sole_wait_ns"] == fast["waited_ns"] == pytest.approx(212e6, rel=0.01)
    assert main(["info", *ranks]) == 0
    text = capsys.readouterr().out.splitlines()
    place = text.index("ranks, in each step the slowest first")
    assert text[place + 2].split()[:5] == ["0", "/job:worker/replica:0/task:1", "8", "of", "8"]
    assert text[place + 3].split()[:5] == ["0", "/job:worker/replica:0/task:0", "0", "of", "8"]


def test_names_of_a_trace_do_not_act_on_the_terminal() -> None:
    table = build(
        {"start_ns": [5], "duration_ns": [3], "kind": ["op"], "op": ["a\x1b[31m\nb"], "device": ["x\x07"]}
    )
    trace = tv.Trace(table, notes=["one\n\x1b[2Jtwo"], title="t\x1b]0;x")
    assert all(letter.isprintable() for line in lines(trace, 5) for letter in line)
    assert json.loads(json.dumps(summary(trace)))["ops"][0]["op"] == "a\x1b[31m\nb"


def test_a_pattern_and_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 3):
        (tmp_path / f"run_meta.v{number}").write_bytes((DATA / f"run_meta.v{number}").read_bytes())
    for source in (tmp_path, tmp_path / "run_meta.*"):
        assert main(["info", "--json", str(source)]) == 0
        assert [step["label"] for step in json.loads(capsys.readouterr().out)["steps"]] == [
            "run_meta.v1",
            "run_meta.v3",
        ]


def test_a_base_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    trace, base = DATA / "gpu_tf221_mlp.pb.xz", DATA / "gpu_tf218_mlp.pb.xz"
    sentences = [str(each) for each in comparison_headline(real_trace(base), real_trace(trace))]
    assert main(["info", str(trace), "--against", str(base), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["comparison"] == sentences
    assert main(["info", str(trace), "--against", str(base)]) == 0
    assert " ".join(sentences) in capsys.readouterr().out
