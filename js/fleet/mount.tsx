/** Puts a fleet's heat map into an element. */

import { render } from "preact";
import { joinLink } from "../host/channel";
import type { Cell } from "../model/fleet/grid";
import type { Theme } from "../model/paint/palette";
import { Message } from "../ui/message";
import { followKeys, isShortcut } from "../ui/own_keys";
import { framed } from "../ui/shadow_frame";
import popover from "../ui/styles/popover.css";
import shared from "../ui/styles/tables.css";
import { watchTheme } from "../ui/theme";
import { bindTips } from "../ui/tooltips";
import { Fleet } from "./fleet";
import type { FleetHost } from "./host";
import styles from "./styles/fleet.css";

/** Show the fleet of `host` in `element` until `signal` aborts. */
export async function mountFleet(element: HTMLElement, host: FleetHost, signal: AbortSignal): Promise<void> {
  const { root, keys } = framed(element, "Fleet", [shared, popover, styles], signal);
  if (OWNS_PAGE) root.dataset.page = "";
  const box = document.createElement("div");
  box.className = "fleet";
  root.append(box);
  bindTips(root, signal);
  signal.addEventListener("abort", () => {
    render(null, box);
    root.remove();
  });
  try {
    render(<Message title="Loading the fleet …" progress={{ done: 0, total: 0 }} />, box);
    const grid = await host.grid();
    const first = await host.values(grid, grid.metrics[0].name);
    if (signal.aborted) return;
    let named: (cell: Cell) => void = () => {};
    let pressed: (key: string) => boolean = () => false;
    keys.home = () => root.querySelector<HTMLElement>(".cells") ?? root;
    keys.press = (event) => !isShortcut(event) && pressed(event.key);
    followKeys(host.link, keys, signal);
    const draw = () =>
      render(
        <Fleet
          {...{ host, grid, first }}
          theme={root.dataset.theme as Theme}
          onNamed={(next) => (named = next)}
          onKey={(next) => (pressed = next)}
        />,
        box,
      );
    draw();
    // The frame hears of it first.
    watchTheme(element, () => queueMicrotask(draw), signal);
    const publish = joinLink(
      host.link,
      (message) => {
        const [number] = message.kind === "select" ? (message.events ?? []) : [];
        if (number === undefined) return;
        named({ task: Math.floor(number / grid.step.length), column: number % grid.step.length });
      },
      signal,
    );
    // Tables are computed once this is drawn.
    publish({ kind: "view", start: 0, end: grid.step.length });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    render(<Message title="This fleet cannot be shown" text={text} />, box);
  }
}
