"""Dashboards in a notebook: while the kernel is busy, and several of them."""

from functools import partial

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import MEMORY, TRACE
from tests.browser.notebook import OpenNotebook

CHOSEN = """
import ipywidgets.widgets.widget as w
print([each.trait_values().get("_panels__chosen") for each in w._instances.values()])
"""

GATED = """
import threading, tfvis_nb
from tfvis_nb.display.dashboard import tabs_widget
gate, order, tab = threading.Semaphore(0), [], tabs_widget.tab
def gated(trace, title, *others):
    if title != "Overview":
        gate.acquire()
        order.append(title)
    return tab(trace, title, *others)
tabs_widget.tab = gated
"""


def test_the_tab_clicked_last_is_computed_first(notebook: OpenNotebook) -> None:
    book = notebook([GATED, f"shown = tfvis_nb.show_dashboard({str(TRACE)!r})\nshown"])
    book.run_all()
    shown = book.dashboard(1).wait()

    def is_chosen(name: str) -> bool:
        return book.ask("print(shown.panels._chosen)") == name

    waiting = shown.panels.get_by_role("status").filter(visible=True)
    shown.panels.get_by_role("tab", name="Time", exact=True).click()
    expect(waiting.filter(has_text="Computing: Breakdown …")).to_be_visible()
    for name in ("Ops", "Memory", "What if"):
        shown.panels.get_by_role("tab", name=name, exact=True).click()
        expect(waiting.filter(has_text="Waiting: Breakdown is computed first …")).to_be_visible()
        book.wait_until(partial(is_chosen, name))
    book.ask("gate.release(2)")
    expect(shown.panels.get_by_role("tabpanel", name="What if").locator(".block").first).to_be_visible()
    shown.panels.get_by_role("tab", name="Ops", exact=True).click()
    expect(waiting.filter(has_text="Waiting: Memory is computed first …")).to_be_visible()
    book.ask("gate.release(20)")
    expect(shown.panels.get_by_role("tabpanel", name="Ops").locator(".block").first).to_be_visible()
    assert book.ask("print(*order[:4], sep=', ')") == "Breakdown, What if, Memory, Ops"


@pytest.mark.thorough
def test_it_works_while_the_kernel_is_busy(notebook: OpenNotebook) -> None:
    book = notebook(
        ["import tfvis_nb", f"tfvis_nb.show_dashboard({str(TRACE)!r})", "import time\ntime.sleep(40)"]
    )
    book.start(0)
    book.start(1)
    book.start(2)
    shown = book.dashboard(1).wait()
    chart = shown.chart("Memory", MEMORY)
    before = shown.settled(shown.ruler)
    shown.click(shown.table("Ops", "By op type"), 4)
    near = shown.moved(shown.ruler, before)
    shown.chart("Memory", MEMORY)
    assert shown.settled(chart) == pytest.approx(near, abs=0.02)
    assert book.is_running(2)


@pytest.mark.thorough
def test_dashboards_of_a_notebook_are_independent_and_close(notebook: OpenNotebook) -> None:
    show = f"shown = tfvis_nb.show_dashboard({str(TRACE)!r})\nshown"
    book = notebook(["import tfvis_nb", show, show])
    book.run_all()
    one, other = book.dashboard(1).wait(), book.dashboard(2).wait()
    for each in (one, other):
        each.chart("Memory", MEMORY)
    before = one.settled(one.ruler)
    other.click(other.table("Ops", "By op type"), 4)
    other.moved(other.ruler, before)
    assert one.settled(one.ruler) == before
    # Python knows the selection made by a click on a row.
    selected = other.timeline.title.inner_text()
    book.wait_until(lambda: book.ask("print(*shown.selection['name'])").splitlines()[0] == selected)
    one.tab("Ops")
    book.wait_until(lambda: "Ops" in book.ask(CHOSEN))
    book.ask("shown.close()")
    expect(other.panels).to_have_count(0)
    expect(other.timeline.host).to_have_count(0)
    expect(one.panels).to_have_count(1)
    # The next run of the cell has the same tab in front.
    book.run(1)
    tab = book.dashboard(1).wait().panels.get_by_role("tab", name="Ops", exact=True)
    expect(tab).to_have_attribute("aria-selected", "true")
