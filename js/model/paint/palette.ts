/** The colours: hue by activity (or op type, or device), lightness by name. */

import { activities, changes, memory, parts } from "../../../tfvis_nb/core/palette.json";
import { activityIn } from "../lanes/event_text";
import { locationLabel } from "../lanes/labels";
import type { Drawn } from "../types";
import { digitlessHash } from "../wire/string_table";
import { contrast, fromOklch, lighten, mix, parseColour, type Rgb, toHex, toPixel } from "./colour";

export type Theme = "light" | "dark";
export type ColorBy = "kind" | "op" | "device";

export interface Paints {
  /** Colour number of each event, below 128; 128 more is the same colour dimmed. */
  colour: Uint8Array;
  /** Colour of each number. */
  css: string[];
  /** The readable text colour on each of them. */
  text: string[];
  legend: { label: string; css: string; activity?: string }[];
}

type Entry = { label: string } & Record<Theme, string>;

/** Entries by name: activities, other parts of a step, memory, and changes. */
const ENTRIES: ReadonlyMap<string, Entry> = new Map(
  Object.entries({ ...changes, ...memory, ...parts, ...activities }),
);
/** The activities of events: if several happen at the same time, the first one counts. */
export const ACTIVITIES = Object.keys(activities);
const UNKNOWN = activities.none;
/** Lightness by name, in OKLab: seen side by side, yet still the same hue. */
const VARIANTS = [-0.02, -0.01, 0, 0.01, 0.02];
const HUES = 23;
const MAX_LEGEND = 12;
const DIMMED_SHARE = 0.22;
/** The part of a pixel's column in which nothing ran: enough to see that there is an event. */
const FAINT_SHARE = 0.28;
/** Dark enough that either it or white is readable on any colour. */
const DARK_TEXT = "#000";

/** The colour of an activity; one that is not known looks like those in no activity. */
export function activityColour(name: string, theme: Theme): string {
  return (ENTRIES.get(name) ?? UNKNOWN)[theme];
}

export const SHADES = VARIANTS.length;

/** The shades of an activity's colour; each name has one of them. */
export function shadesOf(name: string, theme: Theme): string[] {
  const token = parseColour(activityColour(name, theme));
  return VARIANTS.map((by) => toHex(lighten(token, by)));
}

/** Name of an activity in a legend. */
export function activityLabel(name: string): string {
  return ENTRIES.get(name)?.label ?? name;
}

/** The index in `ACTIVITIES` of the activity of each category. */
export function activitiesOf(categories: readonly string[]): number[] {
  const none = ACTIVITIES.indexOf("none");
  return categories.map((category) => {
    const at = ACTIVITIES.indexOf(activityIn(category));
    return at < 0 ? none : at;
  });
}

/** The colour of the part of a transfer that waited. */
export function waitColour(theme: Theme): string {
  return theme === "light" ? "#cdbdeb" : "#54467a";
}

/** A colour number for every event, and the colour of each number. */
export function paints(drawn: Drawn, colorBy: ColorBy, theme: Theme): Paints {
  const { colour, css, legend } =
    colorBy === "kind"
      ? byKind(drawn, theme)
      : colorBy === "op"
        ? byOp(drawn, theme)
        : byDevice(drawn, theme);
  // What differs only by name has letters of one colour: side by side they would flicker.
  const alike = colorBy === "kind" ? VARIANTS.length : 1;
  const text = css.map((_, at) => {
    const first = at - (at % alike);
    return readable(css.slice(first, first + alike));
  });
  return { colour, css, text, legend };
}

/** The text colour that can be read best on all of some colours. */
export function readable(grounds: readonly string[]): string {
  const least = (text: Rgb) => Math.min(...grounds.map((ground) => contrast(parseColour(ground), text)));
  return least([255, 255, 255]) >= least(parseColour(DARK_TEXT)) ? "#fff" : DARK_TEXT;
}

/**
 * The pixels of 128 paints for an ImageData: each colour, from 128 on dimmed over the ground; from 256 on the same
 * again, faint.
 */
export function colourTable(css: string[], ground: string): Uint32Array {
  const table = new Uint32Array(2 * 256);
  const under = parseColour(ground);
  css.forEach((colour, paint) => {
    const full = parseColour(colour);
    const dimmed = mix(under, full, DIMMED_SHARE);
    [full, dimmed].forEach((shade, half) => {
      table[128 * half + paint] = toPixel(shade);
      table[256 + 128 * half + paint] = toPixel(mix(under, shade, FAINT_SHARE));
    });
  });
  return table;
}

type Unlettered = Omit<Paints, "text">;

function byKind(drawn: Drawn, theme: Theme): Unlettered {
  const { category, name, names, wait, duration } = drawn;
  const numbers = activitiesOf(drawn.categories);
  const css = ACTIVITIES.flatMap((key) => shadesOf(key, theme));
  // Bars too narrow for hatching must not look like work.
  const waits = css.push(waitColour(theme)) - 1;
  const variant = new Uint8Array(names.length);
  for (let id = 0; id < variant.length; id++) variant[id] = names.digitlessHash(id) % VARIANTS.length;
  const colour = new Uint8Array(drawn.count);
  const seen = new Uint8Array(ACTIVITIES.length);
  for (let id = 0; id < colour.length; id++) {
    const activity = numbers[category[id]];
    const isWait = wait?.[id] && wait[id] === duration[id];
    colour[id] = isWait ? waits : activity * VARIANTS.length + variant[name[id]];
    seen[activity] = 1;
  }
  const legend = ACTIVITIES.filter((_, index) => seen[index] === 1).map((activity) => ({
    label: activityLabel(activity),
    css: activityColour(activity, theme),
    activity,
  }));
  return { colour, css, legend };
}

/** An op type keeps the hue of its name; of two that share one, the one with more time in the trace does. */
function byOp(drawn: Drawn, theme: Theme): Unlettered {
  const css = wheel(theme);
  const total = new Float64Array(drawn.ops.length);
  for (let id = 0; id < drawn.count; id++) total[drawn.op[id]] += drawn.duration[id];
  const order = drawn.ops.map((_, op) => op).sort((a, b) => total[b] - total[a]);
  const taken = new Set<number>();
  const hue = new Uint8Array(drawn.ops.length);
  for (const op of order) {
    let index = digitlessHash(drawn.ops[op]) % HUES;
    // With every hue in use, sharing one cannot be helped.
    while (taken.has(index) && taken.size < HUES) index = (index + 1) % HUES;
    taken.add(index);
    hue[op] = index;
  }
  const colour = new Uint8Array(drawn.count);
  for (let id = 0; id < colour.length; id++) colour[id] = hue[drawn.op[id]];
  const legend = order.slice(0, MAX_LEGEND).map((op) => ({ label: drawn.ops[op], css: css[hue[op]] }));
  return { colour, css, legend };
}

function byDevice(drawn: Drawn, theme: Theme): Unlettered {
  const css = wheel(theme);
  const hueOf = new Map<string, number>();
  const legend: Paints["legend"] = [];
  const hue = drawn.lanes.map((lane) => {
    const key = `${lane.task}\0${lane.device}`;
    let index = hueOf.get(key);
    if (index === undefined) {
      // Steps of 7 through 23 hues keep neighbouring devices apart.
      index = (hueOf.size * 7) % HUES;
      hueOf.set(key, index);
      legend.push({ label: locationLabel(lane.task, lane.device), css: css[index] });
    }
    return index;
  });
  const colour = new Uint8Array(drawn.count);
  for (let id = 0; id < colour.length; id++) colour[id] = hue[drawn.lane[id]];
  return { colour, css, legend };
}

/** 23 hues whose neighbours also differ in lightness, which is what colour-blind eyes go by. */
function wheel(theme: Theme): string[] {
  const lightness = theme === "light" ? [0.48, 0.56, 0.64] : [0.58, 0.69, 0.8];
  return Array.from(
    { length: HUES },
    (_, i): Rgb => fromOklch(lightness[i % 3], 0.115, (i * 360) / HUES + 20),
  ).map(toHex);
}
