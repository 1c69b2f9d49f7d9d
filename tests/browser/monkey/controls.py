"""The controls of a view, found in the browser's accessibility tree by role and name."""

from typing import Any

from playwright.sync_api import Error

from tests.browser.monkey.sight import Sight

# Roles as Chromium names them.
FIELDS = {"textbox", "searchbox", "spinbutton"}
CHOICES = {"combobox", "ComboBoxSelect", "ComboBoxMenuButton", "listbox"}
SURFACES = {"image", "img", "application", "splitter", "separator", "slider"}
# Focusable, but a press does nothing by itself; links lead to other pages.
PASSIVE = {"generic", "heading", "region", "option", "RootWebArea", "link", "none", "dialog", "menu"}

Control = tuple[str, str]
"""Role and name."""


class Controls:
    """Finds controls of a host, which `sight` sees."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._known: list[Control] = []
        self._age = 0

    def known(self) -> list[Control]:
        """Return all controls; they are read again after some calls only, because it takes long."""
        self._age -= 1
        if self._age < 0:
            self._age = 8
            self._known = []
            for node in self._sight.nodes():
                state = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
                role, name = node["role"]["value"], _stable(node)
                if not state.get("disabled") and (state.get("focusable") or role in SURFACES):
                    self._known.append((role, name))
        return self._known

    def box(self, role: str, name: str, nth: int = 0, *, focus: bool = False) -> dict[str, float] | None:
        """Return the box of a control after scrolling to it; null if it is gone."""
        same = [node for node in self._sight.nodes(role=role) if _stable(node) == name]
        if nth >= len(same):
            return None
        node = {"backendNodeId": same[nth]["backendDOMNodeId"]}
        try:
            self._sight.send("DOM.scrollIntoViewIfNeeded", **node)
            if focus:
                self._sight.send("DOM.focus", **node)
            corners = self._sight.send("DOM.getBoxModel", **node)["model"]["border"]
        except Error:
            return None  # not rendered now
        return {
            "x": corners[0],
            "y": corners[1],
            "width": corners[4] - corners[0],
            "height": corners[5] - corners[1],
        }


def _stable(node: dict[str, Any]) -> str:
    """The name of a control, without the numbers that the view itself puts after a comma, such as times."""
    name = str(node.get("name", {}).get("value", "")).strip()
    return name.partition(", ")[0] if node["role"]["value"] in SURFACES else name
