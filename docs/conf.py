"""Sphinx builds the site from the repository's root, so that links between pages are those of a checkout."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

project = "tfvis_nb"
author = "The tfvis_nb authors"
project_copyright = author
version = release = installed("tfvis-nb")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "live_pages",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/*.ipynb", "benchmarks/README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
# Folders named here are not even listed.
exclude_patterns = [".*", "node_modules", "docs/_build", "docs/templates", "docs/_templates"]
templates_path = [str(DOCS / "_templates")]  # that of autosummary is looked for in the root otherwise

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
# A widget without its kernel is the page that it stored. The other form loads code from the network.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None),
    ("html", "text/html", 0),
]

default_role = "py:obj"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
autodoc_member_order = "groupwise"
autosummary_imported_members = True
numpydoc_show_class_members = False
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "tfvis_nb"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["theme_of_frames.js"]
html_show_search_summary = False  # it is fetched, which browsers refuse to pages on disk
html_show_sourcelink = False
html_copy_source = False
html_additional_pages = {"index": "to_docs.html"}
html_theme_options = {
    "logo": {"text": "tfvis_nb"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "docs/index": [], "docs/gallery": []},
    "navigation_with_keys": False,
    "footer_start": [],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
html_sidebars: dict[str, list[str]] = {"docs/index": [], "docs/install": [], "docs/gallery": []}
