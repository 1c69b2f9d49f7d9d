"""Messages to a user who waits for TensorFlow."""

import io
import sys
import threading
import time

import pytest
import tensorflow as tf

import tfvis_nb as tv
from tfvis_nb.core import progress
from tfvis_nb.core.progress import progress_after

pytestmark = pytest.mark.tensorflow


class Screen(io.StringIO):
    """A terminal's standard error."""

    def isatty(self) -> bool:
        return True


def seen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Give the test a terminal; not by a fixture: pytest may put its own stream back before the test."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_a_short_wait_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = seen(monkeypatch)
    with progress_after("counting"):
        pass
    assert screen.getvalue() == ""


def test_a_long_wait_is_told_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = seen(monkeypatch)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.01)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        _interrupted_when_told(screen)
    # The line is blanked out.
    assert screen.getvalue().split("\r")[-2].strip() == ""
    assert threading.active_count() <= before + 1  # tqdm has a thread of its own


def _interrupted_when_told(screen: io.StringIO) -> None:
    with progress_after("counting"):
        ends = time.monotonic() + 60
        while "counting: 00:0" not in screen.getvalue():
            assert time.monotonic() < ends
            time.sleep(0.01)
        raise KeyboardInterrupt


def test_a_log_file_is_told_nothing_that_it_cannot_take_back(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with progress_after("counting"):
        time.sleep(0.1)
    assert capfd.readouterr() == ("", "")


def test_a_notebook_is_told_on_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """JupyterLab shows erased text on standard error as a red strip."""
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        _interrupted_when_told(stream)


def test_a_profile_that_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = seen(monkeypatch)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with tv.trace() as trace:
        tf.reduce_sum(tf.ones([10, 10]))
    assert "TensorFlow is writing its profile: 00:0" in screen.getvalue()
    assert "Sum" in set(trace.events["op"])
