/** The line at the bottom: the legend, how sure the figures are, and hints or a message. */

import { useRef } from "preact/hooks";
import { isolated } from "../../model/format/bidi";
import { unbroken } from "../../model/format/units";
import { meaningOf } from "../../model/glossary";
import { waitColour } from "../../model/paint/palette";
import { filterProblem } from "../../model/search/hint";
import { parseQuery } from "../../model/search/query";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import { Popover } from "../../ui/popover";
import { families, legendOf } from "../canvas/legend";

/** The basis of the figures. The evidence for the clocks is a note and follows their uncertainty. */
function factsOf({ details, drawn }: Store): string[] {
  return [...new Set([...(details?.overview?.certainty ?? []), ...drawn.notes].map(unbroken))];
}

interface StatusLineProps {
  store: Store;
  isMac: boolean;
  /** All whose colours the legend explains. */
  stores?: readonly Store[];
}

export function StatusLine({ store, isMac, stores = [store] }: StatusLineProps) {
  useTopics(store, ["panel", "layout", "notice", "search"]);
  useTopics(store, ["viewport", "selection"], () => store.selection !== null || store.history.isUsed);
  for (const each of stores) useTopics(each, ["paint"]);
  // Shown at the lanes, to those who have neither zoomed nor selected yet.
  const isUsed = useRef(false);
  isUsed.current ||= store.selection !== null || store.history.isUsed;
  const hint = filterProblem(parseQuery(store.searchText), store.matches?.ids.length !== 0);
  const colorBy = store.host.get("color_by");
  const isByOp = colorBy === "op";
  const wait = colorBy === "kind" ? waitColour(store.painting.theme) : "var(--muted)";
  const hatched = `repeating-linear-gradient(135deg, ${wait} 0 2px, color-mix(in srgb, ${wait} 40%, var(--ground)) 2px 4px)`;
  return (
    <div class="status">
      <span class="legend" role="group" aria-label="Legend">
        {families(legendOf(stores)).map(([name, entries]) => {
          const [{ label, css, activity, meaning }] = entries;
          const several = entries.length > 1 || undefined;
          const labels = entries.map((entry) => entry.label).join(", ");
          const explained = entries.flatMap((entry) => (entry.activity && meaningOf(entry.label)) || []);
          // Events of no activity have nothing in common to look for.
          const query = activity
            ? activity !== "none" && `kind:${entries.map((entry) => entry.activity).join("|")}`
            : isByOp && css && !meaning && `op:${label}`;
          const text = (
            <>
              {entries.map((entry) => (
                <i
                  key={entry.label}
                  class="swatch"
                  title={several && entry.label}
                  style={
                    entry.css === ""
                      ? { border: "1px dashed var(--text)" }
                      : { background: entry.css ?? hatched }
                  }
                />
              ))}
              {several ? name : label}
            </>
          );
          return query ? (
            <button
              key={name}
              type="button"
              aria-label={several && labels}
              title={[`Highlight ${isolated(labels)}`, ...explained].join("\n")}
              aria-pressed={store.searchText === query}
              onClick={() => store.setSearch(store.searchText === query ? "" : query)}
            >
              {text}
            </button>
          ) : (
            <span key={name} title={meaning ?? explained[0] ?? label}>
              {text}
            </span>
          );
        })}
      </span>
      <Popover
        text="How sure is this?"
        title="Clocks, tracing overhead, missing data, and repairs"
        kind="dialog"
        name="How sure is this?"
      >
        {() => (
          <ul class="notes" data-first="" tabIndex={-1}>
            {factsOf(store).map((fact) => (
              <li key={fact}>{fact}</li>
            ))}
          </ul>
        )}
      </Popover>
      {store.failure ? (
        <span class="failed" role="alert">
          {store.failure}
        </span>
      ) : hint ? (
        <span class="failed" role="status">
          {hint}
        </span>
      ) : HAS_KERNEL && store.host.trouble ? (
        <span class="failed" role="alert">
          {store.host.trouble}
        </span>
      ) : store.notice ? (
        <span class="notice" role="status">
          {store.notice.text}
        </span>
      ) : (
        !isUsed.current && (
          <span class="hints">
            <kbd>{isMac ? "⌘" : "Ctrl"}</kbd> wheel zooms · drag selects · <kbd>W</kbd> <kbd>A</kbd>{" "}
            <kbd>S</kbd> <kbd>D</kbd> moves · <kbd>?</kbd> all keys
          </span>
        )
      )}
    </div>
  );
}
