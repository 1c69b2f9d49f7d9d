"""The HTML around what is exported: one file that asks nobody for anything, with its data and code inside."""

import base64
import gzip
import html
import json
from collections.abc import Mapping
from string import Template
from typing import Any

# No host may be asked for anything: a page with somebody's graph in it must not be able to tell.
_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' blob:; \
style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
html, body { margin: 0; height: 100%; }
body { font: 13px/1.5 system-ui, sans-serif; }
#tfvis-root { height: 100%; }
.tfvis-loading { padding: 12px 16px; }
$style</style>
</head>
<body>
<div id="tfvis-root"><p class="tfvis-loading" role="status">Loading the $what of $summary\u2026</p></div>
<noscript>
<p>This page draws its $what with JavaScript, which is switched off here. A summary:</p>
$fallback
</noscript>
$parts
<script type="application/json" id="tfvis-options">$options</script>
<script>$start</script>
</body>
</html>
""")


# The code takes half as much room compressed. What unpacks it is all that a browser too old for it can run.
_START = """\
(async () => {
  const packed = document.getElementById("tfvis-code").textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.body.append(script);
})().catch((error) => {
  document.querySelector(".tfvis-loading").textContent = `This browser cannot show it: ${error.message}.`;
});
"""


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

    `summary` is shown while it loads, the HTML `fallback` where no scripts run. The script finds the bytes of
    `parts` in base64 in the elements ``tfvis-NAME``, and carries its own `code` compressed.
    """
    parts = {**parts, "code": gzip.compress(code.encode(), mtime=0)}
    elements = [
        f'<script type="application/octet-stream" id="tfvis-{name}">{_base64(data)}</script>'
        for name, data in parts.items()
    ]
    return _PAGE.substitute(
        what=what,
        title=html.escape(title),
        summary=html.escape(summary),
        fallback=fallback,
        parts="\n".join(elements),
        # Inside a script element only "<" could end the text.
        options=json.dumps(options).replace("<", "\\u003c"),
        start=_START,
        style=style,
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
