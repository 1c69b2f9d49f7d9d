"""What a user is told who waits for TensorFlow."""

import threading
import time

import pytest
import tensorflow as tf

import tfvis_nb as tv
from tfvis_nb.recording import patience
from tfvis_nb.recording.patience import said_if_long

pytestmark = pytest.mark.tensorflow


def test_a_short_wait_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with said_if_long("counting"):
        pass
    assert capfd.readouterr().err == ""


def test_a_long_wait_is_told_until_it_ends(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "QUIET_SECONDS", 0.01)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        _interrupted_when_told(capfd)
    # The line is blanked out.
    assert capfd.readouterr().err.split("\r")[-2].strip() == ""
    assert threading.active_count() <= before + 1  # tqdm has a thread of its own


def _interrupted_when_told(capfd: pytest.CaptureFixture[str]) -> None:
    said = ""
    with said_if_long("counting"):
        while "counting: 00:0" not in said:
            time.sleep(0.01)
            said += capfd.readouterr().err
        raise KeyboardInterrupt


def test_a_profile_that_takes_its_time(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "QUIET_SECONDS", 0.0)
    with tv.trace() as trace:
        tf.reduce_sum(tf.ones([10, 10]))
    assert "TensorFlow is writing its profile: 00:0" in capfd.readouterr().err
    assert "Sum" in set(trace.events["op"])
