"""``tfvis-nb completion``: click's script for a shell."""

import click
from click.shell_completion import get_completion_class

from tfvis_nb.cli.verb import COMPLETE_VARIABLE, verb

_EXAMPLES = """
tfvis-nb completion bash > ~/.local/share/bash-completion/completions/tfvis-nb
tfvis-nb completion zsh > "${fpath[1]}/_tfvis-nb"
tfvis-nb completion fish > ~/.config/fish/completions/tfvis-nb.fish
"""


@verb("completion", "The shell asks tfvis-nb itself for verbs, options, their values and files.", _EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Write the completion script of a shell; return the exit code."""
    script = get_completion_class(shell)
    assert script is not None
    group = click.get_current_context().find_root().command
    print(script(group, {}, "tfvis-nb", COMPLETE_VARIABLE).source())  # noqa: T201
    return 0
