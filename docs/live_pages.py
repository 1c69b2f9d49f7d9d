"""Sphinx extension: links to the traces of the tests become live pages.

On a code host a link to ``tests/data`` leads to the file. On the site

- a paragraph whose first such link has a title is the page itself, in a frame. The title says what to show:
  ``timeline``, ``dashboard`` or ``comparison``. Several links are the files of one trace, or of both sides;
- a list whose entries begin with such links is a grid of pictures, each of which opens its page. An entry is
  ``[title](file): description``, with the links of further files before the colon;
- any other such link opens the page.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

import tfvis_nb as tv
from tfvis_nb.display.pictures.still import FOOT, LABELS, picture

if TYPE_CHECKING:
    from sphinx.application import Sphinx

TRACES = "tests/data/"
FOLDER = "live"
_HEIGHTS = {"timeline": 560, "dashboard": 900, "comparison": 900}


class LivePage(NamedTuple):
    """A page of the site: the files of its trace, and what it shows of them."""

    files: tuple[str, ...]
    view: str = "timeline"

    @property
    def path(self) -> str:
        """Where it is in the site, without a suffix."""
        stem = "-".join(Path(file).name.removesuffix(".xz").replace(".", "_") for file in self.files)
        return f"{FOLDER}/{stem}" + ("" if self.view == "timeline" else f"-{self.view}")

    def write(self, root: Path, site: Path) -> None:
        """Write the page and the picture of its timeline."""
        sources = [root / file for file in self.files]
        target = site / f"{self.path}.html"
        target.parent.mkdir(exist_ok=True)
        if self.view == "comparison":
            tv.show_comparison(*sources).to_html(target)
            return
        trace = tv.read_trace(sources[0] if len(sources) == 1 else sources)
        if self.view == "dashboard":
            tv.show_dashboard(trace).to_html(target)
            return
        trace.to_html(target)
        target.with_suffix(".svg").write_text(_thumbnail(picture(trace)), encoding="utf-8")


class LivePages(SphinxTransform):
    """Puts live pages where a document links to traces."""

    default_priority = 5

    def apply(self, **_: Any) -> None:
        """Replace the links of one document."""
        for item in [*self.document.findall(nodes.bullet_list)]:
            self._replace_list(item)
        for paragraph in [*self.document.findall(nodes.paragraph)]:
            links = _trace_links(paragraph)
            if links and "reftitle" in links[0]:
                page = self._page(links)
                paragraph.replace_self(nodes.raw("", self._frame(page, paragraph.astext()), format="html"))
        for link in _trace_links(self.document):
            page = self._page([link])
            target = nodes.reference("", "", *link.children, refuri=self._uri(f"{page.path}.html"))
            link.replace_self(target)

    def _replace_list(self, items: nodes.bullet_list) -> None:
        entries = []
        for item in items.children:
            links = _trace_links(item)
            if not links or not item.astext().startswith(links[0].astext()):
                return
            page = self._page(links)
            title, text = links[0].astext(), item.astext().partition(": ")[2]
            entries.append(
                f'<a class="trace-card" href="{self._uri(page.path)}.html">'
                f'<img src="{self._uri(page.path)}.svg" alt="" loading="lazy">'
                f"<strong>{html.escape(title)}</strong><span>{html.escape(text)}</span></a>"
            )
        text = f'<div class="trace-cards">{"".join(entries)}</div>'
        items.replace_self(nodes.raw("", text, format="html"))

    def _frame(self, page: LivePage, caption: str) -> str:
        uri = f"{self._uri(page.path)}.html"
        return (
            f'<figure class="live"><iframe class="live" src="{uri}" title="{html.escape(caption)}"'
            ' loading="lazy" sandbox="allow-scripts allow-downloads" allow="fullscreen"'
            f' style="height: {_HEIGHTS[page.view]}px"></iframe>'
            f'<figcaption>{html.escape(caption)} <a href="{uri}">Open as a page</a></figcaption></figure>'
        )

    def _page(self, links: list[addnodes.download_reference]) -> LivePage:
        files = tuple(self.env.relfn2path(link["reftarget"], self.env.docname)[0] for link in links)
        page = LivePage(files, links[0].get("reftitle") or "timeline")
        wanted(self.app).setdefault(self.env.docname, set()).add(page)
        return page

    def _uri(self, path: str) -> str:
        return relative_uri(f"{self.env.docname}.html", path)


def _trace_links(node: nodes.Node) -> list[addnodes.download_reference]:
    found = node.findall(addnodes.download_reference)
    return [link for link in found if TRACES in link["reftarget"]]


def _thumbnail(svg: str) -> str:
    """Let a picture fill whatever it is put into, without its texts, which would be too small to read."""
    return re.sub(
        r'width="(\d+)" height="(\d+)" viewBox="[^"]+"',
        lambda size: (
            f'viewBox="{LABELS} 0 {int(size[1]) - LABELS} {int(size[2]) - FOOT}" preserveAspectRatio="none" '
            f'width="{size[1]}" height="{size[2]}"'
        ),
        svg,
        count=1,
    )


def wanted(app: Sphinx) -> dict[str, set[LivePage]]:
    """Return the live pages of each document, as the environment keeps them."""
    pages: dict[str, set[LivePage]] = app.env.__dict__.setdefault("live_pages", {})
    return pages


def write(app: Sphinx, failure: Exception | None) -> None:
    """Write the pages that documents show."""
    if failure is None and app.builder.format == "html":
        root, site = Path(app.srcdir), Path(app.outdir)
        changed = max(path.stat().st_mtime for path in Path(tv.__path__[0]).rglob("*.*"))
        for page in sorted(set().union(*wanted(app).values())):
            target = site / f"{page.path}.html"
            if not target.exists() or target.stat().st_mtime < changed:
                page.write(root, site)


def forget(app: Sphinx, _: Any, name: str) -> None:
    """Forget the pages of a document that is read again."""
    wanted(app).pop(name, None)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension; Sphinx calls this."""
    app.add_transform(LivePages)
    app.connect("env-purge-doc", forget)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False}
