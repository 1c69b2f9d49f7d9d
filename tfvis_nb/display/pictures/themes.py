"""The themes of pictures."""

from typing import NamedTuple

from tfvis_nb.core.palette import activity_colours


class Theme(NamedTuple):
    """The colours of a picture; ``outline`` is that of bars, empty for none, ``note`` that of annotations."""

    paper: str
    ink: str
    faint: str
    line: str
    outline: str
    note: str
    colours: dict[str, str]

    @property
    def stroke(self) -> dict[str, str]:
        """The attributes of an outline."""
        return {"stroke": self.outline, "stroke_width": ".25"} if self.outline else {}


NOTE = "#c26a00"
"""The colour of annotations; js/ui/styles/base.css has it and that of the dark theme too."""
THEMES = {
    "light": Theme("#ffffff", "#1f2430", "#6b7280", "#e3e6ea", "", NOTE, activity_colours("light")),
    "print": Theme(
        "#ffffff", "#000000", "#404040", "#c8c8c8", "#303030", "#000000", activity_colours("print")
    ),
    "dark": Theme("#15181e", "#e6e8ec", "#9aa1ad", "#2e323b", "", "#ffb454", activity_colours("dark")),
}
"""``print`` has colours that differ in greyscale, and thin outlines."""
