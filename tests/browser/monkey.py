"""Random gestures at a timeline, with invariants after each; a failing walk is shrunk to a few gestures.

Controls are found by role and name in the browser's accessibility tree: a new toolbar needs no change here.
From a shell: ``python -m tests.browser.monkey --host notebook --gestures 20000 --seed 1``.
"""

from __future__ import annotations

import random
import re
import string
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Error

if TYPE_CHECKING:
    from tests.browser.monkey_hosts import Host

LENGTH = 200
"""Gestures of a walk; the next one begins on a fresh page or notebook."""

TEXTS = ("op:MatMul", "relu", "kind:kernel", "dur:>10us", "no such event", "ddx", "0")
PLAIN = (
    *string.ascii_lowercase,
    *(f"Shift+{letter.upper()}" for letter in string.ascii_lowercase),
    *"0123456789/?,.[]+-=",
    *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"),
    *("Enter", "Space", "Escape", "Backspace", "Shift+Backspace", "Delete", "ContextMenu", "F2"),
)
KEYS = (*PLAIN, *("Tab", "Shift+Tab", "Control+c", "Control+z"))
MOVES = {*"wasd+-=", *(f"Shift+{letter}" for letter in "WASD")}
"""Keys whose moves of the view are one step back when they follow each other closely."""

# Roles as Chromium names them.
FIELDS = {"textbox", "searchbox", "spinbutton"}
CHOICES = {"combobox", "ComboBoxSelect", "ComboBoxMenuButton", "listbox"}
SURFACES = {"image", "img", "application", "splitter", "separator", "slider"}
TEXT_FIELDS = ("input", "textarea", "select")
# Focusable, but a press does nothing by itself; links lead to other pages.
PASSIVE = {"generic", "heading", "region", "option", "RootWebArea", "link", "none", "dialog", "menu"}

Axis = str
Control = tuple[str, str]


@dataclass(frozen=True)
class Gesture:
    """One gesture: at an event, at a point of a control (fractions of its box), or by key."""

    do: str
    role: str = ""
    name: str = ""
    nth: int = 0
    event: int = -1
    x: float = 0.5
    y: float = 0.5
    x2: float = 0.5
    y2: float = 0.5
    keys: str = ""

    def __repr__(self) -> str:
        given = [(f.name, getattr(self, f.name)) for f in fields(self)[1:]]
        rest = [
            f"{name}={value!r}"
            for (name, value), f in zip(given, fields(self)[1:], strict=True)
            if value != f.default
        ]
        return f"Gesture({', '.join([repr(self.do), *rest])})"


class BrokenInvariantError(AssertionError):
    """An invariant that did not hold after a gesture."""

    def __init__(self, invariant: str, detail: str) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant


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
"""

# What is shown: read from roles and labels, once the next frame is drawn.
_NOW = f"""(host) => new Promise((done) => {{
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
        let around = slider;
        while (around && !around.querySelector('[aria-pressed]')) around = around.parentElement;
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
            // The slider of the steps, and which of the buttons around it are pressed.
            steps: [slider?.getAttribute('aria-valuetext') ?? '',
                ...[...(around?.querySelectorAll('[aria-pressed=true]') ?? [])].map((e) => e.textContent),
            ].join(),
            place: [host.getBoundingClientRect().top, top].map(Math.round),
            title: headings.find((e) => !e.closest('form'))?.textContent ?? null,
            popup: all.some((e) => isSeen(e) && (e.matches(':popover-open') ||
                ['menu', 'dialog', 'listbox'].includes(e.getAttribute('role')))),
            focus: {{
                inside: within(host, focus),
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
    requestAnimationFrame(() => setTimeout(read));
}})"""

# The first of some events whose bar is in view and not covered.
_LOCATE = f"""(host, events) => {{
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

_UNDER = f"""(host, [x, y]) => {{
    {_DEEP}
    const at = under(x, y);
    // Views are in shadow roots; around them are the margins of the host.
    if (!at || !within(host, at) || at.getRootNode() === document) return null;
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
_TEXTS = f"""(host) => {{
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


class Walker:
    """Does gestures at a host and checks what each may change.

    Parameters
    ----------
    host
        A fresh page or notebook.
    seed
        Chooses the gestures.
    checks
        Whether the invariants are checked; some checks press keys.
    """

    def __init__(self, host: Host, seed: int = 0, *, checks: bool = True) -> None:
        self.host = host
        self._checks = checks
        self.done: list[Gesture] = []
        self.cut = self.overlapping = 0
        self._random = random.Random(seed)
        self._controls: list[Control] = []
        self._age = 0
        self.now: dict[str, Any] = {}
        self._cdp = host.page.context.new_cdp_session(host.page)
        self._focus()
        self._cells = self.now["cells"]
        self._trail = {self.now["axis"]}
        self._scale = (self.now["steps"], len(self.now["axis"].split("-")))
        self._is_trail_whole = True

    # Choosing

    def walk(self, count: int) -> None:
        """Do `count` random gestures."""
        while len(self.done) < count:
            self.do(self.choose())

    def choose(self) -> Gesture:
        """Return the next random gesture."""
        ways: dict[str, tuple[int, Callable[[], Gesture | None]]] = {
            "click": (20, lambda: self._at_event("click", self._one("", "", "", "Control"))),
            "double": (3, lambda: self._at_event("double")),
            "menu": (3, lambda: self._at_event("menu")),
            "lanes": (8, lambda: self._at_point("click", {"application"})),
            "anywhere": (8, lambda: Gesture("anywhere", x=self._part(), y=self._part())),
            "surface": (4, lambda: self._at_point(self._one("click", "double", "menu"), SURFACES)),
            "drag": (8, lambda: self._drag(self._one("", "", "Shift", "Alt"))),
            "wheel": (5, lambda: self._at_point("wheel", {"application"}, self._one("", "Control", "Shift"))),
            "hover": (3, lambda: self._at_point("hover", SURFACES)),
            "key": (24, lambda: Gesture("key", keys=self._one(*KEYS))),
            "press": (26, self._press),
            "type": (3, self._type),
            "choose": (3, self._choice),
            "rerun": (self.host.reruns, lambda: Gesture("rerun")),
        }
        while True:
            (name,) = self._random.choices([*ways], [weight for weight, _ in ways.values()])
            if (chosen := ways[name][1]()) is not None:
                return chosen

    def _one(self, *values: str) -> str:
        return self._random.choice(values)

    def _part(self) -> float:
        return round(self._random.uniform(0.01, 0.99), 3)

    def _at_event(self, do: str, keys: str = "") -> Gesture | None:
        events = [self._random.randrange(self.host.events) for _ in range(40)]
        found = self.host.element.evaluate(_LOCATE, events)
        return Gesture(do, event=found["event"], keys=keys) if found else None

    def _at_point(self, do: str, roles: set[str], keys: str = "") -> Gesture | None:
        target = self._any(roles)
        return target and Gesture(do, *target, x=self._part(), y=self._part(), keys=keys)

    def _drag(self, keys: str) -> Gesture | None:
        target = self._any({"application"} if self._random.random() < 0.5 else SURFACES)
        x, y, x2, y2 = (self._part() for _ in range(4))
        return target and Gesture("drag", *target, x=x, y=y, x2=x2, y2=y2, keys=keys)

    def _press(self) -> Gesture | None:
        roles = {role for role, _ in self._seen()} - FIELDS - CHOICES - SURFACES - PASSIVE
        target = self._any(roles)
        return target and Gesture("press", *target)

    def _type(self) -> Gesture | None:
        target = self._any(FIELDS)
        end = self._one("", "Enter", "Escape", "Shift+Enter")
        return target and Gesture("type", *target, keys=f"{self._one(*TEXTS)}|{end}")

    def _choice(self) -> Gesture | None:
        target = self._any(CHOICES)
        return target and Gesture("choose", *target, keys=self._one("ArrowDown", "ArrowUp"))

    def _any(self, roles: set[str]) -> tuple[str, str, int] | None:
        seen = self._seen()
        places = [at for at, (role, _) in enumerate(seen) if role in roles]
        if not places:
            return None
        at = self._random.choice(places)
        return (*seen[at], seen[:at].count(seen[at]))

    def _seen(self) -> list[Control]:
        """The controls of the accessibility tree; read again after some presses, because it takes long."""
        self._age -= 1
        if self._age < 0:
            self._age = 8
            self._controls = []
            for node in self._nodes():
                state = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
                role, name = node["role"]["value"], _stable(node)
                if not state.get("disabled") and (state.get("focusable") or role in SURFACES):
                    self._controls.append((role, name))
        return self._controls

    def _nodes(self, **wanted: str) -> list[dict[str, Any]]:
        # The object, not the locator, is what the protocol takes; it is found once more by a mark.
        self.host.element.evaluate("(host) => void (window.monkeyHost = host)")
        answer = self._cdp.send("Runtime.evaluate", {"expression": "window.monkeyHost"})
        found = self._cdp.send(
            "Accessibility.queryAXTree", {"objectId": answer["result"]["objectId"], **wanted}
        )
        return [node for node in found["nodes"] if not node["ignored"]]

    # Doing

    def do(self, gesture: Gesture) -> None:
        """Do a gesture and check the invariants; one whose target is gone does nothing."""
        before, click, place = self.now, None, (0.0, 0.0)
        if gesture.do not in ("rerun", "key"):
            found = self._place(gesture)
            click = found and self.host.element.evaluate(_UNDER, [*found])
            if not found or not click:
                return
            place = found
        self.done.append(gesture)
        if gesture.do == "rerun":
            if changed := self.host.rerun():
                raise BrokenInvariantError("a cell run again shows the same view", changed)
            self._check_python()
        elif gesture.do == "key":
            self.host.page.keyboard.press(gesture.keys)
        else:
            if gesture.do in ("click", "anywhere", "press"):
                # Bringing the target into view may have scrolled the page.
                before = self.look()
            self._point(gesture, *place)
        self.now = self.look()
        if self._checks:
            self._check(gesture, before, click)
        if self.now["menus"]:
            # JupyterLab's own, where the view has none.
            self.host.page.keyboard.press("Escape")
        if ("Tab" in gesture.keys or gesture.do == "rerun") and not self.now["focus"]["inside"]:
            # It left the timeline, as it should; the next gesture has it again.
            self._focus()

    def _focus(self) -> None:
        self.host.element.get_by_role("application").first.focus()
        self.now = self.look()

    def _place(self, gesture: Gesture) -> tuple[float, float] | None:
        """Where in the window the gesture is done; null when its target is gone."""
        if gesture.event >= 0:
            found = self.host.element.evaluate(_LOCATE, [gesture.event])
            return found and (found["x"], found["y"])
        if gesture.do == "anywhere":
            box = self.host.element.bounding_box()
            return box and (box["x"] + gesture.x * box["width"], box["y"] + gesture.y * box["height"])
        box = self._box(gesture)
        return box and (box["x"] + gesture.x * box["width"], box["y"] + gesture.y * box["height"])

    def _box(self, gesture: Gesture) -> Any:
        same = [node for node in self._nodes(role=gesture.role) if _stable(node) == gesture.name]
        if gesture.nth >= len(same):
            return None
        node = {"backendNodeId": same[gesture.nth]["backendDOMNodeId"]}
        try:
            self._cdp.send("DOM.scrollIntoViewIfNeeded", node)
            if gesture.do == "choose":
                self._cdp.send("DOM.focus", node)
            corners = self._cdp.send("DOM.getBoxModel", node)["model"]["border"]
        except Error:
            return None  # not rendered now
        return {
            "x": corners[0],
            "y": corners[1],
            "width": corners[4] - corners[0],
            "height": corners[5] - corners[1],
        }

    def _point(self, gesture: Gesture, x: float, y: float) -> None:
        page, do = self.host.page, gesture.do
        mouse, keyboard = page.mouse, page.keyboard
        if do == "choose":
            keyboard.press(gesture.keys)
            return
        if do == "type":
            text, _, end = gesture.keys.partition("|")
            mouse.click(x, y)
            keyboard.type(text)
            if end:
                keyboard.press(end)
            return
        if gesture.keys:
            keyboard.down(gesture.keys)
        if do == "hover":
            mouse.move(x, y)
        elif do == "wheel":
            mouse.move(x, y)
            mouse.wheel(0, round((gesture.x2 if gesture.x < 0.5 else -gesture.x2) * 400))
        elif do == "drag":
            box = self._box(gesture)
            mouse.move(x, y)
            mouse.down()
            mouse.move(box["x"] + gesture.x2 * box["width"], box["y"] + gesture.y2 * box["height"], steps=3)
            mouse.up()
        else:
            mouse.click(x, y, button="right" if do == "menu" else "left", click_count=1 + (do == "double"))
        if gesture.keys:
            keyboard.up(gesture.keys)

    def look(self) -> dict[str, Any]:
        """Return what is shown, once the next frame is drawn."""
        now: dict[str, Any] = self.host.element.evaluate(_NOW)
        return now

    # Checking

    def _check(self, gesture: Gesture, before: dict[str, Any], click: dict[str, Any] | None) -> None:
        self._check_surroundings(gesture)
        if click and click["lanes"] and gesture.do in ("click", "anywhere"):
            self._holds("a click changes the selection only", before, "axis", "lanes", "steps", "place")
        # Other steps have other bounds, and dates are another text of the same times.
        scale = (self.now["steps"], len(self.now["axis"].split("-")))
        is_same_scale = scale == self._scale
        if not is_same_scale:
            self._scale, self._is_trail_whole = scale, False
        elif gesture.keys == "Backspace" and self._is_trail_whole and self.now["axis"] not in self._trail:
            raise BrokenInvariantError(
                "Backspace returns to an earlier view", f"{before['axis']} -> {self.now['axis']}"
            )
        moved = self.now["axis"] != before["axis"]
        self._trail.add(self.now["axis"])
        if not self._takes_keys():
            return
        is_move = gesture.keys in MOVES or gesture.do in ("wheel", "drag") or "Backspace" in gesture.keys
        if moved and not is_move and gesture.do != "rerun" and is_same_scale:
            self._undo(before)
        elif (
            click
            and gesture.do in ("click", "press", "anywhere", "drag")
            and not (click["text"] and not click["control"])
        ):
            self._probe_keys()
        if len(self.done) % 20 == 0:
            self._check_python()
            cut, overlapping = self.host.element.evaluate(_TEXTS)
            self.cut, self.overlapping = max(self.cut, cut), max(self.overlapping, overlapping)

    def _check_surroundings(self, gesture: Gesture) -> None:
        if said := [*self.host.watch.errors, *self.host.watch.strangers]:
            raise BrokenInvariantError("nothing is logged as an error", "; ".join(said)[:2000])
        if (commands := self.now["commands"]) and not self.host.takes(gesture.keys):
            raise BrokenInvariantError("no key reaches the notebook", f"it ran {commands}")
        if self.now["cells"] != self._cells:
            raise BrokenInvariantError("the cells stay", f"{self._cells} -> {self.now['cells']}")
        if self.now["dialogs"]:
            raise BrokenInvariantError("no dialog opens", str(self.now["dialogs"]))
        if self.now["focus"]["inside"] and self.now["mode"] == "edit":
            raise BrokenInvariantError("the notebook's mode stays", "it went to edit mode")

    def _takes_keys(self) -> bool:
        focus = self.now["focus"]
        is_field = focus["tag"] in TEXT_FIELDS or focus["role"] in ("slider", "spinbutton", "separator")
        return bool(self.now["axis"]) and not self.now["popup"] and not is_field

    def _holds(self, invariant: str, before: dict[str, Any], *parts: str) -> None:
        changed = [part for part in parts if self.now[part] != before[part]]
        if changed:
            raise BrokenInvariantError(
                invariant, "; ".join(f"{p}: {before[p]} -> {self.now[p]}" for p in changed)
            )

    def _key(self, key: str, holds: Callable[[dict[str, Any]], bool]) -> bool:
        """Press a key; whether this comes about soon."""
        self.host.page.keyboard.press(key)
        for wait in (0, 60, 400):
            self.host.page.wait_for_timeout(wait) if wait else None
            self.now = self.look()
            if holds(self.now):
                return True
        return False

    def _undo(self, before: dict[str, Any]) -> None:
        axis = self.now["axis"]
        if not self._key("Backspace", lambda now: now["axis"] == before["axis"]):
            detail = f"{before['axis']} -> {axis} -> {self.now['axis']} (focus: {self.now['focus']})"
            raise BrokenInvariantError("Backspace undoes a zoom", detail)

    def _probe_keys(self) -> None:
        """Zoom in or, at the closest, out by its key, and go back."""
        axis, focus = self.now["axis"], self.now["focus"]
        if not any(self._key(key, lambda now: now["axis"] != axis) for key in "ws"):
            raise BrokenInvariantError("keys work after every click", f"w and s do nothing; focus: {focus}")
        is_earlier = self._key("Backspace", lambda now: now["axis"] in self._trail)
        if self._is_trail_whole and not is_earlier:
            raise BrokenInvariantError(
                "Backspace returns to an earlier view", f"{axis} -> {self.now['axis']}"
            )

    def _check_python(self) -> None:
        """What Python reads must be what is drawn; it comes a moment later."""
        problem = ""
        for _ in range(20):
            self.now = self.look()
            problem = self.host.differs(self.now)
            if not problem:
                return
            self.host.page.wait_for_timeout(150)
        raise BrokenInvariantError("Python reads what is drawn", problem)

    def end(self) -> None:
        """The checks after a walk."""
        self._check_python()
        self._cdp.detach()


def _stable(node: dict[str, Any]) -> str:
    """The name of a control, without the numbers that the view itself puts after a comma, such as times."""
    name = str(node.get("name", {}).get("value", "")).strip()
    return name.partition(", ")[0] if node["role"]["value"] in SURFACES else name


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def replay(host: Host, gestures: Sequence[Gesture]) -> BrokenInvariantError | None:
    """Do recorded gestures on a fresh host; return what they break."""
    walker = Walker(host)
    try:
        for gesture in gestures:
            walker.do(gesture)
        walker.end()
    except BrokenInvariantError as broken:
        return broken
    return None


def shrink(
    gestures: Sequence[Gesture], breaks: Callable[[Sequence[Gesture]], bool], seconds: float = 120
) -> list[Gesture]:
    """Return the fewest gestures that still break the invariant: delta debugging, for a limited time."""
    until = time.monotonic() + seconds
    best = list(gestures)

    def still(candidate: Sequence[Gesture]) -> bool:
        return time.monotonic() < until and breaks(candidate)

    # Most faults need the last few gestures only.
    size = 1
    while size < len(best):
        if still(best[-size:]):
            best = best[-size:]
            break
        size *= 2
    parts = 2
    while len(best) > 1:
        length = -(-len(best) // parts)
        for start in range(0, len(best), length):
            candidate = best[:start] + best[start + length :]
            if candidate and still(candidate):
                best, parts = candidate, max(parts - 1, 2)
                break
        else:
            if length == 1:
                break
            parts = min(parts * 2, len(best))
    return best


def walk(host: Host, seed: int, count: int) -> Walker:
    """Do a random walk; on a failure raise it with the seed and the shortest walk that fails likewise."""
    host.fresh()
    walker = Walker(host, seed)
    try:
        walker.walk(count)
        walker.end()
    except BrokenInvariantError as broken:
        done, invariant = walker.done, broken.invariant
        pictures = host.picture(f"seed-{seed}")
        _say(f"{broken}\nseed {seed}, gesture {len(done)}: shrinking")

        def breaks(gestures: Sequence[Gesture]) -> bool:
            host.fresh()
            again = replay(host, gestures)
            return again is not None and again.invariant == invariant

        shortest = shrink(done, breaks)
        steps = "\n".join(f"    {gesture!r}," for gesture in shortest)
        detail = f"{broken}\nseed {seed}, gesture {len(done)} at {host.name}; {pictures}\n[\n{steps}\n]"
        raise BrokenInvariantError(invariant, detail) from broken
    return walker


def main(arguments: Sequence[str]) -> int:
    """Walk from a shell, and count what is broken."""
    import argparse

    from tests.browser.monkey_hosts import HOSTS, opened

    parser = argparse.ArgumentParser(prog="python -m tests.browser.monkey", description=__doc__)
    parser.add_argument("--host", choices=[*HOSTS], required=True)
    parser.add_argument("--gestures", type=int, default=LENGTH)
    parser.add_argument("--seed", type=int, default=1, help="of the first walk; the next have the next ones")
    given = parser.parse_args(arguments)
    broken: list[str] = []
    done = cut = overlapping = 0
    began = time.monotonic()
    with opened(given.host) as host:
        for seed in range(given.seed, given.seed + -(-given.gestures // LENGTH)):
            try:
                walker = walk(host, seed, min(LENGTH, given.gestures - done))
                done += len(walker.done)
                cut, overlapping = max(cut, walker.cut), max(overlapping, walker.overlapping)
            except BrokenInvariantError as fault:
                done += int(re.search(r"gesture (\d+) at", str(fault))[1])  # type: ignore[index]
                broken.append(fault.invariant)
                _say(str(fault))
            took = time.monotonic() - began
            _say(f"seed {seed}: {done} gestures, {len(broken)} walks broken, {took:.0f} s")
    _say(f"at most {cut} texts cut and {overlapping} pairs of texts overlapping")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
