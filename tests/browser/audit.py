"""axe-core on a page: violations of WCAG 2.2 AA and good practice."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize

AXE = (Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WCAG = RULES[:-1]
"""What holds of a part of somebody else's page."""

Look = tuple[str, int]
LOOKS: tuple[tuple[Look, Look], ...] = (
    (("light", 1600), ("dark", 700)),
    (("light", 700), ("dark", 1600)),
)
"""Themes and widths: each of them is in each pair."""
_HIGH = 900
# Pages allow no further request, as axe-core makes for style sheets; tabs that are not shown take time.
_RUN = """async ([within, tags]) => {
    const hidden = [...document.querySelectorAll('*')].filter(({ shadowRoot }) => shadowRoot)
        .flatMap(({ shadowRoot }) => [...shadowRoot.querySelectorAll('[role=tabpanel][hidden]')]);
    const context = { include: [within], exclude: hidden };
    const { violations } = await axe.run(context, {
        runOnly: tags, resultTypes: ['violations'], preload: false });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        `${id}: ${target.flat().join(' ')}: ${failureSummary.split('\\n').slice(1).join(' ').trim()}`));
}"""
# Cut texts and overlapping controls of a line; tabs and wide tables scroll sideways by themselves.
_CUT = """() => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap(
        (each) => [each, ...(each.shadowRoot ? all(each.shadowRoot) : [])]);
    const controls = all(document).filter((each) => each.matches('button, select, input, [tabindex="0"]') &&
        each.checkVisibility() && !each.closest('[role=tablist], .rows, .code-scroll, .graph-scroll'));
    const name = (each) => each.getAttribute('aria-label') ?? each.textContent;
    const cut = controls.filter((each) => {
        const { left, right } = each.getBoundingClientRect();
        return left < -0.5 || right > innerWidth + 0.5;
    });
    const inBars = controls.filter((each) => each.closest('.toolbar, .current'));
    const overlap = inBars.filter((each, at) => inBars.slice(at + 1).some((other) => {
        const [a, b] = [each.getBoundingClientRect(), other.getBoundingClientRect()];
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        return !each.contains(other) && !other.contains(each) && wide > 1 && high > 1;
    }));
    const wide = document.documentElement.scrollWidth > innerWidth ? ['page'] : [];
    return [...cut, ...overlap].map(name).concat(wide);
}"""
_SETTLED = """() => new Promise((done) => {
    const wait = (frames) => requestAnimationFrame(() => frames ? wait(frames - 1) : setTimeout(done));
    wait(3);
})"""


def violations(page: Page, within: str = "html", rules: list[str] = RULES) -> list[str]:
    """Return what axe-core objects to on the page, or in the elements of a CSS selector."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: Any = page.evaluate(_RUN, [within, rules])
    return list(found)


class Audit:
    """Audits one page in one state after another, each in one of two looks by turns.

    Parameters
    ----------
    page
        A page that shows a view. Nothing moves on it, so that no colour is seen half way to another one.
    looks
        One of `LOOKS`.
    """

    def __init__(self, page: Page, looks: tuple[Look, Look] = LOOKS[0]) -> None:
        self._page = page
        self._looks = looks
        self._states = 0
        page.emulate_media(reduced_motion="reduce")
        self._look(*looks[0])

    def _look(self, scheme: str, width: int) -> None:
        self._page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        self._page.set_viewport_size(ViewportSize(width=width, height=_HIGH))
        # Colours and sizes follow in the frame after the next one, and what their effects change in another.
        self._page.evaluate(_SETTLED)

    def everywhere(self, state: str) -> None:
        """Fail where axe-core objects to something in either look: of another theme and in another width."""
        for look in reversed(self._looks):
            self._look(*look)
            self.here(f"{state}, {look}")

    def check(self, state: str, within: str = "html") -> None:
        """Fail likewise in one of two looks, of the page or of some elements."""
        self._states += 1
        look = self._looks[self._states % 2]
        self._look(*look)
        self.here(f"{state}, {look}", within)

    def zoomed(self, state: str) -> None:
        """Fail where 1280 by 800 pixels, enlarged to 200 %, cut controls off or scroll sideways."""
        self._page.set_viewport_size(ViewportSize(width=640, height=400))
        self._page.evaluate(_SETTLED)
        assert (found := self._page.evaluate(_CUT)) == [], f"{state}, enlarged: {found}"

    def here(self, state: str, within: str = "html") -> None:
        """Fail likewise in the current state of the page."""
        assert (found := violations(self._page, within)) == [], f"{state}: {found}"
