"""The code of a trace in JupyterLab: lines select events in the kernel; large traces request it."""

from playwright.sync_api import Locator, expect

from tests.browser.conftest import WINDOW
from tests.browser.jupyter.test_large import IN_WINDOWS, SHOW, TRACE
from tests.browser.notebook import Notebook, OpenNotebook
from tests.browser.timeline import Timeline, press_in_view_menu

CODED = """
import pyarrow as pa
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.core.trace import replaced

builder = StackBuilder()
builder.file("Cell [3]", "def step(x):\\n    return tf.nn.softmax(x @ x)")
lines = {False: builder.stack([Frame("other.py", 8)]), True: builder.stack([Frame("Cell [3]", 2, "step")])}
stacks = pa.array([lines[each == "needle/Softmax"] for each in name], pa.int32())
trace = replaced(trace, table, nested=pa.table({"stack": stacks}), stacks=builder.table())
"""


def opened(notebook: OpenNotebook, limits: str) -> tuple[Notebook, Timeline, Locator]:
    book = notebook([f"{TRACE}\n{limits}\n{CODED}", SHOW])
    book.run_all()
    timeline = book.timeline(1)
    press_in_view_menu(timeline.root, "Code")
    return book, timeline, timeline.root.get_by_role("region", name="Code")


def test_a_large_trace_asks_for_its_code(notebook: OpenNotebook) -> None:
    _, timeline, pane = opened(notebook, IN_WINDOWS)
    pane.get_by_role("tab", name="Cell [3]").click()
    pane.get_by_role("option", name="tf.nn.softmax").click()
    expect(timeline.root.get_by_role("search").locator("output")).to_have_text("1 of 3")
    timeline.search_box.press("Enter")
    expect(timeline.title).to_have_text("needle/Softmax")
    call = timeline.details.get_by_role("list", name="Stack").get_by_role("button")
    expect(call).to_have_text("Cell [3]:2 in step")
    expect(timeline.details.locator(".snippet div")).to_have_count(2)


def test_code_below_details_leaves_the_lanes_their_height(notebook: OpenNotebook) -> None:
    book = notebook([f"{TRACE}\n{CODED}", SHOW])
    book.run_all()
    book.page.set_viewport_size({"width": 1100, "height": 900})
    timeline = book.timeline(1)
    timeline.lanes.scroll_into_view_if_needed()
    timeline.host.evaluate("host => host.tfvis.store.select({ events: [0] })")
    expect(timeline.title).not_to_have_text("Whole run")
    lanes, root = timeline.lanes.bounding_box(), timeline.root.bounding_box()
    assert lanes
    assert root
    timeline.lanes.press("l")
    pane = timeline.root.get_by_role("region", name="Code")
    expect(pane).to_be_visible()
    beside, code = timeline.details.bounding_box(), pane.bounding_box()
    assert beside
    assert code
    assert code["y"] == beside["y"] + beside["height"]
    expect(timeline.root).to_have_css("height", f"{root['height'] + code['height']:g}px")
    after = timeline.lanes.bounding_box()
    assert after
    assert after["height"] == lanes["height"]
    timeline.lanes.press("l")
    expect(timeline.root).to_have_css("height", f"{root['height']:g}px")
    # A line of code stays under the click that selects its events.
    timeline.lanes.press("Escape")
    expect(timeline.title).to_have_text("Whole run")
    timeline.lanes.press("l")
    pane.get_by_role("tab", name="Cell [3]").click()
    place = pane.bounding_box()
    pane.get_by_role("option", name="tf.nn.softmax").click()
    expect(timeline.title).not_to_have_text("Whole run")
    assert pane.bounding_box() == place
    book.page.set_viewport_size(WINDOW)
