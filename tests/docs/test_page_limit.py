"""Texts state the size limit of pages that the code has."""

from pathlib import Path

import pytest

from tfvis_nb.core.format import format_file_size
from tfvis_nb.core.html_export import MAX_BYTES, HtmlExport

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["docs/sharing.md", "CHANGELOG.md", "docs/cli.md"])
def test_pages_of_documentation(name: str) -> None:
    assert format_file_size(MAX_BYTES) in (ROOT / name).read_text(encoding="utf-8")


def test_docstring() -> None:
    assert format_file_size(MAX_BYTES) in str(HtmlExport.to_html.__doc__)
