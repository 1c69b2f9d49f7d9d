"""Random walks on exported pages, and the shrinking of walks that fail."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.monkey.gestures import Gesture
from tests.browser.monkey.hosts import PageHost, page_file
from tests.browser.monkey.walks import LENGTH, replay, shrink, walk


def test_random_gestures_keep_the_invariants(context: BrowserContext, tmp_path: Path) -> None:
    walk(PageHost(context, page_file(tmp_path, "show_timeline")), seed=1, count=100)


def test_walks_that_once_failed_pass(context: BrowserContext, tmp_path: Path) -> None:
    host = PageHost(context, page_file(tmp_path, "show_timeline"))
    for gestures in (
        [Gesture("press", role="button", name="4 rows of CPU:0 tf_Compute/1")],
        [Gesture("key", keys="="), Gesture("press", role="button", name="all 5")],
        [
            Gesture("type", role="textbox", name="Search ops, tensors, lanes", keys="op:MatMul|Shift+Enter"),
            Gesture("double", role="image", name="Activity over time", x=0.472, y=0.877),
        ],
    ):
        host.fresh()
        assert replay(host, gestures) is None


@pytest.mark.thorough
@pytest.mark.parametrize("shown", ["show_timeline", "show_dashboard"])
def test_long_walks_keep_the_invariants(context: BrowserContext, tmp_path: Path, shown: str) -> None:
    host = PageHost(context, page_file(tmp_path, shown))
    for seed in range(100, 105):
        walk(host, seed, LENGTH)


@pytest.mark.parametrize("needed", [[17], [3, 90], [0, 50, 99]])
def test_a_failing_walk_shrinks_to_its_cause(needed: list[int]) -> None:
    gestures = [Gesture("key", nth=at) for at in range(100)]
    tried: list[int] = []

    def breaks(some: Sequence[Gesture]) -> bool:
        tried.append(len(some))
        return {*needed} <= {gesture.nth for gesture in some}

    assert [gesture.nth for gesture in shrink(gestures, breaks)] == needed
    assert len(tried) < 100


def test_a_gesture_is_printed_as_its_code() -> None:
    gesture = Gesture("drag", "image", "Time axis", x=0.25, x2=0.75, keys="Alt")
    assert eval(repr(gesture)) == gesture
    assert repr(Gesture("key", keys="w")) == "Gesture('key', keys='w')"
