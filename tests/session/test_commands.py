"""Commands to a session, as a page gives them."""

import math
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.support.session_files import recording
from tests.support.texts import raises_id
from tfvis_nb.session.commands import MOST_RUNS, execute_command
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state


def asked(session: tv.SavedSession) -> dict[str, Any]:
    state = session_state(session)
    rows = {row["label"]: (row["rule"], row["requested"]) for row in state["signatures"]}
    return {"all": (state["rule"], state["requested"]), **rows}


def test_commands(path: Path, session: tv.SavedSession) -> None:
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "train"))
    for run in range(3):
        writer.add_trace(number, recording(run), None)
    execute_command(session, {"do": "trace_next", "signature": number})
    execute_command(session, {"do": "trace_next", "signature": None})
    execute_command(session, {"do": "trace_every", "n": 1000})
    assert asked(session) == {"all": ("every 1000", 1), "train": ("", 1)}
    execute_command(session, {"do": "trace_all", "signature": number})
    assert asked(session)["train"] == ("all", 1)
    execute_command(session, {"do": "cancel_requests", "signature": number})
    assert asked(session) == {"all": ("every 1000", 1), "train": ("all", 0)}
    execute_command(session, {"do": "stop_tracing", "signature": number})
    assert asked(session)["train"] == ("", 0)
    execute_command(session, {"do": "trace_slow", "factor": 3, "signature": number})
    assert asked(session)["train"] == ("slower 3", 0)
    execute_command(session, {"do": "stop_tracing", "signature": None})
    assert asked(session) == {"all": ("", 0), "train": ("", 0)}
    for _ in range(2):  # the second finds two of them deleted
        execute_command(session, {"do": "delete", "traces": [1, 3]})
        assert session.traces.index.tolist() == [2]
    writer.close({})


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (None, "command_without_name"),
        ([], "command_without_name"),
        ({}, "no_such_command"),
        ({"do": ["trace_all"]}, "no_such_command"),
        ({"do": "trace_al"}, "no_such_command"),
        ({"do": "x" * 10_000}, "no_such_command"),
        ({"do": "trace_all", "n": 3}, "command_key_unknown"),
        ({"do": "trace_every"}, "command_key_missing"),
        ({"do": "trace_every", "n": 0}, "command_count_out_of_range"),
        ({"do": "trace_every", "n": 1.5}, "command_count_out_of_range"),
        ({"do": "trace_every", "n": True}, "command_count_out_of_range"),
        ({"do": "trace_every", "n": MOST_RUNS + 1}, "command_count_out_of_range"),
        ({"do": "trace_every", "n": 10**400}, "command_count_out_of_range"),
        ({"do": "trace_slow", "factor": 0}, "command_factor_out_of_range"),
        ({"do": "trace_slow", "factor": math.nan}, "command_factor_out_of_range"),
        ({"do": "trace_slow", "factor": math.inf}, "command_factor_out_of_range"),
        ({"do": "trace_slow", "factor": "3"}, "command_factor_out_of_range"),
        ({"do": "trace_next"}, "command_after_end"),
        ({"do": "trace_next", "signature": 1}, "command_after_end"),
        ({"do": "trace_all", "signature": 99}, "no_such_signature"),
        ({"do": "trace_next", "signature": "train"}, "command_count_out_of_range"),
        ({"do": "trace_next", "signature": 0}, "command_count_out_of_range"),
        ({"do": "delete"}, "command_key_missing"),
        ({"do": "delete", "traces": 1}, "command_traces_no_list"),
        ({"do": "delete", "traces": [1, 77]}, "no_such_trace"),
        ({"do": "delete", "traces": [1, "2"]}, "command_count_out_of_range"),
        ({"do": "delete", "traces": [2**64]}, "command_count_out_of_range"),
        ({"do": "delete", "traces": [], "signature": 1}, "command_key_unknown"),
    ],
)
def test_wrong_commands(path: Path, session: tv.SavedSession, command: Any, message: str) -> None:
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "train"))
    writer.add_trace(number, recording(), None)
    writer.close({})
    with raises_id(ValueError, message) as raised:
        execute_command(session, command)
    assert len(str(raised.value)) < 300
    assert asked(session) == {"all": ("", 0), "train": ("", 0)}
    assert session.traces.index.tolist() == [1]


def test_a_command_without_a_file(session: tv.SavedSession) -> None:
    with pytest.raises(FileNotFoundError):
        execute_command(session, {"do": "trace_all"})
