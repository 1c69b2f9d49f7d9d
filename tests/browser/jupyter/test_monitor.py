"""The monitor in a real JupyterLab: of a job that a cell runs, and of one in another process."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

import tfvis_nb as tv
from tests.browser.jupyter_server import JupyterServer
from tests.browser.monitor import Monitor
from tests.browser.notebook import Notebook, OpenNotebook
from tests.support.with_tensorflow import Started

pytestmark = pytest.mark.tensorflow

StartJob = Callable[[Path], Started]

GRAPH = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import time
from pathlib import Path
import tensorflow.compat.v1 as tf
import tfvis_nb as tv
tf.disable_eager_execution()
weights = tf.get_variable("weights", [64, 64])
loss = tf.reduce_sum(tf.matmul(weights, weights, name="product"), name="loss")
session = tf.Session()
_ = session.run(tf.global_variables_initializer())
recorded = tv.TraceSession("NAME.tfvis")
recorded.monitor(height=500)
"""
TRAIN = """
with recorded:
    until = time.monotonic() + 90
    while time.monotonic() < until and not Path("NAME.stop").exists():
        _ = session.run(loss)
        time.sleep(0.005)
print("trained")
"""


@pytest.fixture
def job() -> Iterator[StartJob]:
    """Starts a job that trains in a process of its own until it is killed."""
    with ExitStack() as started:
        yield lambda path: started.enter_context(
            Started("-m", "tests.recording.monitored_job", path, "session")
        )


def test_a_cell_that_trains_is_traced_while_it_runs(notebook: OpenNotebook, jupyter: JupyterServer) -> None:
    book = notebook([source.replace("NAME", "cell") for source in (GRAPH, TRAIN)])
    book.run(0)
    monitor = book.monitor(0)
    expect(monitor.recording).to_contain_text("Waiting")
    book.start(1)
    expect(monitor.recording).to_contain_text("Recording")
    monitor.expect_growth("loss")
    monitor.order("Trace next run of loss")
    expect(monitor.traces).to_have_count(1)
    monitor.traces.first.click()
    timeline = monitor.opened()
    timeline.find("op:MatMul")
    expect(timeline.title).to_have_text("product")
    monitor.expect_growth("loss")
    assert book.is_running(1)
    (jupyter.root / "cell.stop").touch()
    expect(monitor.recording).to_contain_text("Ended")
    expect(book.output(1)).to_contain_text("trained")
    assert book.ask("print(len(recorded.traces), recorded.problem == '')") == "1 True"


# As of JupyterLab before 4.4, and with kernels that have one thread for all messages.
ONE_THREAD = """() => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    kernel.commsOverSubshells = 'disabled';
}"""


@pytest.mark.thorough
def test_a_kernel_that_answers_after_the_cell(notebook: OpenNotebook, jupyter: JupyterServer) -> None:
    book = notebook([source.replace("NAME", "late") for source in (GRAPH, TRAIN)])
    book.page.evaluate(ONE_THREAD)
    book.run(0)
    monitor = book.monitor(0)
    book.start(1)
    monitor.expect_growth("loss")
    monitor.order("Trace next run of loss")
    expect(monitor.region).to_contain_text("The kernel is busy")
    monitor.expect_growth("loss")
    assert book.is_running(1)
    (jupyter.root / "late.stop").touch()
    expect(book.output(1)).to_contain_text("trained")
    expect(monitor.region).not_to_contain_text("The kernel is busy")
    expect(monitor.region.get_by_role("alert")).to_contain_text("the job has ended")
    assert book.ask("print(recorded.signatures.set_index('label').loc['loss', 'requested'])") == "0"


def watched(notebook: OpenNotebook, path: Path) -> tuple[Notebook, Monitor]:
    book = notebook([f"import tfvis_nb as tv\nshown = tv.monitor({str(path)!r}, height=500)\nshown"])
    book.run_all()
    return book, book.monitor(0)


@pytest.mark.thorough
def test_a_job_in_another_process(notebook: OpenNotebook, job: StartJob, tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    _, monitor = watched(notebook, path)
    expect(monitor.region).to_contain_text("There is no file run.tfvis yet")
    process = job(path)
    expect(monitor.recording).to_contain_text("Recording", timeout=60_000)
    with tv.open_session(path) as session:
        (label,) = [label for label in wait_for_labels(monitor, session) if "GradientDescent" in label]
        monitor.expect_growth(label)
        monitor.order("Trace next run")
        expect(monitor.traces).to_have_count(1)

        # What slows every run down is said before it is ordered, and as long as it holds.
        monitor.region.get_by_role("button", name="Trace rules").click()
        form = monitor.region.get_by_role("dialog", name="Rules for all signatures")
        form.get_by_role("radio", name="Every run").check()
        expect(form).to_contain_text("Tracing every run makes it slower")
        form.get_by_role("button", name="Apply").click()
        expect(monitor.banner).to_contain_text("Every run is kept as a trace")
        expect(monitor.traces.nth(3)).to_be_visible()
        monitor.order("Stop")
        expect(monitor.banner).to_have_count(0)
        assert session.signatures["rule"].eq("").all()

        process.send_signal(signal.SIGKILL)
        process.wait()
        expect(monitor.recording).to_contain_text("Ended")
        assert session.processes["end"].notna().all()

        monitor.traces.first.click()
        timeline = monitor.opened()
        timeline.find("op:MatMul")
        expect(timeline.title).to_contain_text("MatMul")


def wait_for_labels(monitor: Monitor, session: tv.SavedSession) -> list[str]:
    """The labels of the signatures, once the job trains and the monitor shows it."""
    for _ in range(100):
        labels: list[str] = session.signatures["label"].tolist()
        if any("GradientDescent" in label for label in labels):
            expect(monitor.signature(labels[-1])).to_be_visible()
            return labels
        monitor.page.wait_for_timeout(200)
    raise AssertionError("the job does not train")


@pytest.mark.thorough
def test_kept_traces_are_downloaded_saved_and_deleted(
    notebook: OpenNotebook, job: StartJob, tmp_path: Path
) -> None:
    path = tmp_path / "run.tfvis"
    book, monitor = watched(notebook, path)
    job(path)
    expect(monitor.recording).to_contain_text("Recording", timeout=60_000)
    for count in (1, 2):
        monitor.order("Trace next run")
        expect(monitor.traces).to_have_count(count)
    with book.page.expect_download() as download:
        monitor.region.get_by_role("button", name="Download run").first.click()
        monitor.region.get_by_role("menuitem", name="Table").click()
    table = tmp_path / download.value.suggested_filename
    download.value.save_as(table)
    assert table.suffix == ".parquet"
    assert len(tv.read_trace(table).events)
    with book.page.expect_download() as download:
        monitor.order("Save")
    saved = tmp_path / "saved.tfvis"
    download.value.save_as(saved)
    with tv.open_session(saved) as session:
        assert len(session.traces) == 2
    monitor.region.get_by_role("button", name="Delete run").first.click()
    monitor.order("Delete")
    expect(monitor.traces).to_have_count(1)
    with tv.open_session(path) as session:
        assert len(session.traces) == 1


@pytest.mark.thorough
def test_a_cell_run_again_and_a_page_opened_again(
    notebook: OpenNotebook, job: StartJob, tmp_path: Path
) -> None:
    path = tmp_path / "run.tfvis"
    book, monitor = watched(notebook, path)
    job(path)
    expect(monitor.recording).to_contain_text("Recording", timeout=60_000)
    book.run(0)
    expect(book.page.locator(".tfvis-nb-monitor")).to_have_count(1)
    count = "import threading\nprint(sum(t.name == 'tfvis-nb monitor' for t in threading.enumerate()))"
    assert book.ask(count) == "1"
    book.command("docmanager:save")
    book.open()
    monitor = book.monitor(0)
    expect(monitor.recording).to_contain_text("Recording")
    with tv.open_session(path) as session:
        monitor.expect_growth(session.signatures.nlargest(1, "runs")["label"].iloc[0])
    assert book.ask("shown.close()") == ""
    expect(monitor.region).to_have_count(0)
    book.wait_until(lambda: book.ask(count) == "0")


NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "monitor.ipynb"


@pytest.mark.thorough
def test_example_notebook_leaves_a_live_monitor(notebook: OpenNotebook) -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (shown,) = [number for number, source in enumerate(sources) if "tv.monitor(" in source]
    book = notebook([source.replace("seconds = 60", "seconds = 600") for source in sources])
    book.run_all()
    monitor = book.monitor(shown)
    expect(monitor.recording).to_contain_text("Recording")
    monitor.expect_growth("train")
    count = monitor.traces.count()
    monitor.order("Trace next run of train")
    expect(monitor.traces).to_have_count(count + 1)


ANNOTATED = """
import tfvis_nb as tv
from pathlib import Path
from tests.support.session_files import filled
path = Path("annotated.tfvis")
filled(path)
shown = tv.monitor(path)
"""


def test_rerun_cell_shows_opened_traces_and_their_notes(notebook: OpenNotebook) -> None:
    book = notebook([ANNOTATED, "shown"])
    book.run_all()
    monitor = book.monitor(1)
    monitor.traces.first.click()
    timeline = monitor.opened()
    timeline.lanes.press("ArrowRight")
    timeline.lanes.press("n")
    book.page.keyboard.type("why?")
    book.page.keyboard.press("Enter")
    names = "print([name for trace in shown.session for name in trace.annotations['name']])"
    book.wait_until(lambda: book.ask(names) == "['why?']")
    book.run(1)
    timeline = book.monitor(1).opened()
    expect(timeline.root.get_by_role("list", name="Annotations in view")).to_contain_text("why?")
