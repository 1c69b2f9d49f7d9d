"""An extension of the Jupyter server that reads trace files for the file browser."""

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "tfvis_nb.file_view"}]


def _load_jupyter_server_extension(server: Any) -> None:
    from tfvis_nb.file_view.handler import add_handler

    add_handler(server)
