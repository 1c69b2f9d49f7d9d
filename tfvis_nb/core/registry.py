"""Functions of higher packages that methods of traces, datasets and sessions call.

Each is named by its import path here and imported when it is first used, so that lower packages depend on
none of them. Type checkers see the functions themselves.
"""

# ruff: noqa: PLC0414 - mypy re-exports only names with an alias.
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfvis_nb.analysis.prediction.what_if import what_if as what_if
    from tfvis_nb.analysis.subset import between as between
    from tfvis_nb.analysis.subset import of_steps as of_steps
    from tfvis_nb.anonymizing.anonymized import anonymized as anonymized
    from tfvis_nb.display.charts import Charts as Charts
    from tfvis_nb.display.monitor.monitor_widget import monitor_of as monitor_of
    from tfvis_nb.display.pages.page import html_page as html_page
    from tfvis_nb.display.pages.static_html import static_html as static_html
    from tfvis_nb.display.pictures.picture import picture as picture
    from tfvis_nb.display.pictures.typeset import typeset as typeset
    from tfvis_nb.fleet.timeline.dataset_timeline import DatasetTimeline as DatasetTimeline
    from tfvis_nb.sql.connection import trace_connection as trace_connection
    from tfvis_nb.sql.connection import trace_sql as trace_sql
    from tfvis_nb.writing.chrome_trace import chrome_trace_text as chrome_trace_text
    from tfvis_nb.writing.chrome_trace import write_chrome_trace as write_chrome_trace
    from tfvis_nb.writing.parquet import write_parquet as write_parquet
    from tfvis_nb.writing.report import report as report

MODULES = {
    "Charts": "display.charts",
    "DatasetTimeline": "fleet.timeline.dataset_timeline",
    "anonymized": "anonymizing.anonymized",
    "between": "analysis.subset",
    "chrome_trace_text": "writing.chrome_trace",
    "html_page": "display.pages.page",
    "monitor_of": "display.monitor.monitor_widget",
    "of_steps": "analysis.subset",
    "picture": "display.pictures.picture",
    "report": "writing.report",
    "static_html": "display.pages.static_html",
    "trace_connection": "sql.connection",
    "trace_sql": "sql.connection",
    "typeset": "display.pictures.typeset",
    "what_if": "analysis.prediction.what_if",
    "write_chrome_trace": "writing.chrome_trace",
    "write_parquet": "writing.parquet",
}
"""The modules of the functions."""


def imported(module: str, name: str) -> Any:
    """Return a function or class of a module, given without ``tfvis_nb``."""
    return getattr(import_module(f"tfvis_nb.{module}"), name)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in MODULES:
            raise AttributeError(name)
        return imported(MODULES[name], name)
