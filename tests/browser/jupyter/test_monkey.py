"""Random walks at a live timeline, a live dashboard and a trace file in JupyterLab."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.conftest import FAILED, WINDOW, Lab
from tests.browser.jupyter_server import JupyterServer
from tests.browser.monkey.gestures import MOVES, Gesture
from tests.browser.monkey.hosts import FileHost, Host, NotebookHost, PageHost, page_file
from tests.browser.monkey.walker import Walker
from tests.browser.monkey.walks import LENGTH, walk
from tests.browser.timeline import Timeline


@pytest.fixture
def walked(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """JupyterLab, left as other tests need it."""
    yield lab
    for page in lab.pages:
        page.set_viewport_size(WINDOW)
        page.emulate_media(reduced_motion="no-preference")
        page.evaluate(_OWN_COLOURS, "")
    lab.tidy(keep=not request.node.stash.get(FAILED, False))


@pytest.mark.parametrize(
    ("shown", "count"),
    [("show_timeline", 80), pytest.param("show_dashboard", LENGTH, marks=pytest.mark.thorough)],
)
def test_random_gestures_keep_the_invariants(walked: Lab, shown: str, count: int) -> None:
    walk(NotebookHost(walked, shown), seed=1, count=count)


def test_a_trace_file_keeps_the_invariants(context: BrowserContext, jupyter: JupyterServer) -> None:
    walk(FileHost(context.new_page(), jupyter), seed=1, count=60)


@pytest.mark.thorough
@pytest.mark.parametrize("shown", ["show_timeline", "show_dashboard"])
def test_long_walks_keep_the_invariants(walked: Lab, shown: str) -> None:
    host = NotebookHost(walked, shown)
    for seed in range(100, 105):
        walk(host, seed, LENGTH)


# The canvases in the order of the page: axis, overview, lanes and the layer above them.
_PICTURES = """(host) => {
    const deep = (node) => [...(node.shadowRoot ?? node).children].flatMap((each) => [each, ...deep(each)]);
    return deep(host).filter((each) => each.localName === 'canvas' && each.getClientRects().length)
        .map((each) => `${each.width} x ${each.height} ${each.toDataURL()}`);
}"""


# A notebook's accents are JupyterLab's.
_OWN_COLOURS = """(value) => {
    for (const name of ['--jp-layout-color0', '--jp-ui-font-color0', '--jp-brand-color1'])
        document.documentElement.style.setProperty(name, value);
}"""


def shown(walker: Walker) -> dict[str, Any]:
    pictures = walker.host.element.evaluate(_PICTURES)
    now = walker.look()
    return {"pictures": pictures} | {part: now[part] for part in ("axis", "lanes", "steps", "title")}


def is_for_twins(gesture: Gesture) -> bool:
    # The others depend on the host's surroundings, as End scrolls the notebook and a menu in a small window
    # covers events, or on how soon they follow.
    is_timed = gesture.keys in {*MOVES, "Backspace", "Shift+Backspace", "Tab", "Shift+Tab"}
    is_outside = gesture.do in ("rerun", "anywhere") or gesture.keys in ("Shift+F", "End", "Space", "Delete")
    return not (
        is_timed
        or is_outside
        or gesture.do == "menu"
        or gesture.name.startswith(("Export", "Full screen", "Height"))
    )


def box(host: Host) -> dict[str, float]:
    # Not of the timeline, which has a border in a notebook.
    found = host.element.get_by_role("application").bounding_box()
    assert found
    return {"width": found["width"], "height": found["height"]}


def compare(live: Host, page: Host, seed: int, most: int) -> int:
    """Do the same gestures at both; return how many, before the notebook's view changes its height."""
    first, second = (Walker(host, seed, checks=False) for host in (live, page))
    while len(first.done) < most:
        gesture = first.choose()
        if not is_for_twins(gesture):
            continue
        for walker in (first, second):
            walker.do(gesture)
        assert first.done == second.done
        if box(live) != box(page):
            break
        for _ in range(20):
            one, other = shown(first), shown(second)
            if one == other:
                break
            live.page.wait_for_timeout(100)
        assert [part for part in one if one[part] != other[part]] == [], (seed, first.done)
    return len(first.done)


def test_a_page_and_a_widget_show_the_same(walked: Lab, context: BrowserContext, tmp_path: Path) -> None:
    live = NotebookHost(walked, "show_timeline")
    page = PageHost(context, page_file(tmp_path, "show_timeline"))
    done, seed = 0, 1
    while done < 60:
        for host in (live, page):
            host.fresh()
        live.page.evaluate(_OWN_COLOURS, "initial")
        own, wanted = box(page), box(live)
        page.resize(wanted["width"] - own["width"], wanted["height"] - own["height"])
        # Memory keeps the height that the lanes of a larger page left to it.
        page.page.reload()
        Timeline(page.element).wait()
        done += compare(live, page, seed, 60 - done)
        seed += 1
