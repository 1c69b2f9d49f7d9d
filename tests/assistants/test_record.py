"""Recording: only if allowed, below the roots, replacing nothing, and with no process left over."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import tfvis_nb as tv
from tests.support.assistants import Assistant, assistant, has_ended
from tests.support.conditions import wait_until

pytestmark = pytest.mark.slow  # a server is started

# Starts processes of other sessions that have lost their parents, as services do. On Linux, one of them has
# cleared its environment.
DETACHED = """
import os, subprocess, sys, time
from pathlib import Path
code = "import subprocess as s; print(s.Popen(['sleep', '99'], stdout=s.DEVNULL, start_new_session=True).pid)"
cleared = {} if sys.platform == "linux" else None
pids = [subprocess.check_output([sys.executable, "-c", code], env=env).decode() for env in (None, cleared)]
Path("pids").write_text(f"{os.getpid()} {' '.join(pids)}")
print("arguments", sys.argv[1:])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("project") / "root"
    made.mkdir()
    (made.parent / "outside.py").write_text("open('ran', 'w')")
    (made / "link.py").symlink_to(made.parent / "outside.py")
    (made / "detached.py").write_text(DETACHED + "sys.exit(7)")
    (made / "endless.py").write_text(DETACHED + "time.sleep(1000)")
    (made / "old.parquet").write_text("old")
    return made


@pytest.fixture(scope="module")
def asked(folder: Path) -> Iterator[Assistant]:
    with assistant(folder, "--allow-record") as connected:
        yield connected


def wait_for_all(folder: Path) -> None:
    """Wait until the processes of the script have ended."""
    pids = (folder / "pids").read_text().split() if (folder / "pids").exists() else []
    processes = [psutil.Process(int(pid)) for pid in pids if psutil.pid_exists(int(pid))]
    wait_until(lambda: all(map(has_ended, processes)))


def test_the_script_is_run_with_arguments_and_leaves_no_process(asked: Assistant, folder: Path) -> None:
    given = ["$(touch ran)", "; touch ran", "-o"]
    answer = asked.json("record", script="detached.py", output="none.parquet", arguments=given)
    assert (answer["exit_code"], answer["trace"]) == (7, None)
    assert f"arguments {given}" in answer["output"]
    wait_for_all(folder)
    assert not (folder / "ran").exists()


def test_the_time_is_limited(asked: Assistant, folder: Path) -> None:
    answer = asked.json("record", script="endless.py", output="none.parquet", seconds=3)
    assert answer["exit_code"] != 0
    wait_for_all(folder)
    assert asked.error("record", script="endless.py", output="none.parquet", seconds=601)


@pytest.mark.parametrize("ending", ["close", "kill"])
def test_a_script_ends_with_the_server(folder: Path, ending: str) -> None:
    (folder / "pids").unlink(missing_ok=True)
    with assistant(folder, "--allow-record") as asked:
        calling = asked.portal.start_task_soon(_call, asked)
        wait_until(lambda: (folder / "pids").exists() and (folder / "pids").read_text())
        if ending == "kill":
            asked.server.kill()
        else:
            calling.cancel()
    wait_for_all(folder)


async def _call(asked: Assistant) -> None:
    try:
        await asked.client.call_tool("record", {"script": "endless.py", "output": "none.parquet"})
    except Exception:  # noqa: BLE001 - the connection was closed
        return


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("../outside.py", "new.parquet"),
        ("link.py", "new.parquet"),
        ("nosuch.py", "new.parquet"),
        ("detached.py", "../new.parquet"),
        ("detached.py", "old.parquet"),
        ("detached.py", "new.html"),
        ("detached.py", "nosuch/new.parquet"),
    ],
)
def test_other_scripts_and_outputs_are_refused(
    asked: Assistant, folder: Path, script: str, output: str
) -> None:
    (folder / "pids").unlink(missing_ok=True)
    assert asked.error("record", script=script, output=output)
    assert not (folder / "pids").exists()
    assert (folder / "old.parquet").read_text() == "old"


@pytest.mark.tensorflow
def test_a_recording_can_be_opened(asked: Assistant, folder: Path) -> None:
    (folder / "steps.py").write_text(
        "import tensorflow as tf\nf = tf.function(lambda x: tf.matmul(x, x))\n"
        "for _ in range(3):\n    f(tf.ones([8, 8]))\n"
    )
    answer = asked.json("record", script="steps.py", output="new.parquet")
    assert (answer["exit_code"], answer["trace"]) == (0, "new.parquet"), answer["output"]
    assert "MatMul" in {*tv.read_trace(folder / "new.parquet").events["op"]}
    assert "steps.py" in asked.text("open_trace", path="new.parquet")
