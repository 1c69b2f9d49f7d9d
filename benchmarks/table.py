"""A table of measurements, printed as text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes
    ----------
    what
        The subject of the measurement.
    measured
        The figure, with its unit.
    against
        The reference and its figure; empty if there is none.
    ratio
        The figure relative to the reference; empty if there is none.
    wanted
        The bound for this figure or its ratio.
    kept
        Whether the bound is kept.
    """

    what: str
    measured: str
    against: str
    ratio: str
    wanted: str
    kept: bool

    def cells(self) -> tuple[str, ...]:
        """The texts of the row, in the order of the table's head."""
        return self.what, self.measured, self.against, self.ratio, self.wanted, "yes" if self.kept else "NO"


def bounded(what: str, measured: float, unit: str, bound: float) -> Row:
    """Return the row of a figure that may be as large as a bound in the same unit."""
    ratio = f"{measured / bound:.2f} of it"
    return Row(what, f"{measured:,.2f} {unit}", "", ratio, f"<= {bound:,g} {unit}", measured <= bound)


HEAD = ("what", "measured", "against", "ratio", "wanted", "kept")


def show(title: str, rows: list[Row]) -> None:
    """Print the rows below a title, each column as wide as its widest text."""
    show_cells(title, HEAD, [row.cells() for row in rows])


def show_cells(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print rows of texts below a title and the names of their columns."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    print(f"\n{title}")
    for number, line in enumerate(lines):
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))
