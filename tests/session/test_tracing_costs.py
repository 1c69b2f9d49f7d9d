"""What tracing cost, as a session knows it of each signature and of each trace."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tfvis_nb as tv
from tests.support.session_files import recording
from tests.support.texts import figures_of
from tfvis_nb.analysis import tracing_cost
from tfvis_nb.analysis.steps.difference import difference
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state


def test_what_tracing_cost_is_known_by_signature(path: Path) -> None:
    writer = Writer(path, keep=None)
    train, _ = writer.add_signature(Signature("session", "train", "loss:0"))
    other, _ = writer.add_signature(Signature("session", "other", "other:0"))
    traced, untraced = [5_000, 5_100, 5_050], [2_500, 2_550, 2_450]
    for run, (took, before) in enumerate(zip(traced, untraced, strict=True), 1):
        known = replace(recording(run), duration_ns=took, untraced_ns=before, untraced_runs=8)
        writer.add_trace(train, known, None)
    writer.add_trace(other, recording(1), None)
    writer.close({})
    with tv.open_session(path) as session:
        costs = session.tracing_costs
        assert costs.index.tolist() == [train]
        ratio, low, high = difference(np.array(untraced), np.array(traced))[:3]
        assert costs.to_numpy()[0].tolist() == ["train", 3, 5_050, 2_500, ratio, low, high]
        (state,) = (each for each in session_state(session)["signatures"] if each["signature"] == train)
        assert sorted(filter(None, state["tracing_ratio"] or [])) == pytest.approx([low, ratio, high])
        cost = tracing_cost(session.read(1))
        assert cost is not None
        assert (cost.traced_ns, cost.untraced_ns, cost.traced_steps, cost.untraced_steps) == (
            5_000,
            2_500,
            1,
            8,
        )
        assert figures_of(session.read(1).notes, "tracing_cost")
        assert tracing_cost(session.read(4)) is None
