"""The page of a predicted trace, and its differences from a recorded one."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.dashboard import Dashboard
from tests.browser.timeline import OpenExported
from tests.real_traces import DATA, real_trace
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.prediction import moved, prediction_sentence


def test_the_page_states_predicted_and_recorded_times(exported: OpenExported, tmp_path: Path) -> None:
    predicted = real_trace(DATA / "gpu_tf221_mlp.pb.xz").what_if(ops={"MatMul": 3})
    found = moved(predicted)
    assert found is not None
    changed = int(abs(predicted.events["duration_ns"] - found.duration_ns).argmax())
    path = predicted.to_html(tmp_path / "page.html", selection=[changed])
    timeline = exported(path).wait()
    mark = timeline.root.locator(".toolbar .predicted")
    assert mark.get_attribute("title") == prediction_sentence(predicted)
    legend = timeline.root.get_by_role("group", name="Legend")
    expect(legend.get_by_text("predicted")).to_be_visible()
    durations = [timeline.expect_fact(term) for term in ("Recorded duration", "Duration")]
    recorded = int(found.duration_ns[changed])
    assert durations == [
        format_duration(ns) for ns in (recorded, int(predicted.events["duration_ns"][changed]))
    ]
    assert durations[0] != durations[1]


def test_the_page_of_a_recorded_trace_has_none_of_it(exported: OpenExported, tmp_path: Path) -> None:
    path = real_trace(DATA / "gpu_tf221_mlp.pb.xz").to_html(tmp_path / "page.html", selection=[20])
    timeline = exported(path).wait()
    timeline.expect_fact("Duration")
    assert not {"Recorded start", "Recorded duration"} & {*timeline.facts()}
    expect(timeline.root.locator(".toolbar .predicted")).to_have_count(0)
    legend = timeline.root.get_by_role("group", name="Legend")
    expect(legend.get_by_text("predicted")).to_have_count(0)


def test_a_page_has_the_predictions_but_no_slider(shown: Dashboard) -> None:
    table = shown.table("What if", "Steps without an activity")
    expect(table.locator("tbody tr")).not_to_have_count(0)
    expect(shown.panels.get_by_role("slider")).to_have_count(0)
