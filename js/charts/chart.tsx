/** A chart that BokehJS draws, in the page's colours, linked with the timeline. */

import { useEffect, useRef, useState } from "preact/hooks";
import { formatTime } from "../model/format/units";
import { activityColour } from "../model/paint/palette";
import type { BokehItem, ChartBlock } from "../model/wire/schema";
import { BlockHead, CannotSay } from "../ui/block_head";
import { readTokens, watchTheme } from "../ui/theme";
import { type BokehFigure, type BokehModel, type BokehViews, loadBokeh } from "./bokeh";
import type { ChartHost } from "./host";
import { ChartLink, TIME } from "./link";
import { colourChart, colourTooltips, SeriesColours } from "./theme";

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
