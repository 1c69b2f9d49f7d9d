"""A fleet in a notebook: cells open timelines that the kernel reads from the dataset."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.notebook import OpenNotebook
from tests.support.fleet_dataset import SLOWER, fleet_dataset

NAMED = "print(shown.timeline and list(shown.timeline.trace.events['op'].unique()))"


def test_a_cell_opens_its_timeline(notebook: OpenNotebook, tmp_path: Path) -> None:
    dataset = fleet_dataset(tmp_path)
    book = notebook(
        [
            "import tfvis_nb",
            f"shown = tfvis_nb.show_fleet({str(dataset.path)!r})\nshown",
            "import time; time.sleep(4)",
        ]
    )
    book.run_all()
    view = book.fleet(1)
    expect(view.cells).to_have_attribute("aria-label", "Step time: 4 tasks, 24 steps")
    view.press("ArrowDown", "ArrowDown")
    view.expect_value(r"step 5 of day2 · worker 1: 90\.0 ms")
    view.press("Enter")
    timeline = book.timeline(1)
    expect(timeline.root.locator(".toolbar .title")).to_have_text("step 5 · worker 1 · day2")
    assert "IteratorGetNext" in book.ask(NAMED)
    view.click(2, 3)
    expect(timeline.root.locator(".toolbar .title")).to_have_text("step 3 · worker 2 · day1")
    expect(book.timelines(1)).to_have_count(1)
    # The kernel sends the figures of another metric when it is chosen.
    view.metric.select_option("Communication")
    expect(view.cells).to_have_attribute("aria-label", "Communication: 4 tasks, 24 steps")
    view.expect_value(r"step 3 of day1 · worker 2: \d\.\d\d ms")
    view.table("Outliers", "Slowest steps").locator("tbody tr").first.get_by_role("button").click()
    expect(timeline.root.locator(".toolbar .title")).to_have_text("step 5 · worker 1 · day2")
    ops = view.table("Slower ops", "Ops since step 0 of day2").locator("tbody tr")
    expect(ops.first).to_contain_text(re.compile(f"{SLOWER}.*% longer"))
    view.click(0, 6)
    view.root.get_by_role("button", name="Compare since here").click()
    view.table("Slower ops", "Ops since step 6 of day1")
    assert book.ask("print(shown.panels._column)") == "6"
    view.root.get_by_role("button", name="Close timeline").click()
    expect(book.timelines(1)).to_have_count(0)
    assert book.ask(NAMED) == "None"
