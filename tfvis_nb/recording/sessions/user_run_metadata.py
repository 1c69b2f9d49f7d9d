"""Fill the program's own ``RunMetadata`` in a traced run, as without a recording.

A run traced for a recording fills the recording's buffer. The program reads its own buffer through two
functions of TensorFlow's client, which are replaced during a recording.
"""

from typing import Any

from tfvis_nb.recording.patches import Replacements


def as_requested(recorded: Any, options: Any) -> Any:
    """Return a ``RunMetadata`` without the parts that the program's ``RunOptions`` do not request."""
    if not options.trace_level:
        recorded.ClearField("step_stats")
    if not options.output_partition_graphs:
        recorded.ClearField("partition_graphs")
    return recorded


class UsersMetadata:
    """The contents for buffers that TensorFlow left empty; `client` is the module that sessions call."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # Keeps the buffers, so that no other buffer gets their ids.
        self._held: dict[int, tuple[Any, bytes]] = {}

    def install(self, replacements: Replacements) -> None:
        """Let the program read the contents put here."""
        replacements.put(self._client, "TF_GetBuffer", self._getting)
        replacements.put(self._client, "TF_DeleteBuffer", self._deleting)

    def put(self, buffer: Any, content: bytes) -> None:
        """Set the content of a buffer until it is deleted."""
        if content:
            self._held[id(buffer)] = buffer, content

    def _getting(self, original: Any) -> Any:
        held = self._held

        def get_buffer(buffer: Any) -> Any:
            entry = held.get(id(buffer))
            return original(buffer) if entry is None else entry[1]

        return get_buffer

    def _deleting(self, original: Any) -> Any:
        held = self._held

        def delete_buffer(buffer: Any) -> None:
            held.pop(id(buffer), None)
            original(buffer)

        return delete_buffer
