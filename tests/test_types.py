"""Type checkers know the options of every display: they report misspelt names and values."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from mypy import api

import tfvis_nb as tv
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.analysis.gates.gate_metrics import METRICS
from tfvis_nb.analysis.gates.limits import Limits
from tfvis_nb.pytest_plugin import TraceFixture
from tfvis_nb.recording.options import RecordingOptions
from tfvis_nb.texts import text_of

ROOT = Path(__file__).parent.parent

_GOOD = """
import tfvis_nb as tv
from tfvis_nb.analysis.findings.table import FindingsTable
from tfvis_nb.pytest_plugin import TraceFixture

t = tv.read_trace("step.pb")
tv.show_timeline(t, height=300, group_by="kind", color_by="op", lane_filter="gpu", tracks={}, view={})
tv.show_timeline("step.pb", selection=[1], title="a", keep=True)
tv.show_dashboard(t, against="b.pb", color_by="device", height=200)
tv.show_comparison(t, "b.pb", steps=(1, 2), titles=("a", "b"), group_by="none")
tv.monitor("run.tfvis", height=300)
tv.open_traces("logs").show_timeline(tasks="worker 1", height=300)
t.to_html("a.html", max_bytes=None, source=False, anonymize=True, time_range="10ms:25ms", color_by="op")
t.to_svg("a.svg", theme="print", width="8 cm", lanes="gpu", time_range=("1ms", 5))
t.to_png("a.png", dpi=100, theme="dark")
tv.show_timeline(t).to_html(view={"step": 3}, time_range="10ms:25ms")
with tv.trace(mode="session", level="full", framework="jax", device_level=2) as r:
    pass
tv.record_process("run.tfvis", keep=3, level="software")
tv.hook_inject(server_port=9999, keep_traces=3)
t.what_if(ops={"MatMul": 0.5})
tv.assert_trace(t, launches=500, peak_bytes="2GiB", against=t, worse={"step_ms": "20%"})
tv.Timeline.from_pickle("step.pickle", horovod=True, comm_op_name="RecvTensor")
def test_step(tfvis_trace: TraceFixture) -> None:
    with tfvis_trace("a.pb", mode="session", sampling=False):
        pass
    tfvis_trace.check(retraces=0, step_ms="12ms", against=t)
tv.analysis.flame_graph(t, by="stack", side="host", steps=[1])
tv.show_comparison(t, t).differences(by="line")
tv.show_fleet("logs", since=("day1", 4)).to_html(timelines=2)
findings: FindingsTable = t.findings
"""

_WRONG = """
import tfvis_nb as tv
from tfvis_nb.pytest_plugin import TraceFixture
t, tfvis_trace = tv.read_trace("step.pb"), TraceFixture("")  # type: ignore[arg-type]
tv.show_timeline(t, colour_by="op")
tv.show_timeline(t, color_by="colour")
tv.show_timeline(t, hieght=300)
tv.show_dashboard(t, colour_by="op")
tv.show_dashboard(t, height="tall")
tv.show_comparison(t, t, hieght=300)
tv.show_comparison(t, t, group_by="lane")
tv.monitor("run.tfvis", hieght=300)
tv.TimelineWidget(t, hieght=300)
tv.Dashboard(t, hieght=300)
tv.Comparison(t, t, hieght=300)
tv.open_traces("logs").show_timeline(hieght=300)
tv.open_session("run.tfvis").monitor(hieght=300)
tv.history().compare(0, 1, hieght=300)
t.to_html("a.html", colour_by="op")
t.to_html("a.html", anonymise=True)
t.to_svg("a.svg", theme="blue")
t.to_pdf("a.pdf", colours="print")
t.to_png("a.png", dpi="fine")
tv.show_timeline(t).to_html(hieght=300)
tv.trace(mode="sessions")
tv.trace(levle="full")
tv.TraceSession("run.tfvis", level="half")
tv.record_process("run.tfvis", keeps=3)
tv.hook_inject(port=9999)
t.what_if(op={"MatMul": 0.5})
tv.show_comparison(t, t).to_html(color_by="op")
t["3"]
tv.assert_trace(t, launchs=500)
tv.assert_trace(t, launches=[500])
tv.Timeline.from_pickle("step.pickle", horovd=True)
tfvis_trace(levle="full")
tfvis_trace(level="half")
tfvis_trace.check(launchs=500)
tv.analysis.op_statistics(t, by="colour")
tv.analysis.flame_graph(t, side="gpu")
tv.analysis.roofline(t, by="opp")
tv.analysis.transfer_matrix(t, between="lane")
tv.show_comparison(t, t).differences(by="lane")
tv.show_fleet("logs", sinse=3)
tv.show_fleet("logs").to_html(timelnes=2)
t.findings.colour()
"""


def made() -> tv.Trace:
    """Return a trace of one event."""
    return tv.Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}))


def _lines_with_errors(code: str, folder: Path) -> dict[int, str]:
    file = folder / "notebook.py"
    file.write_text(code)
    # The project's own settings and cache, because checking everything anew takes minutes.
    found, problem, _ = api.run(
        ["--config-file", f"{ROOT}/pyproject.toml", "--cache-dir", f"{ROOT}/.mypy_cache", str(file)]
    )
    assert not problem
    lines = re.findall(r"notebook\.py:(\d+): error: (.*)", found)
    return {int(line): message for line, message in lines}


@pytest.mark.slow
def test_type_checkers_know_the_options(tmp_path: Path) -> None:
    assert _lines_with_errors(_GOOD, tmp_path) == {}
    found = _lines_with_errors(_WRONG, tmp_path)
    lines = _WRONG.splitlines()
    expected = [line for line in lines[4:] if line]
    assert [lines[number - 1] for number in found] == expected


def _public_functions() -> dict[str, Any]:
    """Return functions and methods of public names, by their dotted names."""
    found = {f"analysis.{name}": getattr(tv.analysis, name) for name in dir(tv.analysis)}
    classes: dict[str, type] = {"TraceFixture": TraceFixture}
    for name in set(tv.__all__) - {"last_trace"}:
        value = getattr(tv, name)
        if not inspect.isclass(value):
            found[name] = value
        elif not issubclass(value, Exception):
            classes[name] = value
    for name, owner in classes.items():
        for method in dir(owner):
            if method in ("__init__", "__call__") or not method.startswith("_"):
                plain = inspect.getattr_static(owner, method)
                found[f"{name}.{method}"] = getattr(plain, "__func__", plain)
    return {
        name: function
        for name, function in found.items()
        if inspect.isfunction(function) and function.__module__.startswith("tfvis_nb.")
    }


def _optional(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.default is not one.empty or one.kind is one.VAR_KEYWORD]


def test_options_of_public_functions_have_names_and_types() -> None:
    for name, function in _public_functions().items():
        for one in inspect.signature(function).parameters.values():
            # pytest imports the fixture at every start, so its signature is for type checkers alone.
            unpacked = name.startswith("TraceFixture.") and str(one.annotation).startswith("Unpack[")
            assert one.kind is not one.VAR_KEYWORD or unpacked, (name, one)
            assert one.annotation is not one.empty or one.name in ("self", "cls"), (name, one)


def test_public_functions_refuse_unknown_options() -> None:
    functions = {name: one for name, one in _public_functions().items() if _optional(one)}
    assert len(functions) > 90
    for name, function in functions.items():
        if not name.startswith("TraceFixture."):
            with raises_id(TypeError, "unknown_option", name="no_such_option") as caught:
                function(no_such_option=1)
            assert set(_optional(function)) <= set(text_of(caught.value).figures["options"].split(", ")), name
    with raises_id(TypeError, "unknown_option", hint="; did you mean 'level'?"):
        TraceFixture(ROOT)(levle="full")  # type: ignore[call-arg]
    with raises_id(TypeError, "unknown_option", hint="; did you mean 'launches'?"):
        tv.assert_trace(made(), launchs=5)  # type: ignore[call-arg]


def test_named_options_are_those_of_the_original() -> None:
    recorded = inspect.signature(tv.trace).parameters.keys() - {"path"}
    assert set(RecordingOptions.__annotations__) == recorded
    assert set(Limits.__annotations__) == set(METRICS)


# Texts that users choose freely, or that name a column of their data.
_FREE_TEXTS = {"metric", "name", "title", "lane_filter", "server_ip"}


def test_choices_of_public_functions_are_literals() -> None:
    for name, function in _public_functions().items():
        for one in inspect.signature(function).parameters.values():
            if isinstance(one.default, str) and one.name not in _FREE_TEXTS:
                assert one.annotation not in (str, "str"), (name, one)


def test_public_names_are_spelled_one_way() -> None:
    functions = _public_functions()
    names = set(functions).union(*(inspect.signature(one).parameters for one in functions.values()))
    assert not [one for one in names if re.search("colour|utilis|normalis|analyse|anonymis|grey|centre", one)]


def test_signatures_have_the_names_of_all_options() -> None:
    displays = (tv.show_timeline, tv.show_dashboard, tv.show_comparison, tv.TimelineWidget, tv.Trace.to_html)
    for display in displays:
        names = inspect.signature(display).parameters
        assert {"height", "group_by", "color_by", "lane_filter"} <= names.keys()
    assert {"time_range", "theme", "dpi"} <= inspect.signature(tv.Trace.to_png).parameters.keys()
    assert "token" in inspect.signature(tv.hook_inject).parameters


@pytest.mark.parametrize(
    ("call", "wrong", "near"),
    [
        (tv.show_timeline, "hieght", "height"),
        (tv.show_dashboard, "colour_by", "color_by"),
        (tv.show_comparison, "hieght", "height"),
        (tv.monitor, "hieght", "height"),
        (made().to_html, "colour_by", "color_by"),
        (made().to_svg, "them", "theme"),
        (tv.show_timeline(made()).to_html, "time_rage", "time_range"),
        (tv.record_process, "keeps", "keep"),
        (tv.trace, "levle", "level"),
    ],
)
def test_an_unknown_option_names_the_known_ones(call: Any, wrong: str, near: str) -> None:
    with raises_id(TypeError, "unknown_option", name=wrong) as caught:
        call("no-such-file.html", **{wrong: 1})
    assert f"did you mean {near!r}" in str(caught.value)
    assert near in text_of(caught.value).figures["options"].split(", ")
