/** Rows of tables that are of what the pointer is over in the timeline, or of what is selected there. */

import type { Told } from "../host/channel";

/** Whatever in `root` has one of these names as its data-light is lit, and nothing else. */
function light(root: HTMLElement, names: readonly (string | null | undefined)[]): void {
  for (const row of root.querySelectorAll("[data-lit]")) row.removeAttribute("data-lit");
  const [name, op] = names.map((each) => each && CSS.escape(each));
  // What is named says more than what is of the same type.
  const rows = name ? root.querySelectorAll(`[data-light="${name}"]`) : [];
  for (const row of rows.length || !op ? rows : root.querySelectorAll(`[data-light="${op}"]`))
    row.setAttribute("data-lit", "");
}

/** Light rows of `root` as the others on the link say. Not by drawing anew: a pointer passes many events a second. */
export function lighter(root: HTMLElement): (told: Told) => void {
  let selected: (string | undefined)[] = [];
  return (told) => {
    if (told.kind === "select") selected = [told.name, told.op];
    if (told.kind === "hover" && told.name) light(root, [told.name, told.op]);
    else if (told.kind === "hover" || told.kind === "select") light(root, selected);
  };
}
