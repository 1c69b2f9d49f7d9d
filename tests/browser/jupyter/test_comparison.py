"""Two timelines that are compared in a notebook."""

import pytest
from playwright.sync_api import expect

from tests.browser.comparison import LANES, NEW, OLD
from tests.browser.conftest import WINDOW
from tests.browser.notebook import OpenNotebook


@pytest.mark.thorough
def test_in_a_notebook_while_the_kernel_is_busy(notebook: OpenNotebook) -> None:
    show = f"shown = tfvis_nb.show_comparison({str(OLD)!r}, {str(NEW)!r})\nshown"
    book = notebook(["import tfvis_nb", show, "import time\ntime.sleep(40)"])
    book.start(0)
    book.start(1)
    book.start(2)
    shown = book.comparison(1).wait()
    before = shown.same()
    assert shown.lanes()[0] == shown.lanes()[1]
    shown.b.timeline.lanes.focus()
    shown.page.keyboard.press("w")
    shown.b.moved(shown.b.ruler, before)
    shown.same()
    shown.a.table("Ops", "Differences by op")
    assert book.is_running(2)


def test_on_a_laptop_lanes_of_both_are_in_sight(notebook: OpenNotebook) -> None:
    book = notebook([f"import tfvis_nb\ntfvis_nb.show_comparison({str(OLD)!r}, {str(NEW)!r})"])
    book.page.set_viewport_size({"width": 1280, "height": 800})
    book.run_all()
    shown = book.comparison(0).wait()
    # Four lanes of a device below its name.
    for side in (shown.a, shown.b):
        assert side.timeline.host.evaluate(LANES)["height"] >= 100
    book.page.set_viewport_size(WINDOW)


@pytest.mark.thorough
def test_python_knows_the_selections_of_both(notebook: OpenNotebook) -> None:
    show = f"shown = tfvis_nb.show_comparison({str(OLD)!r}, {str(NEW)!r})\nshown"
    book = notebook(["import tfvis_nb", show])
    book.run_all()
    shown = book.comparison(1).wait()
    before = shown.same()
    row = shown.a.table("Ops", "Differences by op").locator("tbody tr").filter(has_text="MatMul").first
    row.locator("td").nth(3).click(force=True)
    shown.a.moved(shown.a.ruler, before)
    shown.same()
    ops = "print(*shown.a.selection['op'], *shown.b.selection['op'])"
    book.wait_until(lambda: book.ask(ops).strip() == "MatMul MatMul")
    book.ask("shown.close()")
    expect(book.timelines(1)).to_have_count(0)
