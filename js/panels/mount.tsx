/** Puts panels into an element. */

import { render } from "preact";
import { joinLink, type LinkMessage } from "../host/channel";
import { Message } from "../ui/message";
import { passOn } from "../ui/own_keys";
import { bindSize } from "../ui/resize_handle";
import { framed } from "../ui/shadow_frame";
import { bindTips } from "../ui/tooltips";
import type { PanelsHost } from "./host";
import { STYLES } from "./styles";
import { keyOf } from "./table";
import { Panels, type Shown } from "./tabs";

/** Maximum height of the panels (CSS px), and where the user's choice is stored. */
export interface Height {
  read(): number;
  write(height: number): void;
}

/** Show the panels of `host` in `element` until `signal` aborts; without a height they take what room there is. */
export function mountPanels(
  element: HTMLElement,
  host: PanelsHost,
  signal: AbortSignal,
  height?: Height,
): void {
  const { root, keys } = framed(element, "Dashboard", STYLES, signal);
  if (!height) root.dataset.page = "";
  const box = document.createElement("div");
  box.className = "tabs";
  root.append(box);
  const light = rowHighlighter(root);
  const shown: Shown = { step: null, isRange: false, inRange: null, events: [], selected: "" };
  const draw = (change: Partial<Shown>) =>
    render(<Panels {...{ host, signal }} publish={say} shown={Object.assign(shown, change)} />, box);
  const publish = joinLink(
    host.link,
    (message) => {
      if (message.kind === "step") draw({ step: message.step });
      else light(message);
      if (message.kind === "select") {
        const { start, events, inRange = null } = message;
        const selected = keyOf(message);
        draw({ isRange: start !== undefined && !events, inRange, events: events ?? [], selected });
      }
    },
    signal,
  );
  keys.press = passOn(publish);
  const say = (message: LinkMessage) => {
    publish(message);
    // Tabs hear of each other only here.
    if (message.kind !== "select") return;
    const { start, events = [] } = message;
    // The timeline does not send back the events of a range that it was given.
    const selected = keyOf(message);
    draw({ events, isRange: start !== undefined && events.length === 0, inRange: null, selected });
  };
  draw({});
  publish({ kind: "ask" });
  if (height) bindHeight(root, height, signal);
  bindTips(root, signal);
  signal.addEventListener("abort", () => {
    render(null, box);
    root.remove();
  });
}

/** Show in `element` why there are no panels. */
export function mountProblem(element: HTMLElement, text: string, signal: AbortSignal): void {
  const { root } = framed(element, "Dashboard", STYLES, signal);
  root.dataset.page = "";
  render(<Message title="The tabs cannot be shown" text={text} />, root);
}

function bindHeight(root: HTMLElement, height: Height, signal: AbortSignal): void {
  const grip = document.createElement("div");
  grip.className = "grip";
  grip.tabIndex = 0;
  grip.setAttribute("role", "separator");
  grip.setAttribute("aria-label", "Height of the dashboard's tabs");
  root.append(grip);
  // Few contents take no more room than they need, until the user drags it to a height.
  root.style.maxHeight = `${height.read()}px`;
  const write = (size: number) => {
    root.style.height = root.style.maxHeight = `${size}px`;
    height.write(size);
  };
  bindSize(
    grip,
    { axis: "y", direction: 1, least: 160, most: () => 4000, read: () => root.clientHeight, write },
    signal,
  );
}

/** Highlights only the elements of `root` whose data-light is one of these names. */
function highlight(root: HTMLElement, names: readonly (string | null | undefined)[]): void {
  for (const row of root.querySelectorAll("[data-lit]")) row.removeAttribute("data-lit");
  const [name, op] = names.map((each) => each && CSS.escape(each));
  // A named event is more specific than one of the same type.
  const rows = name ? root.querySelectorAll(`[data-light="${name}"]`) : [];
  for (const row of rows.length || !op ? rows : root.querySelectorAll(`[data-light="${op}"]`))
    row.setAttribute("data-lit", "");
}

/**
 * Highlights rows of `root` on messages from the link. It does not redraw: a pointer passes many events a
 * second.
 */
function rowHighlighter(root: HTMLElement): (message: LinkMessage) => void {
  let selected: (string | undefined)[] = [];
  return (message) => {
    if (message.kind === "select") selected = [message.name, message.op];
    if (message.kind === "hover" && message.name) highlight(root, [message.name, message.op]);
    else if (message.kind === "hover" || message.kind === "select") highlight(root, selected);
  };
}
