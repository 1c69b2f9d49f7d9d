"""Pages that other versions of the packages make."""

from __future__ import annotations

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


def make_pages(versions: str, folder: Path) -> None:
    if versions != ESTIMATOR:
        run(python_of(versions), "-c", MAKE, str(TRACE), cwd=folder)
    elif base := older_tensorflow.interpreter():
        python = older_tensorflow.python_with_estimator(base)
        run(python, "-m", "tests.estimator.cell", str(folder), cwd=folder)
    else:
        pytest.skip("not run: tf.estimator needs a Python 3.11")


@pytest.mark.parametrize("versions", [*SETS, ESTIMATOR])
def test_page_and_dashboard_are_drawn(
    versions: str, tmp_path: Path, exported: OpenExported, exported_dashboard: OpenDashboard
) -> None:
    make_pages(versions, tmp_path)
    for page in tmp_path.glob("[pa]*.html"):
        exported(page).wait()
    shown = exported_dashboard(tmp_path / "dashboard.html").wait()
    expect(shown.table("Ops", "By op type").locator("tbody tr").first).to_be_visible()
    assert shown.chart("Memory", MEMORY).locator("canvas").count() > 0
