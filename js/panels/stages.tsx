/** The stages of tf.data pipelines as boxes: each below the one that takes its elements, as wide as its self time. */

import { useState } from "preact/hooks";
import type { LinkMessage } from "../host/channel";
import { formatCount, formatDuration } from "../model/format/units";
import { activityColour } from "../model/paint/palette";
import { BlockHead, CannotSay } from "../ui/block_head";
import { moveAmongRows } from "../ui/row_keys";
import type { Stage, StagesBlock } from "./blocks";

/** Deeper stages are no further in. */
const MOST_INDENTS = 16;

interface StagesProps {
  block: StagesBlock;
  publish: (message: LinkMessage) => void;
}

export function Stages({ block, publish }: StagesProps) {
  const { title, definition, cannot_say, stages } = block;
  const [current, setCurrent] = useState(0);
  const longest = Math.max(...stages.map(({ self_ns }) => self_ns), 1);
  const indents = ({ depth }: Stage) => Math.min(depth, MOST_INDENTS);
  const most = Math.max(...stages.map(indents), 0);
  const show = ({ zoom }: Stage) => zoom && publish({ kind: "select", ...zoom });
  return (
    <section class="block stages">
      <BlockHead title={title} definition={definition} />
      {cannot_say ? (
        <CannotSay reason={cannot_say} />
      ) : (
        <ol aria-label={title} onKeyDown={(event) => moveAmongRows(event, setCurrent)}>
          {stages.map((stage, at) => (
            <li
              key={at}
              data-below={stage.consumer === null ? undefined : ""}
              style={{
                "--in": indents(stage),
                "--out": most - indents(stage),
                "--up": stage.consumer === null ? 0 : at - stage.consumer,
              }}
            >
              <button
                type="button"
                data-row={at}
                tabIndex={at === current ? 0 : -1}
                data-awaits={stage.colour === "idle" || undefined}
                data-bottleneck={stage.is_bottleneck || undefined}
                onFocus={() => setCurrent(at)}
                onClick={() => show(stage)}
              >
                <i
                  aria-hidden="true"
                  style={{ width: `${(100 * stage.self_ns) / longest}%`, background: colourOf(stage) }}
                />
                <b>{stage.label}</b> <span>{formatDuration(stage.self_ns)}</span>{" "}
                <small>{figuresOf(stage)}</small>
                {stage.is_bottleneck && <em>bottleneck</em>}
              </button>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function colourOf({ colour }: Stage): string {
  return `light-dark(${activityColour(colour, "light")}, ${activityColour(colour, "dark")})`;
}

function figuresOf({ calls, mean_ns, empty }: Stage): string {
  const each = `${formatCount(calls)} × ${formatDuration(mean_ns)}`;
  return empty === null ? each : `${each}, empty at ${formatCount(empty)} of ${formatCount(calls)}`;
}
