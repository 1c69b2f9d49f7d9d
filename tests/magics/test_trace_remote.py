"""``%trace_remote`` as a user of IPython meets it."""

from typing import Any

import pytest
from IPython.core.error import UsageError

import tfvis_nb as tv
from tests.magics.ran import Ran
from tests.real_traces import DATA
from tests.support.profiler_service import served
from tests.support.texts import says
from tfvis_nb.reading.protobuf.wire import delimited

PROFILE = DATA / "cpu_jax.xplane.pb"


def test_workers_are_shown_below_the_cell(shell: Any) -> None:
    answer = delimited(8, PROFILE.read_bytes())
    with served(lambda _: answer) as one, served(lambda _: answer) as other:
        ran = Ran(shell, f"%trace_remote t grpc://{one} {other} --seconds 0.1 -o t.parquet")
        quiet = Ran(shell, f"%trace_remote {one} --seconds 0.1 -q")
    assert ran.error is None
    assert len(ran.views) == 1
    assert len(shell.user_ns["t"].events) == 2 * len(tv.read_trace(PROFILE).events)
    assert says(ran.text, "files_written", files="t.parquet")
    assert (quiet.error, quiet.text, quiet.views) == (None, "", [])


@pytest.mark.parametrize(
    "line", ["t", "127.0.0.1:1 --seconds 0.1", "class host:1", "host:1 --tires 2", "t host"]
)
def test_what_cannot_be_recorded_is_one_line(shell: Any, line: str) -> None:
    ran = Ran(shell, f"%trace_remote {line}")
    assert isinstance(ran.error, UsageError)
    assert ran.views == []


def test_its_help(shell: Any) -> None:
    assert "--seconds" in Ran(shell, "%trace_remote -h").text
    assert "--seconds" in shell.find_line_magic("trace_remote").__doc__
