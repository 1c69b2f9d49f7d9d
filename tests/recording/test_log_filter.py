"""Only the profiler's log lines about its start and end are left out."""

import os
import subprocess
import sys
import threading

import pytest

import tfvis_nb as tv
from tfvis_nb.recording.profiler.capture import without_profiler_log

OWN = [
    b"I0000 00:00:1795385144.589562   28064 profiler_session.cc:117] Profiler session initializing.\n",
    b"I0000 00:00:1795385144.600288   28064 save_profile.cc:150] Collecting XSpace to repository: /tmp/x\n",
    b"I0000 00:00:1795385144.600288   28064 cupti_tracer.cc:1150] Profiler found 1 GPUs\n",
    b"2026-11-22 22:05:44.589562: I external/tsl/profiler_session.cc:104] Profiler session started.\n",
]
OTHERS = [
    b"E0000 00:00:1795385144.600288   28064 cupti_tracer.cc:1150] CUPTI_ERROR_INSUFFICIENT_PRIVILEGES\n",
    b"I0000 00:00:1795385144.600288   28064 gpu_device.cc:2020] Created device\n",
    b"what a program says: profiler_session.cc:117] Profiler\n",
    b"\n",
    b"I am no log\n",
    b"2026\n",
]


def test_only_its_own_lines_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with without_profiler_log():
            for own, other in zip([*OWN, *OWN], OTHERS, strict=False):
                os.write(2, own + other)
    assert capfd.readouterr().err == b"".join(OTHERS * 2).decode()


def test_a_line_without_end_is_shown_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    with without_profiler_log():
        os.write(2, b"\rwriting: 3 s")
        shown = ""
        while not shown:
            shown += capfd.readouterr().err
    os.write(2, b"\n")
    assert shown + capfd.readouterr().err == "\rwriting: 3 s\n"


def test_inside_of_another_one(capfd: pytest.CaptureFixture[str]) -> None:
    with without_profiler_log():
        with without_profiler_log():
            os.write(2, OWN[0] + b"inner\n")
        os.write(2, OWN[1] + b"outer\n")
    os.write(2, OWN[2])
    assert capfd.readouterr().err == f"inner\nouter\n{OWN[2].decode()}"


def test_a_program_started_meanwhile_goes_on_writing(capfd: pytest.CaptureFixture[str]) -> None:
    with without_profiler_log():
        command = [sys.executable, "-c", "import os; os.read(0, 1); os.write(2, b'later\\n')"]
        program = subprocess.Popen(command, stdin=subprocess.PIPE)
    program.communicate(b"x", timeout=60)
    assert program.returncode == 0
    shown = ""
    while not shown:
        shown += capfd.readouterr().err
    assert shown == "later\n"


def test_without_a_log() -> None:
    kept = os.dup(2)
    os.close(2)
    try:
        with without_profiler_log():
            pass
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(2)
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def test_a_recorded_profile(capfd: pytest.CaptureFixture[str]) -> None:
    import tensorflow as tf

    ended = threading.Event()
    said: list[str] = []

    def say() -> None:
        while not ended.wait(0.0005):
            said.append(f"line {len(said)}")
            os.write(2, f"{said[-1]}\n".encode())

    thread = threading.Thread(target=say)
    thread.start()
    try:
        with tv.trace() as recorded:
            tf.constant([1.0]) + tf.constant([2.0])
    finally:
        ended.set()
        thread.join()
    lines = capfd.readouterr().err.splitlines()
    assert len(recorded.events)
    # Another thread's next line can come before one that is being passed on.
    assert sorted(line for line in lines if line.startswith("line ")) == sorted(said)
    assert not any("profiler_session.cc" in line or "save_profile.cc" in line for line in lines)
