"""``tfvis-nb mcp``: let assistants read traces, over the Model Context Protocol."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import click

from tfvis_nb.cli.errors import Failure
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.verb import verb
from tfvis_nb.texts import Text

_ABOUT = """
An assistant starts this command and talks to it over standard input and output. It can read traces below the
given folders, without following links, and nothing else. It needs the extra mcp and a Unix system.
"""

_EXAMPLES = """
tfvis-nb mcp --root logs
claude mcp add tfvis-nb -- tfvis-nb mcp --root /home/me/logs
"""


@verb("mcp", _ABOUT, _EXAMPLES)
@click.option(
    "--root",
    "roots",
    metavar="DIR",
    type=FILE,
    multiple=True,
    help="Folder with traces; repeatable.  [default: the working directory]",
)
@click.option(
    "--allow-record",
    is_flag=True,
    help="Let the assistant run Python scripts below the folders, with your permissions, to record them.",
)
def command(roots: Sequence[Path], *, allow_record: bool) -> int:
    """Serve until standard input ends; return the exit code."""
    from tfvis_nb.assistants.roots import SUPPORTED

    if importlib.util.find_spec("mcp") is None:
        raise Failure(Text("mcp_extra_missing"))
    if not SUPPORTED:
        raise Failure(Text("mcp_on_unix_only"))
    folders = roots or [Path()]
    for folder in folders:
        if not folder.is_dir():
            raise click.UsageError(Text("root_is_no_folder", folder=folder))
    from tfvis_nb.assistants.server import serve

    serve(folders, allow_record=allow_record)
    return 0
