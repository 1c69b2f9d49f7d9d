"""`to_svg`, `to_pdf` and `to_png` for traces and timelines."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, overload

from tfvis_nb.core import registry
from tfvis_nb.core.display_options import PictureOptions
from tfvis_nb.core.options import only_known_options
from tfvis_nb.core.output_path import whole, writable
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.display.pictures.picture import Picture


class PictureExport:
    """Base of objects that can be drawn as a picture for a paper or a slide."""

    @abstractmethod
    def _picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """Return the picture that `to_svg` writes."""

    @overload
    def to_svg(self, path: None = None, **options: Unpack[PictureOptions]) -> str: ...
    @overload
    def to_svg(self, path: str | Path, **options: Unpack[PictureOptions]) -> Path: ...
    @only_known_options
    def to_svg(self, path: str | Path | None = None, **options: Unpack[PictureOptions]) -> str | Path:
        """Draw the lanes as vector graphics: bars, ruler, legend, annotations, and labels as text.

        Events narrower than a pixel are merged: the height of such bars is the share of time that events
        took. Pictures stay below 2 MB for any number of events.

        Parameters
        ----------
        path
            Where to write: a name that ends in ``.svg``; None to return the text.
        **options
            ``time_range``, such as ``"10ms:25ms"``, as in `tfvis_nb.Trace.between`; by default all.
            ``lanes="stream"`` draws only lanes whose task, device and name contain all words of the text.
            ``width`` and ``height``, such as ``"16 cm"``, ``"6.3 in"`` or a number of CSS pixels (at 96 an
            inch); by default 16 cm wide, and high enough for the lanes.
            ``theme``: ``"light"``, ``"print"`` (white, with colours that differ in greyscale) or ``"dark"``.
            ``title``: a line above the ruler, by default none.
            ``tracks``: tables to draw below the lanes, as of `tfvis_nb.TimelineWidget.add_track`.

        Returns
        -------
        str or pathlib.Path
            The text, or the path written.

        Raises
        ------
        TypeError, ValueError
            If an option is unknown or has an invalid value, or no lane contains the words.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> columns = {"start_ns": [0, 5], "duration_ns": [4, 9], "kind": ["op"] * 2, "lane": ["ops"] * 2}
        >>> picture = tv.Trace(events.build(columns)).to_svg(width="8 cm", theme="print")
        >>> picture[:60]
        '<svg xmlns="http://www.w3.org/2000/svg" width="8cm" height="'
        """
        if path is None:
            return self._picture(**options).svg
        target = _checked(path, ".svg")
        return _written(target, self._picture(**options).svg.encode())

    @overload
    def to_pdf(self, path: None = None, **options: Unpack[PictureOptions]) -> bytes: ...
    @overload
    def to_pdf(self, path: str | Path, **options: Unpack[PictureOptions]) -> Path: ...
    @only_known_options
    def to_pdf(self, path: str | Path | None = None, **options: Unpack[PictureOptions]) -> bytes | Path:
        """Write the picture of `to_svg` as a PDF of its size, with embedded fonts (extra ``pictures``).

        `path` ends in ``.pdf``; None returns the bytes. Options and errors are those of `to_svg`; ImportError
        without the extra.
        """
        target = None if path is None else _checked(path, ".pdf")
        made = self._typeset("pdf", options)
        return made if target is None else _written(target, made)

    @overload
    def to_png(self, path: None = None, *, dpi: float = 300, **options: Unpack[PictureOptions]) -> bytes: ...
    @overload
    def to_png(self, path: str | Path, *, dpi: float = 300, **options: Unpack[PictureOptions]) -> Path: ...
    @only_known_options
    def to_png(
        self, path: str | Path | None = None, *, dpi: float = 300, **options: Unpack[PictureOptions]
    ) -> bytes | Path:
        """Write the picture of `to_svg` as a PNG with `dpi` pixels an inch (extra ``pictures``).

        Programs place it at its `width`, because the file has its resolution. `path` ends in ``.png``; None
        returns the bytes. Options and errors are those of `to_svg`; ValueError also if `dpi` is below 10 or
        makes more than 100 million pixels, ImportError without the extra.
        """
        target = None if path is None else _checked(path, ".png")
        made = self._typeset("png", options, dpi)
        return made if target is None else _written(target, made)

    def _typeset(self, form: Literal["pdf", "png"], options: PictureOptions, dpi: float = 300) -> bytes:
        made = self._picture(**options)
        return registry.typeset(made.svg, form, width=made.width, height=made.height, dpi=dpi)


def _checked(path: str | Path, suffix: str) -> Path:
    """Return the path to write to, before drawing; ValueError for another suffix."""
    if Path(path).suffix.lower() != suffix:
        raise ValueError(Text("no_picture_name", output=str(path), suffix=suffix))
    return writable(path)


def _written(path: Path, data: bytes) -> Path:
    with whole(path) as file:
        file.write_bytes(data)
    return path
