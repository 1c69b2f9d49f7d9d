"""The HTML around an export: one file with its data and code, which contacts no host."""

import base64
import functools
import html
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from tfvis_nb.core.labels import printable

# The page may contact no host, so that it cannot leak a user's graph.
_PAGE = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
# Compression halves the size of the code. Browsers too old for it can only run the unpacking code, which
# removes the unpacked script once it has run: a page that is exported again packs its code itself.
_START = files(__package__).joinpath("unpack.js").read_text(encoding="utf-8")

# Letters that scripts, attributes and JSON contain unescaped; 85 are the fewest of which five hold 4 bytes.
_LETTERS = bytes(code for code in range(ord("%"), 127) if code not in b"&'<>\\")
_FROM_ASCII85 = bytes.maketrans(bytes(range(ord("!"), ord("!") + 85)), _LETTERS)

_MOST_LETTERS = 400


def framed(
    *,
    what: str,
    title: str,
    summary: str,
    fallback: str,
    parts: Mapping[str, bytes],
    options: Mapping[str, Any],
    code: str,
    style: str = "",
) -> str:
    r"""Fill in the page that shows `what`, such as ``timeline``.

    `summary` is shown while it loads, the HTML `fallback` if no scripts run. The script finds the bytes of
    `parts` in base64 in the elements ``tfvis-NAME``, and contains its own `code` compressed, in base 85.
    """
    texts = {name: base64.b64encode(data).decode() for name, data in parts.items()} | {"code": _packed(code)}
    # Nothing waits for details but a click, so they follow the script that starts.
    details = [name for name in texts if name.startswith("details")]
    return _PAGE.substitute(
        what=what,
        title=html.escape(title),
        summary=html.escape(summary),
        fallback=fallback,
        annotations=annotations_html(_all_annotations(options)),
        parts=_elements(texts, [name for name in texts if name not in details]),
        details=_elements(texts, details),
        # Inside a script element, only "<" could end the text.
        options=json.dumps(options).replace("<", "\\u003c"),
        start=_START,
        style=style,
    )


def _elements(texts: Mapping[str, str], names: Iterable[str]) -> str:
    return "\n".join(
        f'<script type="application/octet-stream" id="tfvis-{name}">{texts[name]}</script>' for name in names
    )


def annotations_html(annotations: Sequence[Mapping[str, Any]]) -> str:
    """Write the names and comments of annotations as a list; empty without any."""
    texts = (f"{each['name']}: {each['text']}" if each["text"] else each["name"] for each in annotations)
    items = "".join(f"<li>{html.escape(printable(text, _MOST_LETTERS))}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _all_annotations(options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the annotations of a page's timelines, if any."""
    return [each for side in options.get("sides", [options]) for each in side.get("annotations", [])]


@functools.lru_cache(4)
def _packed(code: str) -> str:
    # The most memory that zlib can use makes it a little smaller.
    compressor = zlib.compressobj(9, wbits=31, memLevel=9)
    packed = compressor.compress(code.encode()) + compressor.flush()
    # Python writes four zero bytes as one letter.
    return base64.a85encode(packed).replace(b"z", b"!!!!!").translate(_FROM_ASCII85).decode()
