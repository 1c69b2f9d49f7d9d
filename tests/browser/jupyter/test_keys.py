"""Keys after a click anywhere in a widget: they reach the widget, and never the notebook."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.clicked import (
    comparison_places,
    filters,
    fleet_places,
    monitor_places,
    tab_places,
    timeline_places,
    zooms,
    zooms_steps,
)
from tests.browser.comparison import NEW, OLD
from tests.browser.dashboard import TRACE
from tests.browser.notebook import Notebook, OpenNotebook, save
from tests.browser.session_of_three import write_session
from tests.browser.test_keys import STEPS
from tests.real_traces import DATA
from tests.support.fleet_dataset import fleet_dataset

SOURCES = "() => JSON.stringify(jupyterapp.shell.currentWidget.model.sharedModel.getSource())"
# Insert, delete, cut and undo cells, and change their kinds; the rest of the keys are a widget's.
NOTEBOOK = ("a", "b", "d", "d", "x", "z", "Shift+Z", "m", "y", "1", "Shift+M", "Shift+ArrowDown", "j", "k")
# With these keys cells are merged, moved and undone.
CONTROLLED = ("Control+Backspace", "Control+Shift+ArrowUp", "Control+a", "Control+z", "Control+Shift+m")


def press_in(book: Notebook, place: str, keys: Sequence[str] = ("d", "d")) -> None:
    """Press keys that change cells elsewhere; the cells do not change."""
    before = book.page.evaluate(SOURCES)
    for key in keys:
        book.page.keyboard.press(key)
    assert book.page.evaluate(SOURCES) == before, place


def test_keys_work_after_a_click_in_the_timeline(notebook: OpenNotebook) -> None:
    book = notebook(["1", f"import tfvis_nb as tv\ntv.show_timeline({str(DATA / STEPS)!r})", "3"])
    book.run_all()
    book.page.emulate_media(reduced_motion="reduce")
    timeline = book.timeline(1).wait()
    for name, click in timeline_places(timeline):
        click()
        assert zooms(timeline), name
        press_in(book, name)
    press_in(book, "the timeline", (*NOTEBOOK, *CONTROLLED))
    timeline.search_box.focus()
    book.page.keyboard.type("add")
    press_in(book, "the search", ("d", "d", "Control+Backspace", "Control+Enter", "Shift+Enter"))
    # The first Ctrl F is the timeline's, the next one JupyterLab's.
    find = book.page.locator(".jp-DocumentSearch-overlay")
    timeline.lanes.focus()
    book.page.keyboard.press("Control+f")
    expect(timeline.search_box).to_be_focused()
    expect(find).to_have_count(0)
    book.page.keyboard.press("Control+f")
    expect(find).to_be_visible()
    book.page.keyboard.press("Escape")
    # Tab leaves it at both ends.
    for key in ("Tab", "Shift+Tab"):
        timeline.lanes.focus()
        for _ in range(80):
            book.page.keyboard.press(key)
            if not timeline.host.evaluate("host => host === document.activeElement"):
                break
        else:
            raise AssertionError(key)
    # Shortcuts of JupyterLab work from inside.
    timeline.root.get_by_role("button", name="Details", exact=True).focus()
    save(book.page, book.path.name)


def test_keys_work_after_a_shift_click_in_an_inactive_cell(notebook: OpenNotebook) -> None:
    book = notebook([f"import tfvis_nb as tv\ntv.show_timeline({str(DATA / STEPS)!r})", "2"])
    book.run_all()
    book.page.emulate_media(reduced_motion="reduce")
    timeline = book.timeline(0).wait()
    timeline.root.get_by_role("slider", name="Step shown").click(modifiers=["Shift"])
    assert zooms(timeline)
    press_in(book, "the steps")


def test_a_click_on_the_prompt_gives_keys_to_the_notebook(notebook: OpenNotebook) -> None:
    book = notebook([f"import tfvis_nb as tv\ntv.show_timeline({str(DATA / STEPS)!r})", "2"])
    book.run_all()
    book.page.emulate_media(reduced_motion="reduce")
    timeline = book.timeline(0).wait()
    for prompt in (".jp-InputArea-prompt", ".jp-OutputPrompt"):
        timeline.lanes.click(position={"x": 60, "y": 12})
        assert zooms(timeline)
        book.cell(0).locator(prompt).first.click(force=True, position={"x": 20, "y": 6})
        before = book.page.evaluate(SOURCES)
        book.page.keyboard.press("a")
        book.page.wait_for_function(f"(before) => ({SOURCES})() !== before", arg=before)
        book.page.keyboard.press("z")
        book.page.wait_for_function(f"(before) => ({SOURCES})() === before", arg=before)


def test_keys_stay_in_every_widget(notebook: OpenNotebook, tmp_path: Path) -> None:
    session, dataset = tmp_path / "run.tfvis", fleet_dataset(tmp_path).path
    write_session(session)
    shows = [
        f"tv.show_dashboard({str(TRACE)!r})",
        f"tv.show_comparison({str(OLD)!r}, {str(NEW)!r})",
        f"tv.show_fleet({str(dataset)!r})",
        f"tv.monitor({str(session)!r})",
    ]
    book = notebook(["import tfvis_nb as tv", *shows, "last = 1"])
    book.run_all()
    book.page.emulate_media(reduced_motion="reduce")
    shown, both, view, monitor = book.dashboard(1), book.comparison(2), book.fleet(3), book.monitor(4)
    zoomed, in_both = shown.wait().timeline, both.wait().a.timeline
    cases = [
        *((name, click, partial(zooms, zoomed)) for name, click in tab_places(shown)),
        *((name, click, partial(zooms, in_both)) for name, click in comparison_places(both)),
        *((name, click, partial(zooms_steps, view)) for name, click in fleet_places(view)),
        *((name, click, partial(filters, monitor)) for name, click in monitor_places(monitor)),
    ]
    for name, click, works in cases:
        click()
        press_in(book, name, ("d", "d", "x"))
        click()
        assert works(), name
