"""Scripts that read a view in the browser: its visible state, the element at a point, cut texts."""

from typing import Any

from playwright.sync_api import CDPSession, ElementHandle, Locator

# Walks through shadow roots; roles as in the HTML of the view.
_DEEP = """
const deep = function* (node) {
    yield node;
    for (const child of (node.shadowRoot ?? node).children) yield* deep(child);
};
const label = (e) => e.getAttribute('aria-label') ?? '';
const isSeen = (e) => e.getClientRects().length > 0;
const under = (x, y) => {
    let at = document.elementFromPoint(x, y);
    while (at?.shadowRoot?.elementFromPoint(x, y) && at.shadowRoot.elementFromPoint(x, y) !== at)
        at = at.shadowRoot.elementFromPoint(x, y);
    return at;
};
const within = (host, at) => {
    while (at && at !== host) at = at.assignedSlot ?? at.parentElement ?? at.getRootNode().host;
    return at === host;
};
// A predicted timeline opens below the one that is walked, and has an axis and a focus of its own.
const isOther = (host, at) => {
    const [, ...others] = [...deep(host)].filter((e) => e.tfvis);
    return others.some((other) => within(other, at));
};
"""

# The visible state, read from roles and labels, after the next frame if it `waits`.
NOW = f"""(host, waits) => new Promise((done) => {{
    {_DEEP}
    const read = () => {{
        const all = [...deep(host)];
        const role = (name) => all.filter((e) => e.getAttribute('role') === name);
        const ruler = role('img').find((e) => label(e).startsWith('Time axis'));
        const column = role('group').find((e) => label(e) === 'Lanes');
        const lanes = role('application')[0];
        const top = lanes?.getBoundingClientRect().top ?? 0;
        const details = all.find((e) => e.matches('aside') && isSeen(e));
        const headings = [...(details?.querySelectorAll('h2') ?? [])];
        const slider = role('slider')[0];
        let focus = document.activeElement;
        while (focus?.shadowRoot?.activeElement) focus = focus.shadowRoot.activeElement;
        const panel = window.jupyterapp?.shell.currentWidget;
        const cells = panel?.model?.sharedModel?.cells;
        done({{
            axis: ruler ? label(ruler) : '',
            // Values at the pointer stand in some labels; the names of their buttons stay.
            lanes: [...(column?.children ?? [])].map((e) => {{
                const names = [...e.querySelectorAll('[aria-label]')].map(label).join() || e.textContent;
                return `${{names}} @${{Math.round(e.getBoundingClientRect().top - top)}}`;
            }}),
            steps: slider?.getAttribute('aria-valuetext') ?? '',
            place: [host.getBoundingClientRect().top, top].map(Math.round),
            title: headings.find((e) => !e.closest('form'))?.textContent ?? null,
            popup: all.some((e) =>
                e.matches(':popover-open, [role=menu], [role=dialog], [role=listbox]') && isSeen(e)),
            focus: {{
                inside: within(host, focus),
                isOther: focus !== null && isOther(host, focus),
                tag: focus?.localName ?? '',
                role: focus?.getAttribute('role') ?? '',
                name: focus ? (label(focus) || focus.textContent).slice(0, 60) : '',
            }},
            cells: cells?.map((cell) => [cell.cell_type, cell.source]) ?? null,
            mode: panel?.content?.mode ?? null,
            dialogs: [...document.querySelectorAll('.jp-Dialog')].map((e) => e.innerText),
            menus: document.querySelectorAll('.lm-Menu').length,
            commands: window.monkeyCommands?.splice(0) ?? [],
        }});
    }};
    if (waits) requestAnimationFrame(() => setTimeout(read));
    else read();
}})"""

# The first of some events whose bar is in view and not covered.
LOCATE = f"""(host, events) => {{
    {_DEEP}
    const timeline = [...deep(host)].find((e) => e.tfvis)?.tfvis;
    for (const event of events) {{
        const at = timeline?.locate(event);
        const found = at && under(at.x, at.y);
        if (found && found.closest('[role=application]') && within(host, found))
            return {{ event, x: at.x, y: at.y }};
    }}
    return null;
}}"""

UNDER = f"""(host, [x, y]) => {{
    {_DEEP}
    const at = under(x, y);
    // Views are in shadow roots; around them are the margins of the host.
    if (!at || !within(host, at) || at.getRootNode() === document || isOther(host, at)) return null;
    const range = document.caretRangeFromPoint?.(x, y);
    const isText = getComputedStyle(at).userSelect !== 'none' &&
        [...at.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    return {{
        lanes: at.closest('[role=application]') !== null,
        text: isText,
        control: at.closest('button, a, input, select, textarea, summary, [tabindex]') !== null,
    }};
}}"""

# Texts cut off at the edge of their box, and pairs of texts drawn over each other.
TEXTS = f"""(host) => {{
    {_DEEP}
    const boxes = [];
    let cut = 0;
    for (const e of deep(host)) {{
        if (!isSeen(e) || e.closest('canvas, style, script, [role=status], [aria-live]')) continue;
        for (const node of e.childNodes) {{
            if (node.nodeType !== 3 || !node.textContent.trim()) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            const box = range.getBoundingClientRect();
            if (box.width < 2 || box.height < 2) continue;
            const at = under(box.x + box.width / 2, box.y + box.height / 2);
            if (at !== e) continue;
            if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible') cut++;
            boxes.push(box);
        }}
    }}
    let overlapping = 0;
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {{
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 3 && down > 3) overlapping++;
    }}));
    return [cut, overlapping];
}}"""


class Sight:
    """Runs scripts in the element of a host, which is found once: finding it takes longer than most scripts.

    Parameters
    ----------
    element
        Where the host is.
    """

    def __init__(self, element: Locator) -> None:
        self._element = element
        self._cdp: CDPSession = element.page.context.new_cdp_session(element.page)
        self._handle: ElementHandle | None = None
        self._object = ""

    def find(self) -> None:
        """Find the element again, after it was replaced."""
        self._handle = self._element.element_handle()
        # The protocol takes the object, not the handle; it is found again by a mark.
        self._handle.evaluate("(host) => void (window.monkeyHost = host)")
        self._object = self.send("Runtime.evaluate", expression="window.monkeyHost")["result"]["objectId"]

    def run(self, script: str, argument: Any = None) -> Any:
        """Run a script, whose first parameter is the element."""
        if self._handle is None:
            self.find()
        assert self._handle
        return self._handle.evaluate(script, argument)

    def nodes(self, **wanted: str) -> list[dict[str, Any]]:
        """Return the nodes of the accessibility tree, all or those of a role."""
        if not self._object:
            self.find()
        found = self.send("Accessibility.queryAXTree", objectId=self._object, **wanted)
        return [node for node in found["nodes"] if not node["ignored"]]

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the browser's protocol."""
        return self._cdp.send(method, parameters)

    def end(self) -> None:
        """Let go of the page."""
        self._cdp.detach()
