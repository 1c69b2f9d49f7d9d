/** Buffers of an allocator at one time, the largest first. */

import type { Actions } from "../../input/actions";
import { formatBytes, formatNumber, formatTime } from "../../model/format/units";
import { NO_NAME } from "../../model/lanes/labels";
import { aliveAt, levelAt, type Moment } from "../../model/wire/memory";
import type { Store } from "../../state/store";
import { ScopedText } from "../../ui/scoped_text";
import { PanelHeader } from "./header";
import { sizeText } from "./tensor_texts";

interface MemoryProps extends Moment {
  store: Store;
  actions: Actions;
}

const MAX_BUFFERS = 20;

export function MemoryDetails({ store, actions, track, time }: MemoryProps) {
  const { sizes, events } = track;
  const alive = aliveAt(track, time);
  const level = levelAt(track, time);
  const others = alive.slice(0, MAX_BUFFERS).reduce((rest, buffer) => rest - sizes[buffer], level);
  return (
    <>
      <PanelHeader store={store} title={track.allocator} />
      <dl>
        <dt>{track.estimated ? "Estimated" : "Allocated"}</dt>
        <dd>
          {formatBytes(level)} <small>of {formatBytes(track.peak)} at the peak</small>
        </dd>
        <dt>At</dt>
        <dd>{formatTime(time, 1)}</dd>
      </dl>
      <h3>{formatNumber(alive.length, "buffer")}</h3>
      <ul class="links">
        {alive.slice(0, MAX_BUFFERS).map((buffer) => (
          <li key={buffer}>
            <button
              type="button"
              class="link"
              disabled={!events[buffer]}
              onClick={() => actions.visitEvent(events[buffer] - 1)}
            >
              <b>
                <ScopedText text={track.name(buffer) || NO_NAME} />
              </b>{" "}
              <small>{sizeText({ track, at: buffer })}</small>
            </button>
          </li>
        ))}
      </ul>
      {others > 0 && (
        <p
          class="unlinked"
          title="Smaller buffers and those allocated before the recording, such as variables"
        >
          {formatBytes(others)} in other buffers
        </p>
      )}
    </>
  );
}
