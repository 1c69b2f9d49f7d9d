/** A chart that BokehJS draws, in the page's colours, linked with the timeline. */

import { useEffect, useRef, useState } from "preact/hooks";
import { formatTime } from "../model/format/units";
import { activityColour, type Theme } from "../model/paint/palette";
import type { BokehItem, ChartBlock } from "../model/wire/schema";
import { BlockHead, CannotSay } from "../ui/block_head";
import type { Tokens } from "../ui/theme";
import { readTokens, watchTheme } from "../ui/theme";
import type { BokehSource, BokehView } from "./bokeh";
import { type BokehFigure, type BokehModel, type BokehViews, loadBokeh } from "./bokeh";
import type { ChartHost } from "./host";
import { ChartLink, TIME } from "./link";

interface ChartProps {
  host: ChartHost;
  block: ChartBlock;
  /** Whether the tab it is in is the one shown. */
  isShown: boolean;
}

/** Who has not answered by then is doing something else. */
const PATIENCE_MS = 1500;

export function Chart({ host, block, isShown }: ChartProps) {
  const { item, title } = block;
  return (
    <section class="block chart" data-wide={block.wide || undefined}>
      <BlockHead title={title} definition={block.definition} />
      {block.legend.length > 0 && (
        <ul class="legend" aria-label="Colours">
          {block.legend.map(({ label, colour, name }) => (
            <li key={label}>
              <i style={{ "--light": colour, "--dark": name ? activityColour(name, "dark") : colour }} />
              {label}
            </li>
          ))}
        </ul>
      )}
      {item ? <Figure {...{ host, item, title, isShown }} /> : <CannotSay reason={block.cannot_say} />}
    </section>
  );
}

export function Figure(props: { host: ChartHost; item: BokehItem; title: string; isShown: boolean }) {
  const { host, item, title, isShown } = props;
  const stage = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | null>(null);
  const [state, setState] = useState<"loading" | "waiting" | "drawn">("loading");
  const [error, setError] = useState("");
  const [isZoomed, setZoomed] = useState(false);
  const reset = () => {
    drawn.current?.reset();
    setZoomed(false);
  };
  useEffect(() => {
    const mounted = new AbortController();
    const patience = setTimeout(() => setState("waiting"), PATIENCE_MS);
    const element = stage.current as HTMLElement;
    // A picture; this is its text for screen readers.
    const shown = (start: number, end: number) => {
      const [from, to] = [start, end].map((time) => formatTime(time, (end - start) / 1000));
      element.setAttribute("aria-label", `${title}, ${from} to ${to}`);
    };
    draw(host, item, element, shown, mounted.signal)
      .then((made) => {
        drawn.current = made;
        if (!mounted.signal.aborted) setState("drawn");
      })
      .catch((problem: unknown) => {
        if (!mounted.signal.aborted) setError(problem instanceof Error ? problem.message : String(problem));
      })
      .finally(() => clearTimeout(patience));
    return () => {
      clearTimeout(patience);
      mounted.abort();
    };
  }, [item]);
  useEffect(() => drawn.current?.link.setShown(isShown), [isShown, state]);
  return (
    <>
      <div
        class="stage"
        ref={stage}
        role="img"
        aria-label={title}
        data-drawn={state === "drawn" || undefined}
        onDblClick={reset}
        onPointerUpCapture={() => requestAnimationFrame(() => setZoomed(drawn.current?.isZoomed() ?? false))}
      />
      {isZoomed && (
        <button type="button" class="reset" onClick={reset}>
          Reset zoom
        </button>
      )}
      {error ? (
        <p class="failed" role="alert">
          This chart cannot be drawn: {error}
        </p>
      ) : (
        state !== "drawn" && (
          <p class="pending" role="status">
            {state === "waiting" ? "Waiting for the kernel to send the chart library …" : "Drawing …"}
          </p>
        )
      )}
    </>
  );
}

/**
 * The chart is a picture with a name; its content reacts to the pointer alone and is not a stop for the tab
 * key.
 */
function skipByTab(element: Element | ShadowRoot): void {
  for (const inner of element.querySelectorAll<HTMLElement>("*")) {
    if (inner.tabIndex === 0) inner.tabIndex = -1;
    if (inner.shadowRoot) skipByTab(inner.shadowRoot);
  }
}

interface Drawn {
  link: ChartLink;
  /** Show all again. */
  reset: () => void;
  /** Whether a drag has changed the view; a figure along the run's time shows the timeline's view. */
  isZoomed: () => boolean;
}

function zoomOf(root: BokehModel): () => boolean {
  const figure = root as BokehFigure;
  if (!("x_range" in figure) || figure.name === TIME) return () => false;
  const now = () => [figure.x_range, figure.y_range].map(({ start, end }) => `${start} ${end}`).join();
  const first = now();
  return () => now() !== first;
}

/** Draw it in `stage` until `signal` aborts. */
async function draw(
  host: ChartHost,
  item: BokehItem,
  stage: HTMLElement,
  shown: (start: number, end: number) => void,
  signal: AbortSignal,
): Promise<Drawn | null> {
  const bokeh = await loadBokeh(host.bokehVersion, () => host.bokeh());
  if (signal.aborted) return null;
  const views: BokehViews = await bokeh.embed.embed_item(item, stage);
  signal.addEventListener("abort", () => views.clear());
  if (signal.aborted) {
    views.clear();
    return null;
  }
  skipByTab(stage);
  const [root] = views.roots;
  const page = stage.closest<HTMLElement>(".tfv") as HTMLElement;
  // An element outside the page has no colours and no fonts.
  const series = new SeriesColours(root.model);
  const colour = () => {
    if (!page.isConnected) return;
    const tokens = readTokens(page);
    colourChart(root.model, tokens);
    colourTooltips(root, tokens);
    series.follow(tokens.theme);
  };
  colour();
  watchTheme(page, colour, signal);
  const link = new ChartLink(root.model, host.link, shown, signal);
  return { link, reset: () => root.reset?.(), isZoomed: zoomOf(root.model) };
}

/** Token of each property, for any model of a figure; all but `font` are colours. */
const PART_TOKENS: Record<string, keyof Tokens> = {
  text_color: "text",
  title_text_color: "muted",
  label_text_color: "text",
  axis_label_text_color: "muted",
  major_label_text_color: "muted",
  group_text_color: "muted",
  subgroup_text_color: "muted",
  axis_line_color: "line",
  major_tick_line_color: "line",
  separator_line_color: "line",
  grid_line_color: "grid",
  text_font: "font",
  title_text_font: "font",
  label_text_font: "font",
  axis_label_text_font: "font",
  major_label_text_font: "font",
  group_text_font: "font",
};

/** Parts of a figure; glyphs have colours that mean something. */
const PARTS = /Axis$|Grid$|^Legend$|^Title$|^ColorBar$|^Label/;

/** Give texts, axes and grids the page's colours. */
export function colourChart(root: BokehModel, tokens: Tokens): void {
  for (const model of root.references()) {
    if (!PARTS.test(model.type)) continue;
    const values: Record<string, unknown> = {};
    // What Python has switched off stays off.
    for (const [property, token] of Object.entries(PART_TOKENS))
      if (property in model.properties && (model as unknown as Record<string, unknown>)[property] !== null)
        values[property] = tokens[token];
    model.setv(values);
  }
}

/** Begins the tag of a glyph or line that has a colour of the palette, as display/charts/style.py writes it. */
const COLOUR_TAG = "colour:";
const COLOURED = ["fill_color", "line_color", "hatch_color"];

interface Value {
  value: unknown;
}

/** Gives a chart's series the timeline's colours in the page's theme. */
export class SeriesColours {
  /** Each puts one model's colours into a theme; they were made for the light one. */
  readonly #changes: ((theme: Theme) => void)[] = [];
  #theme: Theme = "light";

  constructor(root: BokehModel) {
    for (const model of root.references()) {
      const tag = model.tags?.find((each) => typeof each === "string" && each.startsWith(COLOUR_TAG));
      if (tag) this.#addModel(model, String(tag).slice(COLOUR_TAG.length));
      if ("data" in model) this.#addRows(model as BokehSource);
    }
  }

  follow(theme: Theme): void {
    if (theme === this.#theme) return;
    this.#theme = theme;
    for (const change of this.#changes) change(theme);
  }

  #addModel(model: BokehModel, name: string): void {
    for (const property of COLOURED) {
      const made = (model as unknown as Record<string, unknown>)[property];
      // A rim of another colour keeps it.
      if ((isValue(made) ? made.value : made) !== activityColour(name, "light")) continue;
      this.#changes.push((theme) => {
        const colour = activityColour(name, theme);
        model.setv({ [property]: isValue(made) ? { ...made, value: colour } : colour });
      });
    }
  }

  #addRows(source: BokehSource): void {
    const { colour_name: names } = source.data;
    if (!names) return;
    this.#changes.push((theme) => {
      const colour = Array.from(names, (name) => activityColour(String(name), theme));
      source.setv({ data: { ...source.data, colour } });
    });
  }
}

function isValue(made: unknown): made is Value {
  return typeof made === "object" && made !== null && "value" in made;
}

/** The tooltips of a figure's tools, which no document knows: only the views that have made them. */
function* tooltips(view: BokehView): Iterable<BokehModel> {
  if (view.ttmodels) yield* view.ttmodels.values();
  for (const child of view.children_views?.() ?? []) yield* tooltips(child);
}

/** BokehJS tooltips are outside the tabs and have their own style. */
function colourTooltips(view: BokehView, { ground, text, muted, line, font }: Tokens): void {
  const style = `
    :host {
      --tooltip-color: ${ground};
      --tooltip-text: ${text};
      --tooltip-border: ${line};
      --tooltip-arrow-color: ${line};
      --tooltip-arrow-inner-color: ${ground};
      border-radius: 5px;
      font-family: ${font};
      opacity: 1;
    }
    .bk-tooltip-row-label { padding-right: 6px; color: ${muted}; }`;
  for (const tooltip of tooltips(view)) tooltip.setv({ stylesheets: [style] });
}
