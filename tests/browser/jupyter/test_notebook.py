"""The timeline as a guest of JupyterLab: several of it, run again, hidden, reopened, in another theme."""

import json
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.notebook import Notebook, OpenNotebook
from tests.browser.timeline import OpenExported, Timeline, choose, expect_choice
from tests.real_traces import DATA

LOSS = "SparseSoftmaxCrossEntropyWithLogits"
"""An op that the trace has once."""

SHOW = f"""
import tfvis_nb as tv
widget = tv.show_timeline({str(DATA / "local_mlp_step1.pb")!r}, height=420)
widget
"""
SELECT_AN_EVENT = f"""
row = widget.trace.events.query('op == "{LOSS}"')
widget.selection = row
print(row['name'].iloc[0])
"""
SELECT_A_RANGE = """
starts = widget.trace.events.start_ns
widget.selection = (starts.min(), starts.max())
print(len(widget.selection))
"""
HEIGHT = "element => element.clientHeight"


def opened(notebook: OpenNotebook, *more: str) -> tuple[Notebook, Timeline]:
    book = notebook([SHOW, *more])
    book.run_all()
    return book, book.timeline(0)


def test_a_click_sets_the_selection_in_python(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook)
    timeline.find(f"op:{LOSS}")
    chosen = timeline.title.inner_text()
    expect(timeline.status.last).to_contain_text(LOSS)
    timeline.clear()
    book.wait_until(lambda: book.ask("print(len(widget.selection))") == "0")

    event = int(book.ask(f"print(widget.trace.events.query('op == \"{LOSS}\"').index[0])"))
    timeline.find(f"op:{LOSS}")
    timeline.place(event)
    timeline.clear()
    timeline.click(event)
    book.wait_until(lambda: book.ask("print(*widget.selection.index)") == str(event))
    assert book.ask("print(widget.selection[['name', 'op']].iloc[0].tolist())") == f"['{chosen}', '{LOSS}']"


def test_what_opens_leaves_the_lanes_their_height(notebook: OpenNotebook) -> None:
    _, timeline = opened(notebook)
    lanes = timeline.lanes
    if timeline.details.count():
        timeline.root.get_by_role("button", name="Details", exact=True).click()
    expect(timeline.details).to_have_count(0)
    height = lanes.evaluate(HEIGHT)
    timeline.find(f"op:{LOSS}")
    lanes.press("g")
    expect(timeline.root.get_by_role("region", name="Graph")).to_be_visible()
    timeline.page.wait_for_function(
        f"([lanes, least]) => ({HEIGHT})(lanes) >= least", arg=[lanes.element_handle(), height]
    )
    expect(timeline.details.locator(":scope > :last-child")).to_be_visible()
    # The table of a range takes the place of the graph.
    at = timeline.lanes.bounding_box()
    assert at
    mouse = timeline.page.mouse
    mouse.move(at["x"] + 20, at["y"] + 30)
    mouse.down()
    mouse.move(at["x"] + at["width"] * 0.8, at["y"] + 60, steps=3)
    mouse.up()
    expect(timeline.root.get_by_role("region", name="Selected range")).to_be_visible()
    expect(timeline.root.get_by_role("region", name="Graph")).to_have_count(0)
    timeline.page.wait_for_function(
        f"([lanes, least]) => ({HEIGHT})(lanes) >= least", arg=[lanes.element_handle(), height]
    )
    timeline.find(f"op:{LOSS}")
    expect(timeline.root.get_by_role("region", name="Graph")).to_be_visible()
    # Dragged to a height, it has that height plus its open panes.
    before = timeline.root.evaluate(HEIGHT)
    timeline.root.get_by_role("separator", name="Height of the timeline").press("ArrowDown")
    expect(timeline.root).to_have_css("height", f"{before + 16}px")
    lanes.press("g")
    timeline.page.wait_for_function(
        f"([root, most]) => ({HEIGHT})(root) < most", arg=[timeline.root.element_handle(), before]
    )
    assert lanes.evaluate(HEIGHT) >= height


@pytest.mark.thorough
def test_python_sets_the_selection_in_the_timeline(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook)
    name = book.ask(SELECT_AN_EVENT)
    expect(timeline.title).to_have_text(name)
    inside = book.ask(SELECT_A_RANGE)
    expect(timeline.title).to_contain_text("selected")
    assert timeline.expect_fact("Events") == inside
    book.ask("widget.selection = None")
    expect(timeline.title).to_have_text("Whole run")


@pytest.mark.thorough
def test_views_of_a_widget_share_only_its_selection(
    notebook: OpenNotebook,
) -> None:
    book, first = opened(notebook, "widget", SHOW.replace("widget", "other"))
    second, other = book.timeline(1), book.timeline(2)
    first.find(f"op:{LOSS}")
    expect(first.status.last).to_contain_text(LOSS)
    expect(second.title).to_have_text(first.title.inner_text())
    other.lanes.focus()
    book.page.keyboard.press("0")
    expect(other.title).to_have_text("Whole run")
    book.wait_until(lambda: book.ask("print(len(widget.selection), len(other.selection))") == "1 0")
    second.lanes.focus()
    book.page.keyboard.press("Escape")
    # It has a search of its own.
    expect(first.title).to_have_text("1 match")


@pytest.mark.thorough
def test_a_rerun_cell_has_one_working_timeline(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook)
    for _ in range(3):
        shown = timeline.root.element_handle()
        book.run(0)
        # Detached, it is not visible.
        shown.wait_for_element_state("hidden")
    expect(book.page.locator(".tfvis-nb")).to_have_count(1)
    timeline.find(f"op:{LOSS}")
    book.wait_until(lambda: book.ask("print(len(widget.selection))") == "1")
    book.ask("widget.close()")
    expect(book.page.locator(".tfv")).to_have_count(0)


@pytest.mark.thorough
def test_a_collapsed_output_comes_back_as_python_left_it(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook)
    book.command("notebook:hide-all-cell-outputs")
    expect(timeline.root).not_to_be_visible()
    name = book.ask(SELECT_AN_EVENT)
    book.command("notebook:show-all-cell-outputs")
    expect(timeline.title).to_have_text(name)
    timeline.place(int(book.ask("print(widget.selection.index[0])")))


@pytest.mark.thorough
def test_a_timeline_in_a_hidden_tab_is_drawn_when_the_tab_opens(notebook: OpenNotebook) -> None:
    book = notebook(
        [SHOW.replace("\nwidget\n", "\nimport ipywidgets as w\nw.Tab([w.HTML('first'), widget])\n")]
    )
    book.run_all()
    host = book.timelines(0)
    expect(host).not_to_be_visible()
    book.output(0).get_by_role("tab").nth(1).click()
    timeline = book.timeline(0)
    timeline.find(f"op:{LOSS}")
    expect(timeline.title).to_contain_text(LOSS)


@pytest.mark.thorough
def test_a_reopened_notebook_shows_the_timeline_of_its_kernel(notebook: OpenNotebook) -> None:
    book, _ = opened(notebook)
    book.command("docmanager:save")
    book.open()
    timeline = book.timeline(0)
    timeline.find(f"op:{LOSS}")
    book.wait_until(lambda: book.ask("print(len(widget.selection))") == "1")
    assert book.ask("print(widget.selection['op'].item())") == LOSS


@pytest.mark.thorough
def test_the_theme_is_followed_live(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook)
    expect(timeline.root).to_have_attribute("data-theme", "light")
    book.command("apputils:change-theme", {"theme": "JupyterLab Dark"})
    expect(timeline.root).to_have_attribute("data-theme", "dark")
    book.command("apputils:change-theme", {"theme": "JupyterLab Light"})
    expect(timeline.root).to_have_attribute("data-theme", "light")


@pytest.mark.thorough
def test_options_follow_python_and_the_toolbar(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook)
    book.ask("widget.color_by = 'op'; widget.lane_filter = 'nothing is called so'; widget.height = 300")
    expect_choice(timeline.root, "Colour", "op")
    expect(timeline.root.get_by_role("textbox", name="Filter lanes")).to_have_value("nothing is called so")
    expect(timeline.root).to_have_css("height", "300px")
    choose(timeline.root, "Group lanes", "none")
    book.wait_until(lambda: book.ask("print(widget.group_by)") == "none")


@pytest.mark.thorough
def test_the_menu_exports_an_offline_page(
    notebook: OpenNotebook, exported: OpenExported, tmp_path: Path
) -> None:
    book, timeline = opened(notebook)
    timeline.root.get_by_role("button", name="Export").click()
    with book.page.expect_download() as waiting:
        timeline.root.get_by_role("menuitem", name="Offline page").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.suffix == ".html"
    expect(exported(path).wait().title).to_have_text("Whole run")


@pytest.mark.thorough
def test_an_export_without_a_kernel_says_what_to_do(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook)
    book.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    timeline.root.get_by_role("button", name="Export").click()
    timeline.root.get_by_role("menuitem", name="Offline page").click()
    failure = timeline.root.get_by_role("alert")
    expect(failure).to_have_text("Export failed: the kernel has ended; run the cell again")
    timeline.lanes.press("0")
    expect(failure).to_contain_text("your changes are not saved")


NARROW = """
import json
import tfvis_nb as tv
from tfvis_nb import events
starts = [0, *range(5_000_000, 60_000_000, 5_000_000)]
kernels = len(starts) - 1
table = events.build({
    "start_ns": starts,
    "duration_ns": [60_000_000] + [1_000] * kernels,
    "kind": ["op"] + ["kernel"] * kernels,
    "name": ["step"] + ["MatMul"] * kernels,
    "lane": ["ops"] + ["stream:13"] * kernels,
})
widget = tv.show_timeline(tv.Trace(table))
widget
"""
"""Eleven kernels of 1 us in 60 ms, each narrower than a pixel."""

SHOWN = """
view = widget.view
print(json.dumps([view["start_ns"], view["end_ns"], view["step"], widget.selection.index.tolist()]))
"""


def test_a_click_on_a_narrow_event_keeps_the_view(notebook: OpenNotebook) -> None:
    book = notebook([NARROW, "widget"])
    book.run_all()
    timeline, twin = book.timeline(0), book.timeline(1)

    def shown() -> list[object]:
        return json.loads(book.ask(SHOWN))  # type: ignore[no-any-return]

    def is_selected(event: int) -> bool:
        return shown()[-1] == [event]

    *view, _ = shown()
    for event in (3, 8, 5):
        timeline.click(event)
        book.wait_until(partial(is_selected, event))
        expect(twin.title).to_have_text("MatMul")
        timeline.place(event)
        assert shown() == [*view, [event]]


def test_a_selection_of_python_is_panned_to_but_not_zoomed_to(notebook: OpenNotebook) -> None:
    book = notebook([NARROW])
    book.run_all()
    timeline = book.timeline(0)

    def select(rows: list[int]) -> None:
        book.ask(f"widget.selection = {rows}")
        for row in rows:
            timeline.place(row)

    def shown() -> tuple[int, int]:
        start, end, *_ = json.loads(book.ask(SHOWN))
        return start, end

    whole = shown()
    select([4])
    select([9])
    assert shown() == whole
    book.ask("widget.view = {'start_ns': 0, 'end_ns': 2_000_000}")
    select([6])
    book.wait_until(lambda: shown() == (29_000_500, 31_000_500))
    select([1, 10])
    book.wait_until(lambda: shown()[0] <= 5_000_000 and shown()[1] >= 50_001_000)


COMPILING = """
import tfvis_nb as tv
from tfvis_nb import events
ms = 1_000_000
columns = {
    "start_ns": [0, 1000 * ms, 1100 * ms, 1200 * ms],
    "duration_ns": [1000 * ms, 100 * ms, 100 * ms, 100 * ms],
    "step": range(4),
    "kind": ["op"] * 4,
}
widget = tv.show_timeline(tv.Trace(events.build(columns)), height=300)
widget
"""


def test_a_timeline_opens_at_its_typical_steps(notebook: OpenNotebook) -> None:
    book = notebook([COMPILING])
    book.run_all()
    axis = book.timeline(0).root.get_by_role("img", name="Time axis")
    expect(axis).to_have_attribute("aria-label", "Time axis, +983.0 ms to +1.3130 s")
