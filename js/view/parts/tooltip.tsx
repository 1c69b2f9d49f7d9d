/** A short description of the item under the pointer. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { isolated } from "../../model/format/bidi";
import { formatBytes, formatCount, formatDuration, formatTime } from "../../model/format/units";
import { deviceName, kindOf, locationOf, nameOf, opOf, shortName } from "../../model/lanes/event_text";
import { NO_NAME } from "../../model/lanes/labels";
import type { Store } from "../../state/store";
import { useTopics } from "../../state/use_store";
import type { BarHover, Hover, TensorHover } from "../../state/view_state";
import { ScopedText } from "../../ui/scoped_text";
import {
  handedOn,
  inputsOf,
  lengthText,
  lifeText,
  makerOf,
  outputKind,
  outputOf,
  partText,
  sizeText,
} from "../details/tensor_texts";

interface TooltipProps {
  store: Store;
  /** The element it stays inside: the lanes with their labels and axes, or the graph. */
  main: HTMLElement;
  isInGraph?: boolean;
}

export function Tooltip({ store, main, isInGraph = false }: TooltipProps) {
  useTopics(store, ["hover"]);
  const box = useRef<HTMLDivElement>(null);
  const pointed = store.hover ?? store.tensor ?? store.bar;
  const place = Boolean(pointed?.isInGraph) === isInGraph ? pointed : null;
  const { hover, tensor, bar } = store;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !place) return;
    // Next to the pointer, on the side with room, never over the edge of the timeline.
    const left = isInGraph ? place.x : main.clientWidth - store.width + place.x;
    const lanes = main.querySelector<HTMLElement>("[data-part=lanes]");
    const top = isInGraph ? place.y : (lanes?.offsetTop ?? 0) + place.y;
    const flipX = left + 16 + element.offsetWidth > main.clientWidth - 8;
    const flipY = top + 18 + element.offsetHeight > main.clientHeight - 4;
    const x = flipX ? Math.max(4, left - 12 - element.offsetWidth) : left + 14;
    const y = flipY ? Math.max(4, top - 12 - element.offsetHeight) : top + 16;
    element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  });
  if (!place) return null;
  return (
    <div class="tooltip" ref={box} aria-hidden="true">
      {hover ? (
        <EventTip store={store} hover={hover} />
      ) : (
        (tensor && <TensorTip store={store} tensor={tensor} />) || (bar && <BarTip bar={bar} />)
      )}
      {place.count > 1 && (
        <p>
          {HAS_KERNEL && hover && store.drawn.rest
            ? `the longest of ${formatCount(place.count)} events; zoom in`
            : `and ${formatCount(place.count - 1)} more in this pixel; zoom in to separate them`}
        </p>
      )}
    </div>
  );
}

/** A name that is not longer than can be read. */
function TipName({ name }: { name: string }) {
  return (
    <b>
      <ScopedText text={name.length > 160 ? `${name.slice(0, 80)} … ${name.slice(-76)}` : name || NO_NAME} />
    </b>
  );
}

/** Inputs that are named, and the letters of each. */
const MAX_INPUTS = 3;
const INPUT_LETTERS = 48;
const MAX_LABEL = 160;

function shortInput(name: string): string {
  const short = shortName(name);
  return isolated(short.length > INPUT_LETTERS ? `…${short.slice(-INPUT_LETTERS)}` : short);
}

function EventTip({ store, hover: { id } }: { store: Store; hover: Hover }) {
  const { details, drawn } = store;
  const bytes = details?.bytes(id) ?? null;
  const source = details?.source(id);
  const destination = details?.destination(id);
  const waited = drawn.wait?.[id] ?? 0;
  const label = details?.label(id) ?? "";
  const inputs = inputsOf(store, id);
  return (
    <>
      <TipName name={nameOf(store.drawn, id)} />
      <p>
        <strong>{formatDuration(drawn.duration[id])}</strong>{" "}
        {isolated(opOf(store.drawn, id) || kindOf(store.drawn, id))} at {formatTime(drawn.start[id], 1000)} to{" "}
        {formatTime(store.end(id), 1000)}
      </p>
      {label && !source && !label.includes(" = ") && <p>{isolated(label.slice(0, MAX_LABEL))}</p>}
      {inputs.length > 0 && (
        <p>
          inputs{" "}
          {inputs
            .slice(0, MAX_INPUTS)
            .map(({ input, kind }) => `${shortInput(input)} ${kind}`.trimEnd())
            .join(", ")}
          {inputs.length > MAX_INPUTS && ` +${formatCount(inputs.length - MAX_INPUTS)}`}
        </p>
      )}
      {waited > 0 && (
        <p>
          waiting {formatDuration(waited)}
          {waited < drawn.duration[id] && `, moving ${formatDuration(drawn.duration[id] - waited)}`}
        </p>
      )}
      {(source || destination) && (
        <p>
          {source ? deviceName(source) : "?"} → {destination ? deviceName(destination) : "?"}
          {bytes !== null && `, ${formatBytes(bytes)}`}
        </p>
      )}
      <p>{locationOf(store.drawn, id)}</p>
    </>
  );
}

function BarTip({ bar: { track, at } }: { bar: BarHover }) {
  return (
    <>
      <TipName name={track.names[at] || track.name} />
      <p>
        <strong>{formatDuration(track.lengths[at])}</strong> at {formatTime(track.starts[at], 1000)}
      </p>
    </>
  );
}

/** Aliases that are named. */
const MAX_ALIASES = 3;

function TensorTip({ store, tensor }: { store: Store; tensor: TensorHover }) {
  const { track, at } = tensor;
  const output = outputOf(store, tensor);
  const aliases = handedOn(store, tensor, MAX_ALIASES);
  const maker = makerOf(store, tensor);
  const op = maker === null ? "" : opOf(store.run, maker);
  return (
    <>
      <TipName name={track.name(at)} />
      <p>
        <strong>{sizeText(tensor)}</strong>
        {output && ` ${outputKind(output)}`}
        {op && ` of ${isolated(op)}`}, {partText(store, tensor)}
      </p>
      <p>
        <strong>{lengthText(tensor)}</strong> {lifeText(tensor)}
      </p>
      {aliases && <p>{aliases}</p>}
    </>
  );
}
