/** A timeline's part in a comparison: the timelines above and below it show the same time at the same width.
 * */

import type { LinkMessage } from "../host/channel";
import { kindOf, nameOf, opOf } from "../model/lanes/event_text";
import { byEventId } from "../model/lod/merged";
import { counterpart } from "../model/search/counterpart";
import { DashboardLink, type Selected } from "./dashboard_link";
import type { Navigation } from "./navigation";
import type { Store } from "./store";

type Frame = Extract<LinkMessage, { kind: "frame" }>;

export class ComparisonLink extends DashboardLink {
  /** The frame that the other one has sent or received. */
  #frame = "";

  constructor(
    store: Store,
    navigation: Navigation,
    link: string,
    /** 0 of the upper one, 1 of the lower one. */
    readonly side: number,
    readonly root: HTMLElement,
  ) {
    super(store, navigation, link);
    store.on(["panel", "selection", "viewport"], () => this.#publishFrame());
    // The other one may have been there before, and have been moved since.
    this.publish({ kind: "ask" });
  }

  protected override onMessage(message: LinkMessage): void {
    if (message.kind === "frame") this.#fit(message);
    else super.onMessage(message);
    if (message.kind === "ask") {
      this.#frame = "";
      this.#publishFrame();
    }
  }

  /** Mirror the other side's selection; times are equal, but events and lanes are numbered differently. */
  protected override select(message: Selected): void {
    const { store, navigation, side } = this;
    const selection = this.#here(message);
    this.known = JSON.stringify(selection);
    store.selectInRun(selection);
    const { selected } = store;
    if (selected !== null) {
      navigation.uncover(selected);
      navigation.keepInSight(selected);
    }
    // One goes there, and the other follows.
    const { start, end } = message;
    if (message.sides && side === 0 && start !== undefined && end !== undefined)
      navigation.show({ start, end });
  }

  #here({ sides, events, name, op, event_kind, places, start, end }: Selected) {
    const { store, side } = this;
    if (sides) return sides[side]?.length ? { events: [...sides[side]] } : null;
    if (start === undefined) return null;
    if (events) {
      const described = name !== undefined && op !== undefined && event_kind !== undefined;
      const event = described ? counterpart(store.run, { name, op, kind: event_kind, start }) : null;
      return event === null ? null : byEventId(store.run, { events: [event] });
    }
    const lanes = store.run.lanes.filter((lane) => places?.includes(calledLane(lane))).map(({ id }) => id);
    if (end === undefined || (places && !lanes.length)) return null;
    return { start, end, lanes: places ? lanes : null, step: null };
  }

  protected override publishSelection(): void {
    const { store } = this;
    const selection = store.host.get("selection");
    const text = JSON.stringify(selection);
    if (text === this.known) return;
    this.known = text;
    // Aligned steps have times of their own.
    if (!selection || store.aligned) this.publish({ kind: "select" });
    else if ("events" in selection) {
      const event = selection.events.length === 1 ? store.selected : null;
      if (event === null) this.publish({ kind: "select" });
      else
        this.publish({
          kind: "select",
          events: selection.events,
          start: store.drawn.start[event],
          name: nameOf(store.drawn, event),
          op: opOf(store.drawn, event),
          event_kind: kindOf(store.drawn, event),
        });
    } else {
      const { start, end, lanes } = selection;
      const places = lanes?.map((lane) => calledLane(store.run.lanes[lane]));
      this.publish({ kind: "select", start, end, ...(places && { places }) });
    }
  }

  #publishFrame(): void {
    const { style } = this.root;
    const frame: Frame = {
      kind: "frame",
      panelOpen: this.store.panelOpen,
      labels: style.getPropertyValue("--labels"),
    };
    const text = JSON.stringify(frame);
    if (text === this.#frame) return;
    this.#frame = text;
    this.publish(frame);
  }

  #fit({ kind, panelOpen, labels }: Frame): void {
    this.#frame = JSON.stringify({ kind, panelOpen, labels });
    const { style } = this.root;
    if (labels) style.setProperty("--labels", labels);
    if (panelOpen !== this.store.panelOpen) this.store.setPanel({ panelOpen });
  }
}

function calledLane({ task, device, lane }: { task: string; device: string; lane: string }): string {
  return JSON.stringify([task, device, lane]);
}
