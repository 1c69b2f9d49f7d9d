"""Jobs that are killed at any time, and whether their session has all that they had finished."""

import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import tfvis_nb as tv
from tests.support.with_tensorflow import Started

KINDS = {
    "one job": ("session", 1, 0),
    "two jobs": ("session", 2, 0),
    "keras": ("keras", 1, 0),
    "keep": ("session", 1, 10),
}
"""What runs, how many of them in one file, and how many traces are kept, of every third run; 0: none."""

LABELS = {"session": "total", "keras": "train small"}


@dataclass(frozen=True)
class Killed:
    """The finished runs of killed jobs, and the runs in the file."""

    finished: int
    counted: int
    jobs: int
    wrong: str


def killed(path: Path, kind: str, seed: int) -> Killed:
    """Run jobs into a new session, kill them, and read the file."""
    what, jobs, keep = KINDS[kind]
    command = ("-m", "tests.recording.killed_job", path, what, str(keep))
    said = [path.with_name(f"said{number}") for number in range(jobs)]
    for file in said:
        file.touch()
    processes = [Started(*command, output=file) for file in said]
    until = time.monotonic() + 120
    while any(file.stat().st_size == 0 for file in said) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(random.Random(seed).uniform(0, 1.5))
    for process in processes:
        process.send_signal(signal.SIGKILL)
        process.wait()
    # A line may be cut short by the kill.
    finished = sum(int(file.read_bytes().rpartition(b"\n")[0].split()[-1]) for file in said)
    with tv.open_session(path) as session:
        table = session.signatures.set_index("label")
        counted = int(table["runs"].to_dict().get(LABELS[what], 0))
        runs = session.traces["run"].tolist()
        ended = bool(session.processes["end"].notna().all())
        read = [len(session.read(trace).events) for trace in session.traces.index]
    wrong = [] if ended else ["a job is shown as running"]
    if not finished <= counted <= finished + jobs:
        wrong.append(f"{counted} runs counted of {finished}")
    if keep and runs and (runs != list(range(runs[0], runs[-1] + 1, 3)) or finished - runs[-1] >= 3):
        wrong.append(f"traces of {runs} of {finished} runs")
    if not all(read):
        wrong.append("a trace without events")
    return Killed(finished, counted, jobs, "; ".join(wrong))
