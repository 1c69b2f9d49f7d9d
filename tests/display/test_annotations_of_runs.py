"""Annotations in the next run of a cell that reads its trace again."""

from typing import Any

import pytest

import tfvis_nb as tv
from tests.display.test_annotations import HOSTILE, made
from tests.display.test_views_of_runs import Run, run
from tfvis_nb import Trace, events
from tfvis_nb.core.labels import printable
from tfvis_nb.texts import Text

__all__ = ["run"]


FIRST = 10**18
NAMES = [f"dense/{name}" for name in ("MatMul", "BiasAdd", "Relu", "Softmax")]


def read_again(later: int = 0, *, lane: str = "ops", name: str = "", rows: int = 4) -> Trace:
    """Return a trace as a new object, perhaps with other starts, lanes or names, or less of it."""
    columns = {"start_ns": [FIRST + later + 1000 * row for row in range(rows)], "duration_ns": [900] * rows}
    texts = {"kind": ["op"] * rows, "lane": [lane] * rows, "name": [name + each for each in NAMES[:rows]]}
    return Trace(events.build(columns | texts))


def annotate(timeline: Any, *names: str) -> None:
    """Add annotations as the front end does."""
    added = [made(id=name, name=name, start=at, end=at) for at, name in enumerate(names)]
    timeline._annotations = [*timeline._annotations, *added]


def names(shown: Any) -> list[str]:
    return list(shown.annotations["name"])


@pytest.mark.parametrize("show", [tv.show_timeline, tv.show_dashboard])
def test_annotations_go_along_to_the_same_trace(show: Any, run: Run, capsys: Any) -> None:
    (before,) = run(show(read_again()), cell="a")
    timeline: Any = getattr(before, "timeline", before)
    range_ns = {"kind": "range", "start": 10, "end": 2500, "lanes": [0]}
    timeline._annotations = [
        made(id="range", name="range", **range_ns),
        made(id="event", kind="event", event=2, name="event", text="why?"),
    ]
    (after,) = run(show(read_again()), cell="a")
    assert after.annotations.equals(before.annotations)
    assert after.annotations is not before.annotations
    # They stay with the second rerun, and edited ones keep their edits.
    shown: Any = getattr(after, "timeline", after)
    shown._annotations = [{**each, "name": "renamed"} for each in shown._annotations]
    (last,) = run(show(read_again()), cell="a")
    assert names(last) == ["renamed", "renamed"]
    shown = getattr(last, "timeline", last)
    assert [each["name"] for each in shown._annotations] == ["renamed"] * 2
    assert capsys.readouterr().out == ""


def test_annotations_of_both_sides_of_a_comparison_go_along(run: Run) -> None:
    (before,) = run(tv.show_comparison(read_again(), read_again()), cell="a")
    annotate(before.a, "upper")
    annotate(before.b, "lower")
    (after,) = run(tv.show_comparison(read_again(), read_again()), cell="a")
    assert (names(after.a), names(after.b)) == (["upper"], ["lower"])


def test_annotations_that_the_cell_sets_are_not_doubled(run: Run) -> None:
    def annotated(name: str = "of the cell") -> Trace:
        trace = read_again()
        trace.annotations = [{"event": 3, "name": name}]
        return trace

    (before,) = run(tv.show_timeline(annotated()), cell="a")
    annotate(before, "by hand")
    (after,) = run(tv.show_timeline(annotated()), cell="a")
    assert sorted(names(after)) == ["by hand", "of the cell"]
    # The cell decides about its own.
    (after,) = run(tv.show_timeline(annotated("other")), cell="a")
    assert sorted(names(after)) == ["by hand", "other"]


def test_removed_annotations_stay_removed(run: Run) -> None:
    (before,) = run(tv.show_timeline(read_again()), cell="a")
    annotate(before, "first", "second")
    (after,) = run(tv.show_timeline(read_again()), cell="a")
    after._annotations = after._annotations[1:]
    (last,) = run(tv.show_timeline(read_again()), cell="a")
    assert names(last) == ["second"]


@pytest.mark.parametrize(
    "other", [{"later": 10**12}, {"later": 1}, {"lane": "stream:1"}, {"name": "other/"}], ids=str
)
def test_annotations_that_do_not_fit_are_named(other: Any, run: Run, capsys: Any) -> None:
    (before,) = run(tv.show_timeline(read_again()), cell="a")
    annotate(before, "slow", HOSTILE)
    before._annotations = [*before._annotations, made(id="e", kind="event", event=2, name="event")]
    (after,) = run(tv.show_timeline(read_again(**other)), cell="a")
    assert names(after) == []
    said = capsys.readouterr().out
    number = max(tv.earlier_traces)
    shown_names = f"slow, {printable(HOSTILE, 40)}, event"
    assert said == Text("annotations_not_taken_over", annotations=3, names=shown_names, number=number) + "\n"
    # They can be seen again with their trace.
    earlier = tv.earlier_traces[number]
    assert sorted(names(tv.show_timeline(earlier))) == sorted(["slow", HOSTILE, "event"])
    # Said once only.
    run(tv.show_timeline(read_again(**other)), cell="a")
    assert capsys.readouterr().out == ""


def test_annotations_of_a_part_fit_the_whole(run: Run, capsys: Any) -> None:
    (before,) = run(tv.show_timeline(read_again(rows=2)), cell="a")
    annotate(before, "mark")
    (after,) = run(tv.show_timeline(read_again()), cell="a")
    assert names(after) == ["mark"]
    assert after.annotations["start_ns"].tolist() == [FIRST]
    assert capsys.readouterr().out == ""


def test_only_the_latest_earlier_traces_are_kept(run: Run) -> None:
    for later in range(5):
        (shown,) = run(tv.show_timeline(read_again(later)), cell="a")
        annotate(shown, f"run {later}")
    assert [names(trace) for trace in tv.earlier_traces.values()] == [["run 1"], ["run 2"], ["run 3"]]
