"""SVG, HTML and Markdown as text, with escaped texts and attributes."""

import html
import re
from collections.abc import Container, Iterable, Sequence
from xml.sax.saxutils import quoteattr

from tfvis_nb.core.labels import printable

_MARKS = re.compile(r"[\\`*\[\]<>#|~&]|(?<![^\W_])_|_(?![^\W_])")
_LINKS = re.compile(r"(?<=:)/(?=/)|(?<=www)\.|@", re.IGNORECASE)
"""Characters by which GitHub recognises bare URLs and addresses as links."""
_LONGEST, _LONGEST_CODE = 1000, 200


def element(name: str, *children: str, text: object = "", **attributes: object) -> str:
    """Return an element with these children or this text.

    Attributes that are None are left out, numbers have at most two decimals, and names have ``-`` for ``_``.

    >>> element("text", text="a<b", x=2.0, font_size=None, text_anchor="end")
    '<text x="2" text-anchor="end">a&lt;b</text>'
    >>> element("g", element("rect", width=1.234), class_="bars")
    '<g class="bars"><rect width="1.23"/></g>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_value(value))}"
        for key, value in attributes.items()
        if value is not None
    )
    content = "".join(children) + html.escape(str(text))
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def html_table(heads: Sequence[str], rows: Iterable[Iterable[object]], *, right: Container[int]) -> str:
    """Return a table that sites keep when they sanitize notebooks, with the columns `right` right-aligned.

    >>> html_table(["op", "count"], [["a<b", 3]], right=[1])
    '<table><thead><tr><th>op</th><th>count</th></tr></thead><tbody><tr><td>a&lt;b</td><td align="right">3...
    """
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    begin = ['<td align="right">' if column in right else "<td>" for column in range(len(heads))]
    body = ""
    for row in rows:
        cells = (f"{tag}{html.escape(str(cell))}</td>" for tag, cell in zip(begin, row, strict=True))
        body += f"<tr>{''.join(cells)}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def markdown_text(text: str, most: int = _LONGEST) -> str:
    r"""Return a text as one line of Markdown without marks, links, images or HTML.

    >>> print(markdown_text("![a](http://x) <b>\n# *c*"))
    !\[a\](http:\//x) \<b\> \# \*c\*
    """
    plain = printable(" ".join(text.split()), most)
    return _LINKS.sub(r"\\\g<0>", _MARKS.sub(r"\\\g<0>", plain))


def markdown_code(text: str, most: int = _LONGEST_CODE) -> str:
    """Return a text as a code span of Markdown, cut to one line.

    >>> print(markdown_code("a `b` c"))
    `` a `b` c ``
    """
    plain = printable(" ".join(text.split()), most)
    fence = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
    return f"{fence} {plain} {fence}" if "`" in plain or not plain else f"{fence}{plain}{fence}"


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
