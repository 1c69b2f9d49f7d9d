"""Two traces, or two steps of one, as timelines above each other that move together."""

import html
from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.compare import Grouping, compare
from tfvis_nb.analysis.steps.compared_steps import ComparedSteps, Side, compared_steps
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.anonymizing.anonymized import anonymized
from tfvis_nb.core.display_options import TimelineOptions
from tfvis_nb.core.html_export import MAX_BYTES, HtmlExport
from tfvis_nb.core.labels import one_line, printable
from tfvis_nb.core.markup import markdown_text
from tfvis_nb.core.options import check_flags, check_title, only_known_options
from tfvis_nb.core.places import without_places
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.composed import ComposedWidget
from tfvis_nb.display.dashboard.tabs_widget import PanelsWidget
from tfvis_nb.display.pages.dashboard import PANES
from tfvis_nb.display.pages.page import anonymized_options, packed_parts, packed_tabs
from tfvis_nb.display.pages.static_html import QUICK, static_html, static_report
from tfvis_nb.display.pages.template import framed
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.shaping.side import Compared, compared, distinct_names, highest_memory
from tfvis_nb.display.tabs import comparison as comparison_tabs
from tfvis_nb.display.tabs.blocks import Part
from tfvis_nb.display.timeline.linked import LinkedTimeline
from tfvis_nb.display.timeline.timeline_widget import as_trace
from tfvis_nb.display.wire.code import without_code
from tfvis_nb.session.session import SavedSession
from tfvis_nb.texts import Text
from tfvis_nb.writing.report import HEAD_BYTES

HEIGHT = 300
"""Default height of each timeline, in CSS pixels."""

Steps = tuple[int | None, int | None]


class _Differences(PanelsWidget):
    """The tabs under two timelines."""

    def __init__(self, sides: tuple[Compared, Compared], *, link: str) -> None:
        self._sides = sides
        super().__init__(sides[0].shown, link=link)

    def _names(self) -> list[str]:
        return list(comparison_tabs.PARTS)

    def _parts_there(self) -> list[tuple[str, str]]:
        return comparison_tabs.parts(*self._sides)

    def _compute(self, title: str) -> Part:
        return comparison_tabs.tab(*self._sides, title)


class Comparison(HtmlExport, ComposedWidget):
    """Two timelines above each other, aligned at their starts, with tables of the differences.

    Zooming and panning one moves the other, even while the kernel is busy. Selecting an event in one
    selects its counterpart in the other: the event of the same node and kind closest in time.

    Parameters
    ----------
    a, b
        The two sides to compare.
    steps
        The step number of each side, or None for the whole trace.
    titles
        Names of both sides; by default their traces' titles, and steps.
    report
        As in `tfvis_nb.show_timeline`; the Markdown also has the headline of the comparison.
    **options
        As in `tfvis_nb.show_timeline`, for both: ``height``, ``group_by``, ``color_by``, ``lane_filter``.

    Attributes
    ----------
    a, b
        The two `TimelineWidget`; ``trace`` of each is the trace or step that it shows.
    panels
        The tables; ``panels.height`` is their height in CSS pixels.
    """

    @only_known_options
    def __init__(
        self,
        a: Side,
        b: Side,
        *,
        steps: Steps = (None, None),
        titles: tuple[str, str] | None = None,
        report: bool = True,
        **options: Unpack[TimelineOptions],
    ) -> None:
        check_flags(report=report)
        self._has_report = report
        named = (None, None) if titles is None else titles
        self._recorded = (_traces(a), _traces(b))
        of_steps = [compared_steps(traces) for traces in self._recorded]
        names = distinct_names(*(side.trace for side in of_steps))
        each = zip(of_steps, steps, named, names, strict=True)
        self._sides = tuple(compared(side, step, title, name) for side, step, title, name in each)
        options = {"height": HEIGHT, **options}
        self.a, self.b = (
            LinkedTimeline(side.shown, title=f"{letter} \N{MIDDLE DOT} {side.title}", **options)
            for letter, side in zip("AB", self._sides, strict=True)
        )
        first, second = self._sides
        self._headline = _headline(first, second)
        self._common = _common(self._sides, self._headline)
        for number, timeline in enumerate((self.a, self.b)):
            timeline._link = self.a._link
            timeline._pair = {"side": number, **self._common}
            timeline._write_page = self.to_html
        self.panels = _Differences((first, second), link=self.a._link)
        for timeline in (self.a, self.b):
            timeline._before_details = self.panels._wait_for_first
        super().__init__({"a": self.a, "b": self.b, "panels": self.panels}, timelines=["a", "b"])

    @property
    def title(self) -> str:
        """The names of both sides."""
        return " / ".join(side.title or letter for letter, side in zip("AB", self._sides, strict=True))

    @property
    def headline(self) -> str:
        """How much faster or slower B is, and in which activities; empty if one took no time."""
        return " ".join(self._headline)

    @only_known_options
    def differences(self, by: Grouping = "op") -> pd.DataFrame:
        """Return the parts that took longer in the lower one; see `tfvis_nb.analysis.compare`.

        Parameters
        ----------
        by
            One of `tfvis_nb.analysis.steps.compare.GROUPINGS`.
        """
        first, second = self._sides
        return compare(first.steps, second.steps, by)

    def _html(self, title: str | None, **options: Any) -> str:
        """Return the page that `to_html` writes."""
        check_title(title)
        limits = {"max_bytes": options.get("max_bytes", MAX_BYTES), "source": options.get("source", True)}
        timelines = (self.a, self.b)
        now = [timeline._as_now(None) for timeline in timelines]
        if options.get("anonymize"):
            sides = self._anonymized_sides()
            shown = [
                {"title": letter, "options": anonymized_options(side["options"])}
                for letter, side in zip("AB", now, strict=True)
            ]
            return comparison_page(
                [compress_gaps(side.shown) for side in sides],
                shown,
                [comparison_tabs.tab(*sides, name) for _, name in comparison_tabs.parts(*sides)],
                title=title or "",
                common=_common(sides, _headline(*sides)),
                **limits,
            )
        return comparison_page(
            [timeline._shown for timeline in timelines],
            now,
            self.panels.tabs(),
            title=self.title if title is None else title,
            common=self._common,
            **limits,
        )

    def _anonymized_sides(self) -> tuple[Compared, Compared]:
        """Return both sides anonymized with the same replacements."""
        upper, lower = self._recorded
        others = anonymized([*upper, *lower])
        parts = others[: len(upper)], others[len(upper) :]
        first, second = (
            compared(part[0] if len(part) == 1 else part, side.step, letter)
            for part, side, letter in zip(parts, self._sides, "AB", strict=True)
        )
        return first, second

    def __repr__(self) -> str:
        lines = (one_line(timeline.trace, timeline._title) for timeline in (self.a, self.b))
        headline = f"\n{self.headline}" if self.headline else ""
        return f"<{type(self).__name__} {' / '.join(lines)}>{headline}"

    def _still(self) -> str:
        pictures = [static_html(timeline.trace, title=timeline._title) for timeline in (self.a, self.b)]
        return "\n".join([headline_html(self._headline), *pictures])

    def _report(self) -> str:
        if not self._has_report:
            return ""
        headline = markdown_text(without_places(self.headline))
        most = (HEAD_BYTES - len(headline.encode())) // 2 - len("\n\nA: ")
        heads = (static_report(one.trace, most) for one in (self.a, self.b))
        sides = (f"{letter}: {head}" for letter, head in zip("AB", heads, strict=True) if head)
        return "\n\n".join(filter(None, [headline, *sides]))


def _traces(side: Side) -> list[Trace]:
    if isinstance(side, ComparedSteps):
        return [side.trace]
    return [side] if isinstance(side, Trace) else list(side)


def _headline(first: Compared, second: Compared) -> list[Text]:
    is_quick = max(len(side.trace.events) for side in (first, second)) <= QUICK
    return comparison_headline(first.steps, second.steps, (first.step, second.step), parts=is_quick)


def _common(sides: Iterable[Compared], headline: Iterable[Text]) -> dict[str, Any]:
    """Return the common data of both timelines of a comparison."""
    both = list(sides)
    return {
        "extent": max(side.span_ns for side in both),
        "memory": highest_memory(both),
        "headline": [str(sentence) for sentence in headline],
    }


@only_known_options
def show_comparison(
    a: Any,
    b: Any = None,
    *,
    steps: Steps | None = None,
    titles: tuple[str, str] | None = None,
    report: bool = True,
    **options: Unpack[TimelineOptions],
) -> Comparison:
    """Show two traces or steps above each other, in a notebook as the last expression of a cell.

    Parameters
    ----------
    a, b
        A `Trace`, anything `tfvis_nb.read_trace` reads, or several traces that repeat the same steps, such as
        a list or a session, which are combined. Without `b`, two steps of `a` are compared.
    steps
        The step number of each side, such as ``(7, 13)``; None instead of a number for the whole trace. Both
        then start at the left, no matter how far apart they were. To compare several steps of each side use
        `tfvis_nb.analysis.compare`.
    titles
        Names of both sides; by default their traces' titles, and steps. Equal titles are distinguished by
        paths or start times.
    report
        As in `Comparison`.
    **options
        As in `tfvis_nb.show_timeline`, for both: ``height``, ``group_by``, ``color_by``, ``lane_filter``.

    Returns
    -------
    Comparison
        With the two timelines as ``a`` and ``b``, ``differences()`` and ``to_html``.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        As in `tfvis_nb.show_timeline`; also if there is no such step, or neither a second trace nor steps.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> from tfvis_nb import events
    >>> columns = {"start_ns": [0, 9], "duration_ns": [2, 7], "kind": ["op"] * 2, "step": [0, 1]}
    >>> shown = tv.show_comparison(tv.Trace(events.build(columns), title="mlp"), steps=(0, 1))
    >>> shown.title, shown.differences()["difference_ns"].tolist()
    ('step 0 of mlp / step 1 of mlp', [5])
    """
    first = _source(a)
    if b is None and steps is None:
        raise ValueError(Text("nothing_to_compare"))
    second = first if b is None else _source(b)
    return Comparison(
        first, second, steps=_validate_steps(steps), titles=_named(titles), report=report, **options
    )


def _source(given: Any) -> Side:
    """Return traces of a list or session unchanged, and read anything else."""
    if isinstance(given, SavedSession):
        return list(given)
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, Trace) for one in given):
        return list(given)
    return as_trace(given)


def _validate_steps(steps: Any) -> Steps:
    if steps is None:
        return None, None
    if not isinstance(steps, (tuple, list)) or len(steps) != 2:
        raise TypeError(Text("steps_no_pair", steps=steps))
    for step in steps:
        if step is not None and (isinstance(step, bool) or not isinstance(step, int | np.integer)):
            raise TypeError(Text("step_no_number", step=step))
    first, second = (None if step is None else int(step) for step in steps)
    return first, second


def _named(titles: Any) -> tuple[str, str] | None:
    if titles is None:
        return None
    if not isinstance(titles, (tuple, list)) or len(titles) != 2:
        raise TypeError(Text("titles_no_pair", titles=titles))
    for title in titles:
        check_title(title)
    return titles[0], titles[1]


def comparison_page(
    traces: Sequence[Trace],
    sides: Sequence[dict[str, Any]],
    tabs: Sequence[Part],
    *,
    title: str,
    common: dict[str, Any],
    max_bytes: int | None = None,
    source: bool = True,
) -> str:
    """Write two timelines and the tabs under them as one HTML text.

    `sides` are the results of `tfvis_nb.display.timeline.linked.LinkedTimeline._as_now`, `tabs` those of
    `tfvis_nb.display.tabs.comparison.tab`. `common` has data of both: ``extent``, the minimum time that they
    show, in ns, ``memory``, from `tfvis_nb.display.shaping.side.highest_memory`, and ``headline``, sentences.
    Without `source` the page has no code.
    """
    if not source:
        traces = [without_code(trace) for trace in traces]
        sides = [side | {"details": None} for side in sides]
        tabs = comparison_tabs.without_lines(tabs)
    parts = {"tabs": packed_tabs(tabs)}
    for number, (trace, side) in enumerate(zip(traces, sides, strict=True)):
        size = sum(map(len, parts.values())) * 4 // 3
        made = packed_parts(
            trace,
            side["title"],
            drawn=side.get("drawn"),
            details=side.get("details"),
            beside=size,
            max_bytes=max_bytes,
        )
        parts |= {f"{name}-{number}": data for name, data in made.items()}
    titled = [(trace, side["title"]) for trace, side in zip(traces, sides, strict=True)]
    return framed(
        what="comparison",
        title=printable(title, 200) or "Comparison",
        summary=" beside ".join(one_line(trace, name) for trace, name in titled),
        fallback="".join(
            [
                headline_html(common["headline"]),
                *(static_html(trace, title=name, annotated=False) for trace, name in titled),
            ]
        ),
        parts=parts,
        options={**common, "sides": [side["options"] for side in sides]},
        code=bundle("comparison.js"),
        style=PANES,
    )


def headline_html(sentences: Sequence[str]) -> str:
    """Write the headline of a comparison as plain HTML; empty without sentences."""
    return f"<p><b>{html.escape(' '.join(sentences))}</b></p>" if sentences else ""
