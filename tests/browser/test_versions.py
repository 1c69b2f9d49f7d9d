"""Pages that other versions of the packages make."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import MEMORY, TRACE, OpenDashboard
from tests.browser.timeline import OpenExported
from tests.estimator import older_tensorflow
from tests.support.environments import run
from tests.support.versions import SETS, python_of

pytestmark = pytest.mark.thorough

ESTIMATOR = "estimator"
MAKE = """
import sys, tfvis_nb as tv
trace = tv.read_trace(sys.argv[1])
trace.to_html("page.html")
tv.show_dashboard(trace).to_html("dashboard.html")
trace.to_html("anonymous.html", anonymize=True)
"""


@pytest.fixture(scope="module", params=[*SETS, ESTIMATOR])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages made with a set of versions."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param != ESTIMATOR:
        run(python_of(request.param), "-c", MAKE, str(TRACE), cwd=folder)
    elif base := older_tensorflow.interpreter():
        python = older_tensorflow.python_with_estimator(base)
        run(python, "-m", "tests.estimator.cell", str(folder), cwd=folder)
    else:
        pytest.skip("not run: tf.estimator needs a Python 3.11")
    return folder


@pytest.mark.parametrize("name", ["page.html", "anonymous.html"])
def test_page_is_drawn(name: str, folder: Path, exported: OpenExported) -> None:
    exported(folder / name).wait()


def test_dashboard_is_drawn(folder: Path, exported_dashboard: OpenDashboard) -> None:
    shown = exported_dashboard(folder / "dashboard.html").wait()
    expect(shown.table("Ops", "By op type").locator("tbody tr").first).to_be_visible()
    assert shown.chart("Memory", MEMORY).locator("canvas").count() > 0
