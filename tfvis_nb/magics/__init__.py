"""``%%trace`` and ``%trace_remote``: their arguments. Packages recording and display do the work."""

from typing import Any

from IPython.core.magic import no_var_expand

from tfvis_nb.magics.results import Results
from tfvis_nb.magics.trace_cell import cell_magic, keep_help_runnable
from tfvis_nb.magics.trace_remote import line_magic

_MAGICS = (("cell", "trace"), ("line", "trace_remote"))


def register(shell: Any) -> None:
    """Add the magics to an IPython `shell`."""
    results = Results(shell)
    made = (no_var_expand(cell_magic(shell, results)), line_magic(results))
    for (kind, name), function in zip(_MAGICS, made, strict=True):
        shell.register_magic_function(function, magic_kind=kind, magic_name=name)
    shell.input_transformers_cleanup.append(keep_help_runnable)


def unregister(shell: Any) -> None:
    """Remove the magics from an IPython `shell`."""
    for kind, name in _MAGICS:
        shell.magics_manager.magics[kind].pop(name, None)
    if keep_help_runnable in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(keep_help_runnable)
