/**
 * Every key and gesture of the timeline, in the order of the help. The key handling, the help overlay and the table in
 * docs/timeline.md all follow from this list.
 */

import { toggleCritical } from "../state/critical_path";
import { toggleTensors } from "../state/tensors";
import type { Actions } from "./actions";

type Run = (actions: Actions, isShift: boolean) => void;

export interface Command {
  /** The keys or the gesture, as written in the help. */
  keys: string;
  label: string;
  /** Actions by `event.code`: keys at the same position on every keyboard layout. */
  run?: Record<string, Run>;
  /** Actions by character, for keys whose position depends on the layout. */
  typed?: Record<string, Run>;
  /** The same with Ctrl or Cmd held, by the character; false leaves the key to the browser. */
  controlled?: Record<string, (actions: Actions, isTyping: boolean) => boolean>;
  /** Keys that act while they are held, by `event.code`: +1 zooms in or pans right, -1 the other way. */
  hold?: Record<string, { zoom: number; pan: number }>;
}

const zoomIn: Run = (actions) => actions.zoom(1.5);
const zoomOut: Run = (actions) => actions.zoom(1 / 1.5);
const whole: Run = (actions) => actions.whole();

/** Without `run`, `typed`, `controlled` and `hold` it is a gesture, or a word of the search, that other modules take. */
export const SECTIONS: readonly { title: string; commands: readonly Command[] }[] = [
  {
    title: "Move",
    commands: [
      {
        keys: "W S",
        label: "zoom in and out; faster with Shift",
        hold: { KeyW: { zoom: 1, pan: 0 }, KeyS: { zoom: -1, pan: 0 } },
      },
      {
        keys: "A D",
        label: "left and right",
        hold: { KeyA: { zoom: 0, pan: -1 }, KeyD: { zoom: 0, pan: 1 } },
      },
      { keys: "Ctrl wheel, pinch", label: "zoom at the pointer" },
      { keys: "Shift wheel", label: "left and right" },
      { keys: "Shift drag", label: "move the picture" },
      { keys: "Alt drag", label: "zoom to the dragged part" },
      { keys: "drag the ruler", label: "zoom to the dragged time" },
      { keys: "drag the overview", label: "choose the visible part" },
      {
        keys: "+ −",
        label: "zoom by one notch",
        run: { Equal: zoomIn, NumpadAdd: zoomIn, Minus: zoomOut, NumpadSubtract: zoomOut },
      },
      {
        keys: "0, Home",
        label: "everything; in a chosen step, that step first",
        run: { Digit0: whole, Numpad0: whole, Home: whole },
      },
      {
        keys: "Backspace",
        label: "previous view; Shift: next",
        run: { Backspace: (actions, isShift) => (isShift ? actions.forward() : actions.back()) },
      },
      {
        keys: "V",
        label: "colours, groups, named views; Shift V: copy a link to this view",
        run: { KeyV: (actions, isShift) => (isShift ? actions.copyLink() : actions.openView()) },
      },
      { keys: "Shift F", label: "fill the screen; Esc leaves it" },
      {
        keys: "Page up, down",
        label: "scroll the lanes",
        run: {
          PageDown: ({ store }) => store.scrollTo(store.scroll + store.height * 0.85),
          PageUp: ({ store }) => store.scrollTo(store.scroll - store.height * 0.85),
        },
      },
    ],
  },
  {
    title: "Select",
    commands: [
      { keys: "click", label: "an event; Ctrl adds another" },
      { keys: "click a gap", label: "idle time and its cause; time between steps" },
      { keys: "drag", label: "a range; its edges snap to events, not with Alt" },
      { keys: "double click", label: "zoom to an event, or to everything" },
      {
        keys: "F, Enter",
        label: "zoom to the selection",
        run: {
          KeyF: (actions, isShift) => (isShift ? actions.fullScreen() : actions.fitSelection()),
          Enter: (actions) => actions.fitSelection(),
        },
      },
      {
        keys: "right click, Menu",
        label: "actions for an event or a lane",
        run: { ContextMenu: (actions) => actions.openMenu() },
      },
      {
        keys: "Ctrl C",
        label: "copy the name of the selected event",
        controlled: { c: (actions, isTyping) => !isTyping && actions.copySelected() },
      },
      {
        keys: "← →",
        label: "event before and after in the lane",
        run: {
          ArrowLeft: (actions) => actions.stepInLane(-1),
          ArrowRight: (actions) => actions.stepInLane(1),
        },
      },
      {
        keys: "↑ ↓",
        label: "lane above and below",
        run: { ArrowUp: (actions) => actions.stepAcross(-1), ArrowDown: (actions) => actions.stepAcross(1) },
      },
      {
        keys: "[ ]",
        label: "to its producer, to its consumer",
        run: { BracketLeft: (actions) => actions.follow(-1), BracketRight: (actions) => actions.follow(1) },
      },
      {
        keys: "G",
        label: "graph of its producers and consumers",
        run: { KeyG: (actions) => actions.toggleGraph() },
      },
      {
        keys: "← → ↑ ↓ in the graph",
        label: "along its edges; Enter selects, + − change the hops, 0 fits it",
      },
      {
        keys: "L",
        label: "code: the time of each line",
        run: { KeyL: (actions) => actions.toggleCode() },
      },
      { keys: "↑ ↓ in the code", label: "from line to line; Enter selects a line's events" },
      {
        keys: "Esc",
        label: "clear search, selection, marks; then close the graph",
        run: { Escape: (actions) => actions.clear() },
      },
    ],
  },
  {
    title: "Find and measure",
    commands: [
      {
        keys: "/, Ctrl F",
        label: "search; Enter, Shift Enter: next, previous; Esc: back to the lanes",
        typed: { "/": (actions) => actions.focusSearch() },
        // A second one is the browser's.
        controlled: { f: (actions) => actions.focusSearch() },
      },
      {
        keys: ", .",
        label: "previous, next match",
        run: { Comma: (actions) => actions.nextMatch(-1), Period: (actions) => actions.nextMatch(1) },
      },
      {
        keys: "C",
        label: "the critical path: what the step waited for",
        run: { KeyC: ({ store }) => toggleCritical(store) },
      },
      {
        keys: "T",
        label: "tensors in memory: a bar from allocation to free",
        run: { KeyT: ({ store, surroundings }) => toggleTensors(store, surroundings.hint) },
      },
      {
        keys: "M",
        label: "measure the selection; Shift M keeps the mark",
        run: { KeyM: (actions, isShift) => actions.mark(isShift) },
      },
      {
        keys: "N",
        label: "name and comment the selection, mark or time; Shift N: list",
        run: { KeyN: (actions, isShift) => (isShift ? actions.listAnnotations() : actions.annotate()) },
      },
      {
        keys: "U",
        label: "date and time of day, or time since the start",
        run: { KeyU: (actions) => actions.toggleWallClock() },
      },
      { keys: "op: name: lane: kind:", label: "search that field only, e.g. op:MatMul" },
      { keys: '"a b"  -a  a|b', label: "a phrase, without a, either" },
      { keys: "step:3  step:3-7", label: "only these steps" },
      { keys: "line:12  file:model.py", label: "only ops of that line" },
      { keys: "is:critical", label: "only the critical path" },
      { keys: ">5ms  dur:<10us", label: "longer, shorter" },
      { keys: "bytes:>1MB", label: "moved or produced more; < for less" },
      {
        keys: "?",
        label: "show this help",
        typed: { "?": ({ store }) => store.setPanel({ helpOpen: !store.helpOpen }) },
      },
    ],
  },
  {
    title: "Lanes and steps",
    commands: [
      { keys: "point at a label", label: "pin the lane to the top, or hide it" },
      { keys: "Filter lanes", label: "show matching lanes, e.g. worker 1 copy" },
      {
        keys: "Z",
        label: "fold the lane under the pointer to one row; Shift Z: all lanes",
        run: {
          KeyZ: (actions, isShift) =>
            isShift ? actions.store.lanes.foldLanes(actions.store.arrangement) : actions.fold(),
        },
      },
      { keys: "click a group", label: "fold it; its activity stays visible" },
      { keys: "Steps", label: "click a bar for one step; all, or aligned" },
      { keys: "orange, violet bars", label: "longer than usual; more GPU work" },
    ],
  },
];

export const COMMANDS: readonly Command[] = SECTIONS.flatMap(({ commands }) => commands);
