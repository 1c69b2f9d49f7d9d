/** The line at the bottom: the legend, import notes, and hints or a message. */

import { isolated } from "../../model/format/bidi";
import { meaningOf } from "../../model/glossary";
import { waitColour } from "../../model/paint/palette";
import { FILTERS, parseQuery, unknownFilters } from "../../model/search/query";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";

interface StatusLineProps {
  store: Store;
  isMac: boolean;
  /** All whose colours the legend explains. */
  stores?: readonly Store[];
}

export function StatusLine({ store, isMac, stores = [store] }: StatusLineProps) {
  useTopics(store, ["paint", "panel", "layout", "notice", "search"]);
  const unknown = filterProblem(store);
  const entries = stores.flatMap(({ painting }) => painting.paints.legend);
  const legend = [...new Map(entries.map((entry) => [entry.label, entry])).values()];
  const notes = store.drawn.notes.length;
  const isByKind = store.host.get("color_by") === "kind";
  const wait = isByKind ? waitColour(store.painting.theme) : "var(--muted)";
  return (
    <footer class="status">
      <span class="legend" role="group" aria-label="Legend">
        {legend.map((entry) => {
          const query = entry.category
            ? `kind:${entry.category}`
            : store.host.get("color_by") === "op"
              ? `op:${entry.label}`
              : "";
          return (
            <button
              key={entry.label}
              type="button"
              title={query ? highlightTitle(entry.label, entry.category) : entry.label}
              disabled={!query}
              aria-pressed={query !== "" && store.searchText === query}
              style={{ opacity: 1 }}
              onClick={() => store.setSearch(store.searchText === query ? "" : query)}
            >
              <i class="swatch" style={{ background: entry.css }} />
              {entry.label}
            </button>
          );
        })}
        {stores.some(({ drawn }) => drawn.wait) && (
          <button
            type="button"
            disabled
            style={{ opacity: 1 }}
            title="The part of a transfer during which an earlier one occupied the channel"
          >
            <i
              class="swatch"
              style={{
                background: `repeating-linear-gradient(135deg, ${wait} 0 2px, color-mix(in srgb, ${wait} 40%, var(--ground)) 2px 4px)`,
              }}
            />
            waiting
          </button>
        )}
      </span>
      {notes > 0 && (
        <button
          type="button"
          title={store.drawn.notes.join("\n")}
          onClick={() => {
            store.select(null);
            store.setPanel({ panelOpen: true });
          }}
        >
          {notes === 1 ? "1 note" : `${notes} notes`}
        </button>
      )}
      {store.failure ? (
        <span class="failed" role="alert">
          {store.failure}
        </span>
      ) : unknown ? (
        <span class="failed" role="status">
          {unknown}
        </span>
      ) : store.notice ? (
        <span class="notice" role="status">
          {store.notice.text}
        </span>
      ) : (
        <span class="hints">
          <kbd>{isMac ? "⌘" : "Ctrl"}</kbd> wheel zooms · drag selects · <kbd>W</kbd> <kbd>A</kbd>{" "}
          <kbd>S</kbd> <kbd>D</kbd> moves · <kbd>?</kbd> all keys
        </span>
      )}
    </footer>
  );
}

function highlightTitle(label: string, category?: string): string {
  // Only categories are words of ours: an op of the trace may be called anything.
  const meaning = category && meaningOf(label);
  return [`Highlight ${isolated(label)}`, meaning].filter(Boolean).join("\n");
}

/** Names filters that do not exist; words that merely look like filters only if the search finds nothing. */
function filterProblem({ searchText, matches }: Store): string | null {
  const { unread, unnamed } = unknownFilters(parseQuery(searchText));
  const words = matches?.ids.length === 0 ? [...unread, ...unnamed] : unread;
  if (words.length === 0) return null;
  const known = FILTERS.map((filter) => `${filter}:`).join(" ");
  return `Unknown filter ${words.map(isolated).join(", ")}. Filters: ${known}, as in step:3 dur:>5ms bytes:>1MB`;
}
