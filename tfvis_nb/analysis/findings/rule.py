"""A rule measures a cause of slow steps, decides whether to report it, and words the finding."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from tfvis_nb.analysis.findings.finding import Finding
from tfvis_nb.analysis.prediction.gain import Gain
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import is_undivided, reworded, whole, whole_figures
from tfvis_nb.texts import Text

Figures = Mapping[str, Any]
"""Name to number, text, or lists of these; None if a figure is unknown."""

LEAST_GAIN = 0.001
"""Smaller savings, as a share of step time, count as nothing."""
_OF_RANGE = (
    "The range of the savings is from the recorded steps. It allows for remaining work that gets faster, not"
    " for work that takes longer."
)
NOT_KNOWN = float("nan")
"""The share of a cause that the trace does not record."""


class Threshold(NamedTuple):
    """A number that decides what is reported, and its meaning for docs/metrics/thresholds.md."""

    value: float
    meaning: str


class Texts(NamedTuple):
    """The texts of a finding."""

    title: str
    text: str
    """The figures that matter, in one or two sentences; one where a `Remedy` adds its own."""
    advice: str
    """One sentence."""
    how: str = ""
    """All other figures, and what they rest on."""


class Measurement(NamedTuple):
    """The share of step time that a cause takes, whether reported or not."""

    share: float
    """`NOT_KNOWN` if the trace does not record it; `figures` then has the ``reason``."""
    threshold: float
    """The smallest share that is reported."""
    figures: dict[str, Any]

    @classmethod
    def of(cls, threshold: Threshold, share: float, **more: Any) -> Self:
        """Return the measurement of a share."""
        return cls(share, threshold.value, {"share": share, "threshold": threshold.value, **more})

    @classmethod
    def unknown(cls, threshold: Threshold, reason: Any) -> Self:
        """Return the measurement of a share that the trace does not record."""
        return cls(NOT_KNOWN, threshold.value, {"reason": reason})


class Remedy(NamedTuple):
    """The change that the advice of a rule names; a replay of the steps with it shows what this saves."""

    without: str
    """The start of a sentence about the step."""
    changes: Callable[[Figures], Mapping[str, Any]]
    """The arguments of `tfvis_nb.analysis.what_if`, for the figures of a finding; none without a replay."""

    def saves(self, gain: Gain, figures: Figures) -> tuple[str, str]:
        """State by how much the step would be shorter, and how sure that is; empty if nothing is known.

        Examples
        --------
        >>> from tfvis_nb.analysis.findings.rule import Remedy
        >>> from tfvis_nb.analysis.prediction.gain import Gain
        >>> remedy = Remedy("Without compiling", lambda figures: {"activities": {"compile": 0}})
        >>> text, how = remedy.saves(Gain(0.31, 0.2, 0.4), {})
        >>> text == "Without compiling the step would be about 31.0 % shorter (20.0\N{EN DASH}40.0 %)."
        True
        >>> how.startswith("The range of the savings is from the recorded steps")
        True
        """
        if gain.reason is not None:
            return "", f"The savings cannot be predicted: {reworded(gain.reason, figures)}."
        if math.isnan(gain.share):
            return "", ""
        what = "the loop" if "loop_share" in figures else whole(figures, "the step")
        would = f"{self.without} {what} would"
        if gain.share < LEAST_GAIN:
            return f"{would} take as long, because other work does.", ""
        low, high = (format_percent(max(share, 0)) for share in (gain.low, gain.high))
        spread = (
            f" ({low.removesuffix(' %')}\N{EN DASH}{high})" if gain.low < gain.high and low != high else ""
        )
        return f"{would} be about {format_percent(gain.share)} shorter{spread}.", _OF_RANGE if spread else ""


class Rule(NamedTuple):
    """A cause that findings look for. Its module has it as ``RULE``; `findings.RULES` lists them all."""

    kind: str
    thresholds: Mapping[str, Threshold]
    find: Callable[[Trace], list[Finding]]
    word: Callable[[str, Figures], Texts]
    """The texts for the id and the figures of a finding."""
    measure: Callable[[Trace], Measurement]
    summarise: Callable[[Figures], str]
    """A sentence for the figures of a known measurement."""
    subject: str = ""
    """The start of the sentence for an unknown one, before "not available"."""
    below: tuple[str, ...] = ()
    """Kinds or ids of findings that include this one and rank above it."""
    below_from: float = 0.0
    """The smallest fraction of this one's share that they need for that."""
    leads: bool = False
    """Whether it leads the list of measurements."""
    whole: bool = False
    """Whether it includes a first step that is set apart; see `other_steps`."""
    fatal: bool = False
    """Whether it ends the program: it ranks above all others, and needs no steps."""
    remedy: Remedy | None = None
    """The change that removes it, if a replay can predict the savings."""
    headline: Callable[[Figures], str] | None = None
    """A clause for the headline of a trace whose first finding is this one; by default its title."""

    def of(self, trace: Trace) -> Trace:
        """Return the part of a trace that it covers."""
        return trace if self.whole else other_steps(trace)

    def words(self, trace: Trace) -> dict[str, Any]:
        """Return the figures that name the time it covers: the recording, or steps after the first one."""
        apart = {} if self.of(trace) is trace else {"apart": True}
        return whole_figures(is_undivided(trace)) | apart

    def sentence(self, figures: Figures) -> str:
        """Return a sentence for the figures of a measurement, known or not."""
        reason = figures.get("reason")
        if reason is None:
            return self.summarise(figures)
        return f"{self.subject} not available: {reworded(reason, figures)}."


def beyond(figures: Figures) -> str:
    """Name the threshold that a share exceeds."""
    return f" (threshold {limit(figures['threshold'])})"


def limit(share: float) -> str:
    """Format a threshold with no more digits than it needs.

    Examples
    --------
    >>> from tfvis_nb.analysis.findings.rule import limit
    >>> limit(0.25), limit(0.005)
    ('25 %', '0.5 %')
    """
    return f"{share * 100:g} %"


def not_reported(reason: str) -> str:
    """Explain why a share above its threshold is not reported."""
    return f"; not reported, because {reason}"


def capital(name: str) -> str:
    """Capitalise a name at the start of a sentence."""
    return name[:1].upper() + name[1:]


def example(figures: Figures) -> str:
    """Name the step with the largest share; with that share if there are several steps."""
    here, whole = figures["here_ns"], figures["step_ns"]
    if figures["steps"] == 1:
        return f"{format_duration(here)} of {format_duration(whole)}"
    share = format_percent(here / max(whole, 1))
    return f"longest in {step_name(figures)}, {format_duration(here)} of {format_duration(whole)} ({share})"


def step_name(figures: Figures) -> str:
    """Name a step by its number, and by its label ``step_label`` if that has another number."""
    label = figures.get("step_label")
    return whole(figures, f"step {figures['step']}{f' ({label})' if label else ''}")


def step_time(figures: Figures, share: str | float = "share") -> str:
    """Format a share of step time, or the figure with its name."""
    percent = format_percent(figures[share] if isinstance(share, str) else share)
    return f"{percent} of {all_time(figures)}"


def all_time(figures: Figures) -> str:
    """Name the time that shares are of: it leaves out a first step that is set apart.

    Examples
    --------
    >>> from tfvis_nb.analysis.findings.rule import all_time
    >>> all_time({}), all_time({"apart": True})
    ('step time', 'step time after the first step')
    """
    return whole(figures, Text("later_step_time") if figures.get("apart") else Text("step_time"))


def per_step(figures: Figures) -> str:
    """Describe a number as that of one step."""
    return str(figures.get("per_step", "per step"))


def listed(names: list[str], count: int) -> str:
    """Name a few of many op types.

    Examples
    --------
    >>> from tfvis_nb.analysis.findings.rule import listed
    >>> listed(["Mul", "Sub"], 2), listed(["Mul", "Sub"], 5)
    ('Mul and Sub', 'Mul, Sub and 3 other op types')
    """
    rest = count - len(names)
    if rest:
        return ", ".join(names) + f" and {rest} other op type{'s' if rest > 1 else ''}"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
