"""Lanes by the thousand in an exported page: groups begin closed; the busiest come first if asked for."""

from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.timeline import OpenExported, Timeline
from tfvis_nb import Trace, events

TASKS, LANES = 250, 4
BUSY = [201, 7, 99]
"""The tasks whose lanes work longest, in that order."""


def fleet() -> Trace:
    """A trace of many tasks, each with a few lanes; the last task works longest."""
    rows = [(task, lane) for task in range(TASKS) for lane in range(LANES)]
    length = [400 - 100 * BUSY.index(task) if task in BUSY else 10 for task, _ in rows]
    return Trace(
        events.build(
            {
                "start_ns": [task * 1000 for task, _ in rows],
                "duration_ns": [ns * (lane + 1) // LANES for ns, (_, lane) in zip(length, rows, strict=True)],
                "task": [f"/job:worker/replica:0/task:{task}" for task, _ in rows],
                "device": [f"/job:worker/replica:0/task:{task}/device:CPU:0" for task, _ in rows],
                "lane": [f"thread {lane}" for _, lane in rows],
                "kind": ["op"] * len(rows),
                "name": ["MatMul"] * len(rows),
                "op": ["MatMul"] * len(rows),
            }
        )
    )


def groups(timeline: Timeline) -> Locator:
    return timeline.root.locator("button.group:not([data-sticky])")


def test_the_busiest_groups_and_lanes_come_first(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(Path(fleet().to_html(tmp_path / "page.html", height=600))).wait()
    expect(groups(timeline).first).to_contain_text("worker 0")
    expect(groups(timeline).first).to_have_attribute("aria-expanded", "false")
    timeline.root.get_by_role("textbox", name="Filter lanes").hover()
    button = timeline.root.get_by_role("button", name="Busiest first", include_hidden=True)
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    for at, task in enumerate(BUSY):
        expect(groups(timeline).nth(at)).to_contain_text(f"worker {task}")
    groups(timeline).first.click()
    expect(timeline.root.locator(".label b").first).to_have_text(f"thread {LANES - 1}")
    button.click()
    expect(groups(timeline).first).to_contain_text("worker 0")
