/** Seeded made-up traces, for tests and benchmarks: the same numbers on every machine. */
import palette from "../../../../tfvis_nb/core/palette.json";
import type { Drawn, Lane, Step } from "../../types";
import { Strings } from "../string_table";

/** Uniform numbers in [0, 1) (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One event of a made-up trace; omitted fields are 0 or "". */
export interface Made {
  start: number;
  duration?: number;
  name?: string;
  op?: string;
  lane?: number;
  step?: number;
  category?: number;
}

export const CATEGORIES = palette.categories;

export function makeStrings(texts: readonly string[]): Strings {
  const parts = texts.map((text) => new TextEncoder().encode(text));
  const offsets = new Uint32Array(texts.length + 1);
  parts.forEach((part, i) => {
    offsets[i + 1] = offsets[i] + part.length;
  });
  const bytes = new Uint8Array(offsets[texts.length]);
  parts.forEach((part, i) => {
    bytes.set(part, offsets[i]);
  });
  return new Strings(bytes, offsets);
}

export function makeLane(
  lane: string,
  device = "/job:localhost/replica:0/task:0/device:GPU:0",
): Omit<Lane, "id"> {
  return { task: device.replace(/\/device:.*$/, ""), device, lane, kind: "op", events: 0 };
}

/** A trace of these events (in any order), on these lanes; without lanes as many of them as the events name. */
export function makeDrawn(made: readonly Made[], lanes?: readonly Omit<Lane, "id">[]): Drawn {
  const events = [...made].sort((a, b) => a.start - b.start || (b.duration ?? 0) - (a.duration ?? 0));
  const count = Math.max(1, ...unique(events.map((event) => (event.lane ?? 0) + 1)));
  const described = lanes ?? Array.from({ length: count }, (_, i) => makeLane(`stream:${i}`));
  const names = unique(events.map((event) => event.name ?? ""));
  const ops = unique(events.map((event) => event.op ?? ""));
  const namePlaces = new Map(names.map((name, index) => [name, index]));
  const opPlaces = new Map(ops.map((op, index) => [op, index]));
  const start = Float64Array.from(events, (event) => event.start);
  const duration = Float64Array.from(events, (event) => event.duration ?? 0);
  const steps = unique(events.map((event) => event.step ?? 0)).sort((a, b) => a - b);
  return {
    title: "made up",
    count: events.length,
    originNs: 1_700_000_000_000_000_000n,
    span: start.reduce((latest, time, id) => Math.max(latest, time + duration[id]), 0),
    lanes: described.map((lane, id) => ({ ...lane, id })),
    steps: steps.map((step): Step => ({ step, start: 0, end: 0, events: 0 })),
    notes: [],
    categories: CATEGORIES,
    ops,
    start,
    duration,
    name: Uint32Array.from(events, (event) => namePlaces.get(event.name ?? "") ?? 0),
    op: Uint16Array.from(events, (event) => opPlaces.get(event.op ?? "") ?? 0),
    lane: Uint16Array.from(events, (event) => event.lane ?? 0),
    step: steps.length < 2 ? null : Uint16Array.from(events, (event) => steps.indexOf(event.step ?? 0)),
    category: Uint8Array.from(events, (event) => event.category ?? 0),
    names: makeStrings(names),
    merged: null,
  };
}

/**
 * `count` events in bursts on `lanes` lanes whose events do not overlap within
 * a lane: mostly microseconds long, a few a thousand times that, some with no length.
 */
export function makeBursts(count: number, lanes: number, seed: number): Drawn {
  const random = randomNumbers(seed);
  const free = new Float64Array(lanes);
  const events: Made[] = [];
  for (let i = 0; i < count; i++) {
    const lane = Math.floor(random() * lanes);
    const kind = random();
    const gap = kind < 0.9 ? random() * 500 : kind < 0.99 ? random() * 20_000 : random() * 2_000_000;
    const length = random() < 0.02 ? 0 : 200 * Math.exp(random() * random() * 9);
    const start = free[lane] + 1 + Math.floor(gap);
    const duration = Math.floor(length);
    free[lane] = start + duration;
    const name = `gradients/layer_${Math.floor(random() ** 3 * 20_000)}/MatMul_grad/MatMul`;
    const op = `Op${Math.floor(random() ** 2 * 60)}`;
    events.push({ start, duration, name, op, lane, category: lane % CATEGORIES.length });
  }
  return makeDrawn(events);
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
