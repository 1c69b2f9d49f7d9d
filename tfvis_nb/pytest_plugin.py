"""The pytest fixture ``tfvis_trace``: records the work of a test and checks it against limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tfvis_nb

if TYPE_CHECKING:
    from tfvis_nb.recording import RecordedTrace, Recorder


class TraceFixture:
    """Records parts of a test: the fixture ``tfvis_trace``.

    Parameters
    ----------
    folder
        Where a trace that fails a check is saved.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = tfvis_nb.last_trace
        self._saved = 0

    def __call__(self, **options: Any) -> Recorder:
        """Record a ``with`` block, or each call of a function; the options are those of `tfvis_nb.trace`."""
        return tfvis_nb.trace(**options)

    @property
    def trace(self) -> RecordedTrace:
        """The last recording of this test.

        Raises
        ------
        RuntimeError
            If there is none.
        """
        from tfvis_nb.texts import Text

        last = tfvis_nb.last_trace
        if last is None or last is self._before:
            raise RuntimeError(Text("nothing_traced"))
        return last

    def check(self, **limits: Any) -> None:
        """Fail the test if the last recording exceeds limits, like `tfvis_nb.assert_trace`.

        The recording is then saved, and the message names the file.
        """
        try:
            tfvis_nb.assert_trace(self.trace, **limits)
        except AssertionError as error:
            self._saved += 1
            path = self._folder / f"trace{self._saved}.parquet"
            self.trace.to_parquet(path)
            raise AssertionError(f"{error}\n\ntfvis-nb open {path}") from None


@pytest.fixture
def tfvis_trace(tmp_path: Path) -> TraceFixture:
    """Record parts of a test, and check the counts, bytes and times of its steps.

    ::

        def test_step(tfvis_trace):
            with tfvis_trace():
                train_step(batch)
            tfvis_trace.check(retraces=0, peak_bytes="2GiB")
    """
    return TraceFixture(tmp_path)
