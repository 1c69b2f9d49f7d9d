"""The pages of the site: no warning of Sphinx, and every public name."""

import ast
import re
from pathlib import Path

import pytest

import tfvis_nb
from tests.support.site import ROOT, build

API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_all_pages_are_read_and_their_links_resolved(tmp_path: Path) -> None:
    build("dummy", tmp_path / "site", tmp_path / "doctrees")


def test_every_public_name_is_in_the_reference() -> None:
    stubs = [ROOT / "tfvis_nb" / package / "__init__.pyi" for package in ("analysis", "fleet")]
    of_packages = [
        name.name
        for stub in stubs
        for each in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(each, ast.ImportFrom)
        for name in each.names
    ]
    listed = re.findall(r"^   (\w+)$", API, re.MULTILINE)
    extension = {"load_ipython_extension", "unload_ipython_extension"}
    others = {"__version__", "analysis", "earlier_traces", "last_trace"}
    assert sorted(listed) == sorted([*of_packages, *set(tfvis_nb.__all__) - extension - others])


def test_every_host_names_a_test_that_exists() -> None:
    tables = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8").partition("\nUntested")[0]
    rows = [row for row in tables.splitlines() if row.startswith("| ") and not row.startswith("| host")]
    assert len(rows) > 25
    for row in rows:
        named = re.findall(r"`(tests/[^`]+)`", row)
        assert named, row
        assert all((ROOT / name).is_file() for name in named), row
