"""Real traces as fixtures."""

import gc
import os
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.real_traces import DATA, SHARED, each, in_collection, outside_sample, step_stats_files
from tests.support.examples import try_examples
from tests.support.slow_tests import LIMIT_S, Measuring, name_without_parameters, slow_tests

# On some CPUs TensorFlow replaces ops by those of oneDNN; recordings have the same ops on all. Set before the
# conftest.py of a folder imports TensorFlow.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

LEFT_OUT = pytest.StashKey[dict[str, str]]()
MISSING, UNWANTED = "missing", "unwanted"


def pytest_configure(config: pytest.Config) -> None:
    # Started in the background or by nohup, this ignores these signals, and so does all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try_examples(config.getoption("extent"))
    if not hasattr(config, "workerinput"):
        # Kernels and other processes that tests start have it as well: the user's own runs stay untouched.
        history = tempfile.TemporaryDirectory(prefix="history-")
        config.add_cleanup(history.cleanup)
        os.environ["TFVIS_NB_HISTORY"] = history.name
    # Nearly all that is made until every test is collected stays: modules and the tests themselves.
    gc.disable()
    config.addinivalue_line("markers", "collection(*files): needs these files of ../shared/traces")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(config))
    if config.getoption("measure"):
        if config.getoption("numprocesses", None):
            raise pytest.UsageError("--measure works in one process; leave out -n")
        config.pluginmanager.register(Measuring())


class FailuresAtOnce:
    """Names a test as soon as it fails: a run that is ended from outside prints no summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print a line for a failure."""
        if report.failed:
            printer = self._config.pluginmanager.get_plugin("terminalreporter")
            crash = getattr(report.longrepr, "reprcrash", None)
            why = next(iter(str(crash.message if crash else report.longrepr).splitlines()), "")
            assert isinstance(printer, pytest.TerminalReporter)
            printer.write_line(f"\n{report.nodeid} ({report.when}, {report.duration:.0f} s): {why}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--extent",
        choices=("small", "some", "all"),
        default="some",
        help="how much is tested: of the traces of ../shared none, a sample (the default) or all; of "
        "generated examples 4, 6 or 40 percent; other small traces and what is marked thorough with all; "
        "slow tests unless small",
    )
    parser.addoption(
        "--measure",
        action="store_true",
        help=f"measure which of the tests take more than {LIMIT_S} s of processor time, and list them in "
        "tests/slow_tests.txt; in one process",
    )
    parser.addoption(
        "--wheel", type=Path, help="tests of the wheel take this one, with every Python there is"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `--extent` does not want, and tests of files that are not there."""
    wanted = config.getoption("extent")
    slow = frozenset() if config.getoption("measure") else slow_tests()

    def reason(item: pytest.Item) -> str | None:
        files = [name for mark in item.iter_markers("collection") for name in mark.args]
        if not all((SHARED / name).is_file() for name in files):
            return MISSING
        if wanted != "all" and item.get_closest_marker("thorough"):
            return UNWANTED
        if wanted == "small" and (
            item.get_closest_marker("slow") or name_without_parameters(item.nodeid) in slow
        ):
            return UNWANTED
        of_collection = files or any(map(in_collection, _parameters(item)))
        if (wanted == "small" and of_collection) or (
            wanted == "some" and any(map(outside_sample, _parameters(item)))
        ):
            return UNWANTED
        return None

    reasons = {item: reason(item) for item in items}
    left_out = {item.nodeid: why for item, why in reasons.items() if why}
    if left_out:
        config.hook.pytest_deselected(items=[item for item, why in reasons.items() if why])
        items[:] = [item for item, why in reasons.items() if not why]
    config.stash[LEFT_OUT] = left_out


def _parameters(item: pytest.Item) -> list[object]:
    call = getattr(item, "callspec", None)
    return list(call.params.values()) if call else []


def pytest_collection_finish() -> None:
    # Thousands of tests would be looked at again by every full collection of garbage.
    gc.collect()
    gc.freeze()
    # So do traces that are read once for many tests: live objects are visited less often.
    gc.set_threshold(10_000, 10, 50)
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Processes of pytest-xdist collect, each another share; the one that prints does not.
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"] = session.config.stash.get(LEFT_OUT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    left_out = node.config.stash.setdefault(LEFT_OUT, {})
    left_out.update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = Counter(config.stash.get(LEFT_OUT, {}).values())
    if not SHARED.is_dir():
        terminalreporter.write_line(
            f"No ../shared/traces: {left_out.get(MISSING, 0)} tests of its files were left out, "
            "and whatever tests each file of it has the small traces only."
        )
    elif MISSING in left_out:
        terminalreporter.write_line(
            f"{left_out[MISSING]} tests were left out: their files of ../shared/traces are missing."
        )
    if UNWANTED in left_out:
        terminalreporter.write_line(
            f"{left_out[UNWANTED]} tests that are slow, thorough or of other traces were left out, "
            "and most generated examples: --extent=all runs them."
        )


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is installed
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.support.shares import Shares

    return Shares(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Deselect tests that belong to another process."""
    if (worker := getattr(config, "workerinput", None)) is None:
        return None
    from tests.support.shares import left_to_others

    return left_to_others(collection_path, config, worker) or None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "step_stats_path" in metafunc.fixturenames:
        metafunc.parametrize("step_stats_path", each(step_stats_files()))


@pytest.fixture
def data() -> Path:
    """The folder of small traces."""
    return DATA


@pytest.fixture
def shared() -> Path:
    """The folder of the large collection; mark a test with ``collection`` to use it."""
    return SHARED
