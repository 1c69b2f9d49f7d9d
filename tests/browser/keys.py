"""A user without a mouse: the focus can always be seen, and is never lost."""

from playwright.sync_api import Page

# The focused element, through all shadow roots. Fields show it at the box around them, the lanes in front.
_FOCUS = """() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    const box = at.getBoundingClientRect();
    const boxes = [at, at.closest('.search, .corner.filter')].filter(Boolean);
    const around = boxes.map((box) => getComputedStyle(box));
    const after = getComputedStyle(at, '::after');
    const isShown = around.some((style) => style.outlineStyle !== 'none' || style.boxShadow !== 'none') ||
        parseFloat(after.borderTopWidth) > 0 || after.outlineStyle !== 'none';
    return {
        lost: at === document.body,
        seen: isShown && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
        name: (at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent).trim(),
        role: at.getAttribute('role') ?? at.tagName.toLowerCase(),
    };
}"""
TAB_STOPS = 60


class Keys:
    """Presses keys, and looks after each where the focus is."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.path: list[str] = []

    def press(self, *keys: str) -> str:
        for key in keys:
            self._page.keyboard.press(key)
            self.look(key)
        return self.path[-1]

    def look(self, key: str) -> None:
        found = self._page.evaluate(_FOCUS)
        # A menu gives it back a moment later.
        for _ in range(20):
            if found["seen"] and not found["lost"]:
                break
            self._page.wait_for_timeout(25)
            found = self._page.evaluate(_FOCUS)
        self.path.append(f"{found['role']}: {found['name']}")
        assert not found["lost"], (key, self.path)
        assert found["seen"], (key, self.path)

    def go(self, role: str, name: str, key: str = "Tab") -> None:
        """Press a key until something of this name has the focus."""
        for _ in range(TAB_STOPS):
            if self.press(key).startswith(f"{role}: {name}"):
                return
        raise AssertionError((name, self.path))
