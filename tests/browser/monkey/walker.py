"""A walk: chooses gestures, does them, and checks what each may change."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.browser.monkey.controls import CHOICES, FIELDS, PASSIVE, SURFACES, Controls
from tests.browser.monkey.gestures import KEYS, MOVES, Gesture
from tests.browser.monkey.sight import LOCATE, NOW, TEXTS, UNDER, Sight

if TYPE_CHECKING:
    from tests.browser.monkey.hosts import Host

TYPED = ("op:MatMul", "relu", "kind:kernel", "dur:>10us", "no such event", "ddx", "0")
TEXT_FIELDS = ("input", "textarea", "select")


class BrokenInvariantError(AssertionError):
    """An invariant that did not hold after a gesture."""

    def __init__(self, invariant: str, detail: str) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant


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
        self.now: dict[str, Any] = {}
        self._sight = Sight(host.element)
        self._controls = Controls(self._sight)
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
        found = self._sight.run(LOCATE, events)
        return Gesture(do, event=found["event"], keys=keys) if found else None

    def _at_point(self, do: str, roles: set[str], keys: str = "") -> Gesture | None:
        target = self._any(roles)
        return target and Gesture(do, *target, x=self._part(), y=self._part(), keys=keys)

    def _drag(self, keys: str) -> Gesture | None:
        target = self._any({"application"} if self._random.random() < 0.5 else SURFACES)
        x, y, x2, y2 = (self._part() for _ in range(4))
        return target and Gesture("drag", *target, x=x, y=y, x2=x2, y2=y2, keys=keys)

    def _press(self) -> Gesture | None:
        roles = {role for role, _ in self._controls.known()} - FIELDS - CHOICES - SURFACES - PASSIVE
        target = self._any(roles)
        return target and Gesture("press", *target)

    def _type(self) -> Gesture | None:
        target = self._any(FIELDS)
        end = self._one("", "Enter", "Escape", "Shift+Enter")
        return target and Gesture("type", *target, keys=f"{self._one(*TYPED)}|{end}")

    def _choice(self) -> Gesture | None:
        target = self._any(CHOICES)
        return target and Gesture("choose", *target, keys=self._one("ArrowDown", "ArrowUp"))

    def _any(self, roles: set[str]) -> tuple[str, str, int] | None:
        seen = self._controls.known()
        places = [at for at, (role, _) in enumerate(seen) if role in roles]
        if not places:
            return None
        at = self._random.choice(places)
        return (*seen[at], seen[:at].count(seen[at]))

    # Doing

    def do(self, gesture: Gesture) -> None:
        """Do a gesture and check the invariants; one whose target is gone does nothing."""
        before, click, place = self.now, None, (0.0, 0.0)
        if gesture.do not in ("rerun", "key"):
            found = self._place(gesture)
            click = found and self._sight.run(UNDER, [*found])
            if not found or not click:
                return
            place = found
        self.done.append(gesture)
        if gesture.do == "rerun":
            changed = self.host.rerun()
            self._sight.find()
            if changed:
                raise BrokenInvariantError("a cell run again shows the same view", changed)
            self._check_python()
        elif gesture.do == "key":
            self.host.page.keyboard.press(gesture.keys)
        else:
            if gesture.do in ("click", "anywhere", "press"):
                # Bringing the target into view may have scrolled the page.
                before = self.look(waits=False)
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
            found = self._sight.run(LOCATE, [gesture.event])
            return found and (found["x"], found["y"])
        is_anywhere = gesture.do == "anywhere"
        box: Any = self.host.element.bounding_box() if is_anywhere else self._box(gesture)
        return box and (box["x"] + gesture.x * box["width"], box["y"] + gesture.y * box["height"])

    def _box(self, gesture: Gesture) -> dict[str, float] | None:
        is_choice = gesture.do == "choose"
        return self._controls.box(gesture.role, gesture.name, gesture.nth, focus=is_choice)

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
            if box:
                end_x, end_y = gesture.x2 * box["width"], gesture.y2 * box["height"]
                mouse.move(box["x"] + end_x, box["y"] + end_y, steps=3)
            mouse.up()
        else:
            mouse.click(x, y, button="right" if do == "menu" else "left", click_count=1 + (do == "double"))
        if gesture.keys:
            keyboard.up(gesture.keys)

    def look(self, *, waits: bool = True) -> dict[str, Any]:
        """Return the visible state, after the next frame unless it need not wait."""
        now: dict[str, Any] = self._sight.run(NOW, waits)
        return now

    # Checking

    def _check(self, gesture: Gesture, before: dict[str, Any], click: dict[str, Any] | None) -> None:
        self._check_surroundings(gesture)
        if click and click["lanes"] and gesture.do in ("click", "anywhere"):
            # A widget that grows or shrinks with the details has more or fewer lanes at its end.
            lanes = [dict(each.rsplit(" @", 1) for each in of["lanes"]) for of in (before, self.now)]
            common = {*lanes[0]} & {*lanes[1]}
            if any(lanes[0][name] != lanes[1][name] for name in common) or (lanes[0] and not common):
                raise BrokenInvariantError("a click changes the selection only", f"lanes: {lanes}")
            self._holds("a click changes the selection only", before, "axis", "steps", "place")
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
            cut, overlapping = self._sight.run(TEXTS)
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
        return bool(self.now["axis"]) and not self.now["popup"] and not is_field and not focus["isOther"]

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
        """Python's values must equal the drawn ones, after a delay."""
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
        self._sight.end()
