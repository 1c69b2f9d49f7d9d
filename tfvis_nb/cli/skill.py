"""``tfvis-nb skill``: print the guide for AI assistants, or copy it to where they look for skills."""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from tfvis_nb.cli.errors import Failure, note
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.verb import FAILED, verb
from tfvis_nb.core.output_path import whole
from tfvis_nb.texts import Text

_ROOT = files("tfvis_nb") / "skill"
_MAIN, _REFERENCES = "SKILL.md", "references"
_NAME = "tfvis-nb"
"""Name of the skill, and of its folder."""

_ABOUT = """
It is in the Agent Skills form: SKILL.md, which it prints without NAME, and short references. --to writes
all of it into the folder tfvis-nb in DIR. A file there that is not an unchanged copy of a skill of tfvis-nb
stays as it is; the command names it and exits with 1.
"""

_EXAMPLES = """
tfvis-nb skill
tfvis-nb skill diagnose
tfvis-nb skill --to ~/.claude/skills
"""


@verb("skill", _ABOUT, _EXAMPLES)
@click.argument(
    "name", type=click.Choice(["record", "diagnose", "compare", "dataset"]), required=False, metavar="[NAME]"
)
@click.option("--to", "folder", metavar="DIR", type=FILE, help="Copy the skill there.")
def command(name: str | None, *, folder: Path | None) -> int:
    """Print a part of the skill or copy all of it; return the exit code."""
    if folder is None:
        part = _ROOT / _MAIN if name is None else _ROOT / _REFERENCES / f"{name}.md"
        print(part.read_text("utf-8"), end="")  # noqa: T201
        return 0
    if name is not None:
        raise click.UsageError(Text("skill_part_with_folder"))
    try:
        return _copy(folder / _NAME)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Failure(Text("cannot_write", path=error.filename or str(folder), reason=reason)) from None


def _copy(folder: Path) -> int:
    parts: dict[Path, Traversable] = {folder / _MAIN: _ROOT / _MAIN}
    parts |= {folder / _REFERENCES / one.name: one for one in (_ROOT / _REFERENCES).iterdir()}
    left = [
        str(path) for path, part in sorted(parts.items()) if not _is_written(path, _marked(part.read_bytes()))
    ]
    if len(left) < len(parts):
        print(Text("files_written", files=str(folder)))  # noqa: T201
    if left:
        note(Text("skill_left_alone", files=", ".join(left)))
    return FAILED if left else 0


def _is_written(path: Path, content: bytes) -> bool:
    """Write a file, or replace an unchanged copy; return False if another file is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        if path.is_symlink() or not path.is_file():
            return False
        body, _, _ = path.read_bytes().rstrip(b"\n").rpartition(b"\n")
        if path.read_bytes() != _marked(body + b"\n"):
            return False
        with whole(path) as new:
            new.write_bytes(content)
    return True


def _marked(content: bytes) -> bytes:
    """Add a line by which a later version recognizes its copy, unless somebody has changed it."""
    return content + f"<!-- tfvis-nb skill {hashlib.sha256(content).hexdigest()[:16]} -->\n".encode()
