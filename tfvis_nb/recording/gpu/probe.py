"""Find out what TensorFlow can record here, with a test recording in a separate process.

A separate process is needed because a fault may end it, and TensorFlow reports reasons only in its log.
`tfvis_nb.recording.jax.probe` does the same for JAX.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field

_MARK = "tfvis_nb.recording.probe: "
LONGEST_S = 180.0
"""How long TensorFlow may take to start and multiply two matrices; with a cold disk almost a minute."""


@dataclass
class Probe:
    """The result of the probe.

    - `version`: The framework's version; "" if it could not be imported.
    - `backend`: What JAX runs on, such as ``"cpu"``.
    - `cuda`: The major CUDA version it was built for; "" if none.
    - `gpus`: The GPUs that it sees.
    - `library`: The path of CUPTI; "" if it was not opened.
    - `why`: Why it was not opened.
    - `events`, `kernels`: The number of rows, and of kernel rows, recorded for a matrix multiplication.
    - `log`: The framework's log, and Python's error.
    - `code`: The exit code of the process; None if it did not end in time.
    """

    version: str = ""
    backend: str = ""
    cuda: str = ""
    gpus: list[str] = field(default_factory=list)
    library: str = ""
    why: str = ""
    events: int = 0
    kernels: int = 0
    log: str = ""
    code: int | None = 0


def probe() -> Probe:
    """Make a test recording of TensorFlow in another process, and return the result."""
    return in_a_process(__name__)


def in_a_process(module: str) -> Probe:
    """Run a module that probes, for `LONGEST_S` at most, and return the result."""
    # The log has the reasons, which the user did not intend to silence.
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0"}
    command = [sys.executable, "-m", module]
    try:
        done = subprocess.run(  # noqa: S603 - this very Python
            command, env=environment, capture_output=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        return Probe(log=_text(error.stderr), code=None)
    return parsed(_text(done.stdout), _text(done.stderr), done.returncode)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def parsed(output: str, log: str, code: int) -> Probe:
    """Return the result of a probing process."""
    facts: dict[str, object] = {}
    for line in output.splitlines():
        if line.startswith(_MARK):
            # Each line adds to the previous one, because the process may end at any of them.
            facts = json.loads(line.removeprefix(_MARK))
    result = Probe(log=log, code=code)
    vars(result).update({name: value for name, value in facts.items() if name not in ("log", "code")})
    return result


def say(result: Probe) -> None:
    """Tell the process that asked what is known so far."""
    print(_MARK + json.dumps(asdict(result)), flush=True)  # noqa: T201 - to the process that asked


def _run() -> None:
    import tensorflow as tf

    from tfvis_nb.reading import EmptyTraceError
    from tfvis_nb.recording import trace
    from tfvis_nb.recording.gpu.cupti import cuda_major, library

    result = Probe(version=tf.__version__, cuda=cuda_major())
    say(result)
    result.gpus = [gpu.name for gpu in tf.config.list_physical_devices("GPU")]
    say(result)
    values = tf.random.uniform([256, 256])
    try:
        with trace(mode="profiler") as recorded:
            tf.linalg.matmul(values, values).numpy()
        result.events = len(recorded.events)
        result.kernels = int((recorded.events["kind"] == "kernel").sum())
    except EmptyTraceError as error:
        sys.stderr.write(f"{error}\n")
    if result.cuda:
        # After the profile, for which TensorFlow has opened it if it can.
        path, result.why = library(result.cuda)
        result.library = str(path or "")
    say(result)


if __name__ == "__main__":
    _run()
