/** Highlights rows that match the pointer or the selection in the timeline. */

import type { LinkMessage } from "../host/channel";

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
export function rowHighlighter(root: HTMLElement): (message: LinkMessage) => void {
  let selected: (string | undefined)[] = [];
  return (message) => {
    if (message.kind === "select") selected = [message.name, message.op];
    if (message.kind === "hover" && message.name) highlight(root, [message.name, message.op]);
    else if (message.kind === "hover" || message.kind === "select") highlight(root, selected);
  };
}
