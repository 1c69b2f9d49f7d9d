/** Search with count, next and previous; other events are dimmed in the lanes. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "../../input/actions";
import { formatCount, formatDuration } from "../../model/format/units";
import { searchResults } from "../../state/own_tracks";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";

const PAUSE_MS = 120;

export function SearchBox({ store, actions }: { store: Store; actions: Actions }) {
  useTopics(store, ["search", "selection"]);
  const [text, setText] = useState(store.searchText);
  const timer = useRef(0);
  // A search set from elsewhere, by the legend or by Escape in the lanes; at once, before another key is typed.
  useLayoutEffect(() => setText(store.searchText), [store.searchText]);
  const type = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => store.setSearch(value), PAUSE_MS) as unknown as number;
  };
  const go = (direction: 1 | -1) => {
    clearTimeout(timer.current);
    if (text !== store.searchText) store.setSearch(text);
    actions.nextMatch(direction);
  };
  const { matches } = store;
  const { bars, bar, place } = searchResults(store);
  const events = matches?.count ?? 0;
  const at = bar < 0 ? place : events + bar;
  const count = events + bars.length;
  return (
    <div class="search field" role="search">
      <input
        type="text"
        aria-label="Search ops, tensors, lanes"
        placeholder="Search ops, lanes"
        title={
          'Words, "two words", -without, this|that\nop:MatMul  lane:stream  kind:kernel  step:3-7\ndur:>5ms  bytes:>1MB'
        }
        spellcheck={false}
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") {
            clearTimeout(timer.current);
            store.setSearch("");
            setText("");
            actions.focusLanes();
          } else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      {matches ? (
        <>
          <output
            aria-live="polite"
            title={
              matches.busy === null
                ? undefined
                : `At least one of them runs for ${formatDuration(matches.busy)}`
            }
          >
            {count === 0
              ? "no match"
              : at >= 0
                ? `${formatCount(at + 1)} of ${formatCount(count)}`
                : formatCount(count)}
          </output>
          <button type="button" aria-label="Previous match" disabled={!count} onClick={() => go(-1)}>
            ‹
          </button>
          <button type="button" aria-label="Next match" disabled={!count} onClick={() => go(1)}>
            ›
          </button>
        </>
      ) : store.searchText.trim() ? (
        <output aria-live="polite">…</output>
      ) : (
        <kbd>/</kbd>
      )}
    </div>
  );
}
