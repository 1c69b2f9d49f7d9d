/** Puts a timeline into an element, or shows why there is none. */

import { render } from "preact";
import type { Host } from "../host/host";
import { compose, type Outline, outlineIn } from "../model/lod/outline";
import type { Drawn } from "../model/types";
import { drawnIn } from "../model/wire/bars";
import { openContainer } from "../model/wire/container";
import { Store } from "../state/store";
import { Message } from "../ui/message";
import { ownKeys } from "../ui/own_keys";
import { styledShadow } from "../ui/styled_shadow";
import { detectTheme } from "../ui/theme";
import { type Around, assemble, type Mounted } from "./assemble";
import { STYLES } from "./styles";

export type { Mounted };

/** Show the timeline of `host` in `element` until `signal` aborts; with `around` toolbar, legend and details are there. */
export async function mount(
  element: HTMLElement,
  host: Host,
  signal: AbortSignal,
  around?: Around,
): Promise<Mounted | null> {
  const shadow = styledShadow(element, STYLES);
  const root = document.createElement("div");
  root.className = "tfv";
  root.dataset.theme = detectTheme(element);
  if (OWNS_PAGE) root.dataset.page = "";
  if (around) root.dataset.side = `${host.pair?.side}`;
  shadow.append(root);
  const keys = ownKeys(element, root, signal);
  const resize = () => (root.style.height = OWNS_PAGE ? "100%" : `${host.get("height")}px`);
  resize();
  host.watch("height", resize, signal);
  signal.addEventListener("abort", () => {
    render(null, root);
    root.remove();
  });
  let drawn: Drawn;
  let outline: Outline | null;
  try {
    const progress = (done: number, total: number) =>
      render(<Message title="Loading the trace …" progress={{ done, total }} />, root);
    progress(0, 0);
    const container = await openContainer(await host.drawn(progress, signal));
    outline = HAS_KERNEL ? outlineIn(container) : null;
    drawn = HAS_KERNEL && outline ? compose(outline, null, null) : drawnIn(container);
  } catch (error) {
    if (!signal.aborted)
      render(
        <Message
          title="This trace cannot be shown"
          text={error instanceof Error ? error.message : String(error)}
        />,
        root,
      );
    return null;
  }
  if (signal.aborted) return null;
  if (drawn.count === 0) {
    const text = ["The trace holds no events.", ...drawn.notes].join(" ");
    render(<Message title={drawn.title || "Nothing to show"} text={text} />, root);
    return null;
  }
  const store = new Store(drawn, host, signal);
  return assemble(root, element, store, outline, keys, around);
}
