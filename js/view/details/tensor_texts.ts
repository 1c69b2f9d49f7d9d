/** Texts about a buffer in memory. */

import { isolated } from "../../model/format/bidi";
import { formatBytes, formatCount, formatDuration, formatNumber, formatTime } from "../../model/format/units";
import { inputsIn, nameOf } from "../../model/lanes/event_text";
import { NO_NAME } from "../../model/lanes/labels";
import { entryOfEvent } from "../../model/lod/merged";
import type { Output } from "../../model/wire/records";
import type { Store } from "../../state/store";
import { endOf, type Tensor } from "../../state/tensors";

/** Resolution of most records. */
const RESOLUTION_NS = 1000;

export const ESTIMATED =
  "Lifetimes are estimated, because no allocations were recorded: from the start of the op to the end of the last op that reads its output";

/** Its allocation and its free. */
export function lifeText(tensor: Tensor): string {
  const { track, at } = tensor;
  const from = `${track.estimated ? "estimated: " : ""}allocated at ${formatTime(track.starts[at], RESOLUTION_NS)}`;
  return track.outlives(at)
    ? `${from}, not freed`
    : `${from}, freed at ${formatTime(endOf(tensor), RESOLUTION_NS)}`;
}

/** How long it lived. */
export function lengthText({ track, at }: Tensor): string {
  return track.outlives(at) ? "not freed" : formatDuration(track.lengths[at] * track.unit);
}

/** Its allocated bytes, and the bytes requested by its op if the texts differ. */
export function sizeText({ track, at }: Tensor): string {
  const [allocated, requested] = [0, track.excess[at]].map((excess) => formatBytes(track.sizes[at] - excess));
  return requested === allocated ? allocated : `${allocated} (${requested} requested)`;
}

export function tensorSentence(tensor: Tensor): string {
  const { track, at } = tensor;
  const name = isolated(track.name(at) || NO_NAME);
  return `${name}, ${sizeText(tensor)}, ${lifeText(tensor)}`;
}

/** The place of the event that allocated it; null where that is not here. */
export function makerOf(store: Store, { track, at }: Tensor): number | null {
  return track.events[at] === 0 ? null : entryOfEvent(store.run, track.events[at] - 1);
}

/** The output allocated in this buffer; null if it is not an output, or not here. */
export function outputOf(store: Store, { track, at }: Tensor): Output | null {
  const maker = makerOf(store, { track, at });
  if (track.role(at) !== "output" || maker === null || !store.details) return null;
  const [node, name] = [nameOf(store.run, maker), track.name(at)];
  const slot = name === node ? 0 : Number(name.slice(node.length + 1));
  return store.details.outputs(maker).find((output) => output.slot === slot) ?? null;
}

/** Such as "float32 [32, 10]". */
export function outputKind({ dtype, shape }: Output): string {
  return `${isolated(dtype)} ${isolated(shape)}`;
}

/** The inputs in an event's label, each with what its producer recorded about it: type and shape, or "". */
export function inputsOf({ drawn, details }: Store, id: number): { input: string; kind: string }[] {
  const producers = details?.inputs(id) ?? [];
  return inputsIn(details?.label(id) ?? "").map((input) => {
    const [name, slot = 0] = input.split(":");
    const producer = producers.find(({ event }) => nameOf(drawn, event) === name);
    const output = producer && details?.outputs(producer.event).find((each) => each.slot === Number(slot));
    return { input, kind: output ? outputKind(output) : "" };
  });
}

/** Its role among the buffers of its op. */
export function partText(store: Store, tensor: Tensor): string {
  const role = tensor.track.role(tensor.at);
  const output = outputOf(store, tensor);
  return output ? `output ${output.slot}` : role;
}

/** The names of the other outputs that took over its buffer, if loaded. */
export function aliasNames(store: Store, { track, at }: Tensor): string[] {
  return track.aliases(at).flatMap(({ event, slot }) => {
    const heir = entryOfEvent(store.run, event);
    return heir === null ? [] : [nameOf(store.run, heir) + (slot ? `:${slot}` : "")];
  });
}

/** "handed on to a, b and 3 more", with this many names at most; "" for one that was not. */
export function handedOn(store: Store, tensor: Tensor, most: number): string {
  const count = tensor.track.aliases(tensor.at).length;
  if (count === 0) return "";
  const names = aliasNames(store, tensor).slice(0, most);
  if (names.length === 0) return `handed on to ${formatNumber(count, "output")}`;
  const rest = count - names.length;
  return `handed on to ${names.map(isolated).join(", ")}${rest > 0 ? ` and ${formatCount(rest)} more` : ""}`;
}
