"""The time of lines of Python that run no op: by samples, in tables and in the code of a page."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.support.texts import raises_id
from tfvis_nb.analysis import op_statistics, source_lines
from tfvis_nb.display.tabs.what_if import _names
from tfvis_nb.display.wire.code import code

pytestmark = pytest.mark.tensorflow

LOADING = """import time

def batches():
    while True:
        time.sleep(0.02)
        yield [1.0, 2.0]
"""
BETWEEN = """import time

def log(value):
    time.sleep(0.02)
"""
STEPS = 20
SLEPT_NS = STEPS * 20_000_000


def module(path: Path, text: str) -> Any:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def slept(tmp_path_factory: pytest.TempPathFactory) -> tv.Trace:
    """Return a loop over a generator, which sleeps in a file of its own, as a file between the steps does."""
    folder = tmp_path_factory.mktemp("own")
    loading, between = module(folder / "loading.py", LOADING), module(folder / "between.py", BETWEEN)
    dataset = tf.data.Dataset.from_generator(
        loading.batches, output_signature=tf.TensorSpec((2,), tf.float32)
    )
    weights = tf.Variable([1.0, 1.0])

    @tf.function  # type: ignore[untyped-decorator]
    def train(x: tf.Tensor) -> tf.Tensor:
        weights.assign_add(x)
        return tf.reduce_sum(weights)

    batches = iter(dataset)
    train(next(batches))
    with tv.trace() as t:
        for _ in range(STEPS):
            between.log(train(next(batches)))
    return t


def times(trace: tv.Trace) -> dict[str, int]:
    """Return the time on the host of each line of this test's files."""
    lines = trace.source_lines.dropna(subset="line")
    names = [f"{Path(file).name}:{line}" for file, line in zip(lines["file"], lines["line"], strict=True)]
    return dict(zip(names, lines["host_ns"], strict=True))


def test_lines_that_sleep_have_their_time(slept: tv.Trace) -> None:
    found, start = times(slept), slept.events["start_ns"]
    for line in ("loading.py:5", "between.py:4"):
        # On a busy machine a sleep takes longer.
        assert 0.6 * SLEPT_NS < found[line] < 1.1 * (start.max() - start.min())
    assert {*list(found)[:2]} == {"loading.py:5", "between.py:4"}
    lines = slept.source_lines
    sampled = lines[lines["sampled_ns"] > 0]
    assert set(sampled["text"]) >= {"time.sleep(0.02)"}
    assert (sampled["sampled_ns"] <= sampled["host_ns"]).all()
    top = [Path(line["file"]).name for line in slept.overview["top_lines"]]
    assert {"loading.py", "between.py"} <= {*top}


def test_sampled_time_is_counted_once(slept: tv.Trace) -> None:
    lines, ops = slept.source_lines, op_statistics(slept)
    on_host = int(ops.loc[ops["side"] == "host", "self_ns"].sum())
    outside = int(lines["host_ns"].sum()) - on_host
    # The line that loads runs within events.
    assert 0 < outside <= lines["sampled_ns"].sum() - 0.8 * times(slept)["loading.py:5"]
    spent = int(slept.events["start_ns"].max() - slept.events["start_ns"].min())
    assert outside <= 1.1 * spent
    assert times(slept)["loading.py:5"] <= 1.1 * spent
    steps = [source_lines(slept, steps=[step])["host_ns"].sum() for step in slept.steps["step"] if step >= 0]
    assert sum(steps) <= lines["host_ns"].sum()


def test_waits_for_the_generator_are_no_work_of_the_pipeline(slept: tv.Trace) -> None:
    rest = slept.source_lines.set_index("reason")["host_ns"]
    assert rest["input pipeline"] < 0.2 * SLEPT_NS
    assert rest["waiting"] > 0.6 * SLEPT_NS


def test_code_of_a_page_has_files_of_sampled_lines(slept: tv.Trace) -> None:
    header: Any = code(slept, np.zeros(0, np.int64), totals=True)[0]
    files = {Path(file["name"]).name: (number, file["text"]) for number, file in enumerate(header["files"])}
    for name, text, line in (("loading.py", LOADING, 5), ("between.py", BETWEEN, 4)):
        number, shown = files[name]
        assert shown == text
        (found,) = [row for row in header["lines"] if row[:2] == [number, line]]
        assert found[4] == times(slept)[f"{name}:{line}"]


def test_traces_without_source_have_no_sampled_files(slept: tv.Trace, tmp_path: Path) -> None:
    page = slept.to_html(tmp_path / "page.html", source=False).read_text()
    assert "time.sleep" not in page
    again = tv.read_trace(slept.to_parquet(tmp_path / "t.parquet"))
    assert times(again) == times(slept)


def saved(trace: tv.Trace, **changes: Any) -> float:
    """Return the part of a mean round of the loop that a change saves."""
    found = trace.what_if(**changes)
    assert found.doubt is None
    loop = found.typical_loop
    assert loop is not None
    assert loop.low_ns <= loop.predicted_ns <= loop.high_ns
    return 1 - loop.predicted_ns / loop.recorded_ns


def test_sampled_lines_are_predicted_in_the_loop(slept: tv.Trace) -> None:
    """The generator prepares an element while the loop sleeps, so that only both together save all."""
    lines = ["loading.py:5", "between.py:4"]
    offered = [Path(name).name for name, _ in dict(_names(slept))["lines"]]
    assert {*offered[:2]} == {*lines}
    both = saved(slept, lines=dict.fromkeys(lines, 0))
    assert both > 0.4
    assert all(0 <= saved(slept, lines={line: 0}) <= both for line in lines)
    assert 0 < saved(slept, lines=dict.fromkeys(lines, 0.5)) < both
    with raises_id(ValueError, "only_sampled"):
        slept.what_if(lines={lines[1]: "hidden"})


def test_loops_without_pauses_wait_for_input(slept: tv.Trace) -> None:
    changes: list[dict[str, Any]] = [{"between_steps": 0}, {"activities": {"input": 0}}]
    both = saved(slept, **changes[0], **changes[1])
    assert both > 0.6
    assert all(0 <= saved(slept, **change) < both for change in changes)
    finding = slept.findings.set_index("id").loc["between_steps"]
    assert 0 < finding["gain"] < both
