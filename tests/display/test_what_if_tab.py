"""The tab of predictions: choices, answers of the kernel, and errors."""

import math
from typing import Any

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.examples import sample
from tfvis_nb.display.dashboard.dashboard_widget import Dashboard
from tfvis_nb.display.tabs import tab, what_if
from tfvis_nb.texts import Text, text_of

LAUNCH = {"subject": "activities", "name": "launch", "how": 0}


@pytest.fixture(scope="module")
def trace() -> tv.Trace:
    return real_trace(DATA / "gpu_tf221_mlp.pb.xz")


@pytest.fixture
def shown(trace: tv.Trace) -> Any:
    dashboard = tv.show_dashboard(trace)
    yield dashboard
    dashboard.close()


def asked(shown: Dashboard, kind: str, change: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(shown.panels, "send", lambda content, **_: sent.append(content))
    shown.panels._handle_custom_msg({"kind": kind, "id": "7", "change": change}, [])
    (message,) = sent
    assert (message["kind"], message["id"]) == (kind, "7")
    return message


@pytest.mark.parametrize(
    "name", sample(["gpu_tf221_dist.pb.xz", "cpu_tf221_while.pb.xz"], kept=["gpu_tf221_dist.pb.xz"])
)
def test_everything_that_is_offered_can_be_predicted(name: str) -> None:
    trace = real_trace(DATA / name)
    control, costs = tab(trace, "What if")["blocks"]
    assert {choice["subject"] for choice in control["choices"]} >= {"activities", "ops", "layers"}
    for choice in control["choices"]:
        for offered, label in choice["names"]:
            assert label.isprintable()
            found = what_if.outcome(trace, {"subject": choice["subject"], "name": offered, "how": 0.5})
            assert found["recorded_ns"] == control["now"]["recorded_ns"]
            assert found["predicted_ns"] >= 0
    assert len(costs["rows"]) <= len(control["choices"][0]["names"])


@pytest.mark.parametrize("name", ["gpu_tf221_mlp.pb.xz", "gpu_tf221_dist.pb.xz"])
def test_changes_that_save_most_come_first(name: str) -> None:
    trace = real_trace(DATA / name)
    for choice in tab(trace, "What if")["blocks"][0]["choices"]:
        how = {"subject": choice["subject"], "how": 0}
        found = [what_if.outcome(trace, how | {"name": name}) for name, _ in choice["names"]]
        saved = [outcome["recorded_ns"] - outcome["predicted_ns"] for outcome in found]
        assert sum(saved[:3]) >= max(saved) > 0, choice["subject"]
        if choice["subject"] in ("activities", "on_time"):
            assert saved == sorted(saved, reverse=True)


def test_without_a_change_the_step_is_as_recorded(trace: tv.Trace) -> None:
    now = tab(trace, "What if")["blocks"][0]["now"]
    (step,) = trace.steps["duration_ns"]
    assert now["recorded_ns"] == now["predicted_ns"] == sum(part["ns"] for part in now["parts"]) == step


def test_an_answer_has_the_predicted_step(
    trace: tv.Trace, shown: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = asked(shown, "what_if", LAUNCH, monkeypatch)["answer"]
    (predicted,) = trace.what_if(activities={"launch": 0}).times["predicted_ns"]
    assert answer["predicted_ns"] == predicted == sum(part["ns"] for part in answer["parts"])
    assert answer["recorded_ns"] > predicted
    costs = tab(trace, "What if")["blocks"][1]
    assert costs["rows"][0][:2] == ["Launch", answer["recorded_ns"] - predicted]


def test_a_new_prediction_replaces_the_previous_timeline(
    shown: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    for how in (0.5, "hidden"):
        assert "error" not in asked(shown, "open", LAUNCH | {"how": how}, monkeypatch)
        opened.append(shown.get_state()["_opened__drawn"])
        assert shown.get_state()["_opened"]
    assert all(opened)
    assert opened[0] != opened[1]
    shown.close()
    assert not shown.get_state()["_opened__drawn"]


@pytest.mark.parametrize("kind", ["what_if", "open"])
def test_unpredictable_changes_are_answered_with_reasons(
    trace: tv.Trace, shown: Dashboard, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name, how in (("compile", 0), ("launch", -1), ("launch", math.nan), ("launch", "half")):
        with pytest.raises(ValueError, match=r".") as raised:
            trace.what_if(activities={name: how})
        answer = asked(shown, kind, LAUNCH | {"name": name, "how": how}, monkeypatch)
        assert answer["error"] == text_of(raised.value)


@pytest.mark.parametrize("change", [LAUNCH | {"how": None}, LAUNCH | {"subject": "trace"}, {}], ids=str)
def test_requests_without_a_change_are_answered_with_reasons(
    shown: Dashboard, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    reason = Text("unknown_question", kind=change.get("subject"))
    assert asked(shown, "what_if", change, monkeypatch)["error"] == reason


def test_a_large_trace_has_the_reason(
    trace: tv.Trace, shown: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if, "MOST_EVENTS", 100)
    reason = Text("too_large_to_predict", events=len(trace.events), most=100)
    assert asked(shown, "what_if", LAUNCH, monkeypatch)["error"] == reason
    (block,) = tab(trace, "What if")["blocks"]
    assert block["cannot_say"] == reason


@pytest.fixture(scope="module")
def input_bound() -> tv.Trace:
    return real_trace(DATA / "cpu_tf215_input.xplane.pb.xz")


def test_an_answer_has_the_range_of_steps(input_bound: tv.Trace) -> None:
    found = what_if.outcome(input_bound, {"subject": "activities", "name": "input", "how": 0})
    typical = input_bound.what_if(activities={"input": 0}).typical
    assert len(input_bound.steps) >= 5
    assert found["range"] == (typical.low_ns, typical.high_ns)
    assert (found["recorded_ns"], found["predicted_ns"]) == (typical.recorded_ns, typical.predicted_ns)
    assert typical.low_ns <= typical.predicted_ns <= typical.high_ns


def test_rows_agree_with_the_slider(input_bound: tv.Trace) -> None:
    rows = {row[0]: row for row in tab(input_bound, "What if")["blocks"][1]["rows"]}
    _, saved, share, along = rows["Input"]
    slid = what_if.outcome(input_bound, {"subject": "activities", "name": "input", "how": 0})
    assert len(input_bound.steps) > 1
    assert 0 < saved == slid["recorded_ns"] - slid["predicted_ns"]
    assert slid["all_steps"] == ("All steps", share)
    assert "waits for input" in along


def test_removed_kernels_leave_their_launches() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    found = trace.what_if(activities={"device_compute": 0})
    launches = trace.events["lane"].eq("ops").to_numpy()[found.rows]
    assert (found.events["duration_ns"] > 0)[launches].any()
    assert (found.events["duration_ns"] == 0)[found.events["kind"] == "kernel"].all()
