/** Bars of the user's own tracks as a list: each can be gone to. */

import { isolated } from "../../model/format/bidi";
import { formatCount, formatDuration, formatTime } from "../../model/format/units";
import type { OwnBar } from "../../model/wire/own_tracks";
import { selectBar } from "../../state/own_tracks";
import type { Store } from "../../state/store";

const MOST = 30;

export function BarList({ store, bars }: { store: Store; bars: readonly OwnBar[] }) {
  if (!bars.length) return null;
  return (
    <section aria-label="Own bars">
      <h3>Own bars ({formatCount(bars.length)})</h3>
      <ul class="links">
        {bars.slice(0, MOST).map(({ track, at }) => (
          <li key={`${track.name}\0${at}`}>
            <button type="button" class="link" onClick={() => selectBar(store, track, at)}>
              <b>{isolated(track.names[at] || track.name)}</b>{" "}
              <small>
                {formatDuration(track.lengths[at])} at {formatTime(track.starts[at], 1000)}
              </small>
            </button>
          </li>
        ))}
      </ul>
      {bars.length > MOST && <p class="unlinked">{formatCount(bars.length - MOST)} more</p>}
    </section>
  );
}
