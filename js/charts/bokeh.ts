/** The used part of BokehJS, and its loader: once per page, in the version of the charts. */

import { unpacked } from "../host/embedded";
import type { BokehItem } from "../model/wire/schema";

interface Signal<Sender> {
  connect(slot: (args: unknown, sender: Sender) => void): boolean;
  disconnect(slot: (args: unknown, sender: Sender) => void): boolean;
}

/** Any model of a document. */
export interface BokehModel {
  readonly type: string;
  readonly name: string | null;
  readonly tags: readonly unknown[];
  readonly properties: Record<string, unknown>;
  readonly change: Signal<BokehModel>;
  references(): Iterable<BokehModel>;
  setv(values: Record<string, unknown>): void;
}

interface BokehRange extends BokehModel {
  start: number;
  end: number;
}

export interface BokehFigure extends BokehModel {
  x_range: BokehRange;
  y_range: BokehRange;
}

interface BokehSelection extends BokehModel {
  indices: number[];
}

export interface BokehSource extends BokehModel {
  data: Record<string, ArrayLike<unknown>>;
  selected: BokehSelection;
  inspected: BokehSelection;
}

/** What draws a model, with the views of its parts; that of a hover tool has tooltips of its own. */
export interface BokehView {
  readonly model: BokehModel;
  readonly ttmodels?: Map<unknown, BokehModel>;
  children_views?(): Iterable<BokehView>;
  /** Figures only: restores the initial view. */
  reset?(): void;
}

export interface BokehViews {
  readonly roots: Iterable<BokehView>;
  clear(): void;
}

interface Bokeh {
  readonly version: string;
  set_log_level(level: "warn"): void;
  embed: { embed_item(item: BokehItem, target: HTMLElement): Promise<BokehViews> };
}

const PLACE = Symbol.for("tfvis_nb.bokeh");

type Page = typeof globalThis & {
  /** What extensions of the notebook have loaded. */
  Bokeh?: Bokeh;
  /** Ours, by version; dashboards of the page share it. */
  [PLACE]?: Map<string, Promise<Bokeh>>;
};

/** BokehJS of `version`; `code` is asked for its gzip'd code where the page does not have it. */
export function loadBokeh(version: string, code: () => Promise<Uint8Array>): Promise<Bokeh> {
  const page = globalThis as Page;
  if (page.Bokeh?.version === version) return Promise.resolve(page.Bokeh);
  page[PLACE] ??= new Map();
  const loaded = page[PLACE];
  let bokeh = loaded.get(version);
  if (!bokeh) {
    bokeh = code().then(run);
    loaded.set(version, bokeh);
    // Who asks again may be answered.
    bokeh.catch(() => loaded.delete(version));
  }
  return bokeh;
}

/** Run the code so that it finds an object of its own instead of the window, and leaves another Bokeh alone.
 * */
async function run(gzip: Uint8Array): Promise<Bokeh> {
  const code = await unpacked(gzip);
  const own: { Bokeh?: Bokeh } = {};
  const key = `tfvis_nb.bokeh.${Math.random()}`;
  const page = globalThis as unknown as Record<symbol, unknown>;
  page[Symbol.for(key)] = own;
  const text = `(function(){${code}\n}).call(globalThis[Symbol.for(${JSON.stringify(key)})])`;
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const script = document.createElement("script");
  script.src = url;
  try {
    await new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = () => reject(new Error("the page does not let BokehJS run"));
      document.head.append(script);
    });
  } finally {
    script.remove();
    URL.revokeObjectURL(url);
    delete page[Symbol.for(key)];
  }
  if (!own.Bokeh) throw new Error("BokehJS did not start");
  // BokehJS would log how long each chart took.
  own.Bokeh.set_log_level("warn");
  return own.Bokeh;
}
