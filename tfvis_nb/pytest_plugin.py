"""The pytest fixture ``tfvis_trace``: records the work of a test and checks it against limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tfvis_nb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from tfvis_nb.analysis.gates.limits import Limit, Limits
    from tfvis_nb.core.trace import Trace
    from tfvis_nb.recording import RecordedTrace, Recorder
    from tfvis_nb.recording.options import RecordingOptions


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

    def __call__(self, path: str | Path | None = None, **options: Unpack[RecordingOptions]) -> Recorder:
        """Record a ``with`` block, or each call of a function, with the arguments of `tfvis_nb.trace`."""
        return tfvis_nb.trace(path, **options)

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

    def check(
        self,
        *,
        against: Trace | None = None,
        worse: Limit | Mapping[str, Limit] | None = None,
        **limits: Unpack[Limits],
    ) -> None:
        """Fail the test if the last recording exceeds limits, like `tfvis_nb.assert_trace`.

        The recording is then saved, and the message names the file.
        """
        try:
            tfvis_nb.assert_trace(self.trace, against=against, worse=worse, **limits)
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
