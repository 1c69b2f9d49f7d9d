"""`to_html` for traces and widgets."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack, overload

from tfvis_nb.core.display_options import HtmlOptions
from tfvis_nb.core.options import check_flags, only_known_options
from tfvis_nb.core.output_path import check_local, whole, writable
from tfvis_nb.texts import Text

MAX_BYTES = 50_000_000
"""Larger pages are only written on request, because browsers open them slowly."""


def check_page_name(path: str | Path) -> None:
    """Raise ValueError unless browsers treat a file of this name as a page, or it is a pipe or device.

    FileNotFoundError if it is a URL.
    """
    check_local(path)
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        return
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(Text("no_page_name", output=str(path)))


class HtmlExport:
    """Base of objects that can be written as one HTML file."""

    @abstractmethod
    def _html(self, title: str | None, **options: Any) -> str:
        """Return the page that `to_html` writes."""

    @overload
    def to_html(self, path: None = None, title: str | None = None, **options: Unpack[HtmlOptions]) -> str: ...
    @overload
    def to_html(self, path: str | Path, title: str | None = None, **options: Unpack[HtmlOptions]) -> Path: ...
    @only_known_options
    def to_html(
        self, path: str | Path | None = None, title: str | None = None, **options: Unpack[HtmlOptions]
    ) -> str | Path:
        """Write one HTML file that opens offline; widgets keep their options and selection.

        Parameters
        ----------
        path
            Where to write: a name that ends in ``.html`` or ``.htm``, or a pipe; None to return the text.
        title
            The title of the page, by default that of the trace or widget.
        **options
            ``max_bytes`` limits the size of the page, 50 MB by default; None for any size. ``source=False``
            leaves out the code: file names, lines and stacks. ``anonymize=True`` replaces names and leaves
            out code, like `tfvis_nb.Trace.anonymized`; an explicit ``title`` stays. Traces, timelines,
            dashboards and fleets have further ones.

        Returns
        -------
        pathlib.Path or str
            The path written, or the text.

        Raises
        ------
        TypeError, ValueError
            If an option is unknown or has an invalid value, the name does not end in ``.html`` or
            ``.htm``, or the page would be larger than ``max_bytes``.
        OSError
            If the file cannot be written.
        FileNotFoundError
            If the folder does not exist, or this is a source checkout whose front end is not built.
        """
        return self._written_html(path, title, options)

    def _written_html(
        self, path: str | Path | None, title: str | None, options: Mapping[str, Any]
    ) -> str | Path:
        check_flags(**{name: options[name] for name in ("source", "anonymize") if name in options})
        if path is None:
            return self._html(title, **options)
        # Checked before the work of making the page.
        check_page_name(path)
        path = writable(path)
        # The same bytes on every platform, regardless of its encoding.
        page = self._html(title, **options)
        with whole(path) as file:
            file.write_text(page, encoding="utf-8", newline="\n")
        return path
