/** What Python and the front end both do: the cases of tests/data/conformance, which tests/test_conformance.py runs too. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import made from "../../tests/data/conformance/events.json";
import names from "../../tests/data/conformance/lanes.json";
import many from "../../tests/data/conformance/many.json";
import numbers from "../../tests/data/conformance/numbers.json";
import queries from "../../tests/data/conformance/queries.json";
import packed from "../../tests/data/conformance/rows.json";
import axes from "../../tests/data/conformance/ticks.json";
import { formatAmount } from "./format/amounts";
import { eventsCsv } from "./format/events_csv";
import { ticks } from "./format/ticks";
import {
  formatBandwidth,
  formatBytes,
  formatCount,
  formatDuration,
  formatOperations,
  formatPercent,
  formatRatio,
} from "./format/units";
import { deviceLocation, laneLabel, laneName, matchesLane, taskLabel } from "./lanes/labels";
import { packLanes } from "./lod/rows";
import { parseQuery } from "./search/query";
import { type By, rangeStatistics } from "./search/range_statistics";
import { search } from "./search/search";
import type { Details } from "./wire/details";
import { CATEGORIES, makeDrawn, makeLane, makeStrings } from "./wire/testing/synthetic";

const FORMATS = {
  durations: formatDuration,
  bytes: formatBytes,
  rates: formatBandwidth,
  operations: formatOperations,
  percents: formatPercent,
  ratios: formatRatio,
  counts: formatCount,
};

it.each(numbers.amounts as [[number | null, string], string][])("%j is %s", ([value, unit], text) => {
  expect(formatAmount(value ?? Number.NaN, unit)).toBe(text);
});

describe.each(Object.keys(FORMATS) as (keyof typeof FORMATS)[])("%s", (kind) => {
  it.each(numbers[kind] as [number | null, string][])("%d is %s", (value, text) => {
    expect(FORMATS[kind](value ?? Number.NaN)).toBe(text);
  });
});

const LABELS = { tasks: taskLabel, devices: deviceLocation, lanes: laneName };

describe.each(Object.keys(LABELS) as (keyof typeof LABELS)[])("%s", (kind) => {
  it.each(names[kind])("%s is called %s", (name, label) => {
    expect(LABELS[kind](name)).toBe(label);
  });
});

describe("lanes", () => {
  const lane = ([task, device, name]: string[]) => ({ task, device, lane: name });

  it.each(names.labels as [string[], string][])("%j is called %s", (called, label) => {
    expect(laneLabel(lane(called))).toBe(label);
  });

  it.each(names.matches as [string[], string, boolean][])("%j matches %j: %s", (called, text, matches) => {
    expect(matchesLane(lane(called), text.split(/\s+/).filter(Boolean))).toBe(matches);
  });
});

type Described =
  | { bound: string; of: string; value: number }
  | { steps: [number, number] }
  | { lines: [number, number] }
  | { unread: string }
  | { field: string; text: string };
type Expected = Described | { any: Described[] } | { not: Described[] };

function termOf(described: Described): object {
  if ("bound" in described) {
    const { bound, of, value } = described;
    return { type: "bound", of, longer: bound[0] === ">", inclusive: bound.endsWith("="), value };
  }
  if ("steps" in described) return { type: "steps", first: described.steps[0], last: described.steps[1] };
  if ("lines" in described) return { type: "lines", first: described.lines[0], last: described.lines[1] };
  if ("unread" in described) return { type: "unread", word: described.unread };
  return { type: "text", ...described };
}

it.each(queries.queries as unknown as [string, Expected[]][])("the query %j is read", (text, clauses) => {
  expect(parseQuery(text)).toEqual(
    clauses.map((clause) => {
      const terms = "any" in clause ? clause.any : "not" in clause ? clause.not : [clause];
      return { terms: terms.map(termOf), negated: "not" in clause };
    }),
  );
});

type Asked = { start: number; end: number; lanes: string[] | null; step: number | null; by: By };
interface Event {
  start: number;
  duration: number;
  name: string;
  op: string;
  kind: string;
  lane: string;
  device: string;
  step: number;
  category: string;
  code?: (string | number)[];
}

function drawnOf(events: Event[]) {
  const placeOf = ({ device, lane }: Event) => `${device}\0${lane}`;
  const places = [...new Set(events.map(placeOf))];
  const lanes = places.map((place) => {
    const { lane, device, kind } = events.find((event) => placeOf(event) === place)!;
    return { ...makeLane(lane, device), kind };
  });
  return makeDrawn(
    events.map((event) => ({
      ...event,
      lane: places.indexOf(placeOf(event)),
      category: CATEGORIES.indexOf(event.category),
    })),
    lanes,
  );
}

describe.each([made, many] as { events: Event[]; ranges: unknown }[])("the ranges", ({ events, ranges }) => {
  const drawn = drawnOf(events);

  it.each(ranges as [Asked, object][])("of %j are summed up", (asked, expected) => {
    const ids = drawn.lanes.filter(({ lane }) => asked.lanes?.includes(lane)).map(({ id }) => id);
    const { rows, ...sums } = rangeStatistics(
      drawn,
      { ...asked, lanes: asked.lanes && ids },
      asked.by,
      (id) => (events[id].code?.[1] ? (events[id].code?.join(":") ?? "") : ""),
    );
    const named = rows.map((row) => ({ ...row, category: CATEGORIES[row.category] }));
    expect({ ...sums, rows: named }).toEqual(expected);
  });
});

describe("the events", () => {
  const { events } = made;
  const drawn = drawnOf(events);
  const tensors = events.map((event) => event.tensor ?? "");
  const strings = makeStrings(["", ...tensors, ...events.map((event) => event.detail ?? "")]);
  const details = {
    strings,
    tensorIds: Uint32Array.from(events, (_, id) => id + 1),
    labelIds: Uint32Array.from(events, (_, id) => events.length + id + 1),
    bytes: (id: number) => events[id].bytes ?? null,
    source: (id: number) => events[id].source ?? null,
    destination: (id: number) => events[id].destination ?? null,
    ownFrame: (id: number) => {
      const [name, line] = events[id].code ?? [];
      return name === undefined ? null : { file: { name }, line };
    },
    tensor: (id: number) => events[id].tensor ?? null,
  } as unknown as Details;

  it.each(made.found as [string, number[]][])("that %j finds are %j", (text, ids) => {
    expect([...search(drawn, details, text, null).ids]).toEqual(ids);
  });

  it.each(made.longest as [string, number, number, number[]][])(
    "that %j finds take %d",
    (text, total, busy, ids) => {
      const matches = search(drawn, details, text, null);
      const listed = matches.longest.map(({ event }) => event);
      expect([matches.total, matches.busy, listed]).toEqual([total, busy, ids]);
    },
  );

  it("are written as CSV", () => {
    const file = readFileSync("tests/data/conformance/events.csv", "utf8");
    expect(eventsCsv(drawn, details, events.keys())).toBe(file);
  });
});

it.each(packed.cases as [number[][], number[]][])("the bars %j are in the rows %j", (bars, rows) => {
  const drawn = makeDrawn(bars.map(([start, duration]) => ({ start, duration })));
  const rowOf = bars.map(() => -1);
  for (const row of packLanes(drawn, null)[0]) for (const id of row.ids) rowOf[id] = row.index;
  expect(rowOf).toEqual(rows);
});

it.each(axes.cases as [number[], [number, string][]][])("the axis %j has these ticks", (axis, expected) => {
  const [start, end, width] = axis;
  const found = ticks({ start, end }, width, axes.apart[0]);
  expect(found.ticks.map(({ time, label }) => [time, label])).toEqual(expected);
});
