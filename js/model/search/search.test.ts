import { describe, expect, it } from "vitest";
import { AlignedSteps } from "../lanes/aligned_steps";
import type { Drawn } from "../types";
import type { Details } from "../wire/details";
import { type Made, makeDrawn, makeLane, makeStrings, randomNumbers } from "../wire/testing/synthetic";
import { parseQuery, unknownFilters } from "./query";
import { type Found, knownCount, matchAt, placeOf, search } from "./search";

const made: Made[] = [
  { start: 0, duration: 5e6, name: "tower/MatMul", op: "MatMul", lane: 0 },
  { start: 1, duration: 3000, name: "tower/matmul_1", op: "Conv2D", lane: 1, category: 1 },
  { start: 2, duration: 9000, name: "edge_7_w", op: "RecvTensor", lane: 2, category: 6, step: 1 },
  { start: 3, duration: 0, name: "Add", op: "AddV2", lane: 0, step: 1 },
];
const lanes = [
  { ...makeLane("ops"), kind: "op" },
  { ...makeLane("stream:13"), kind: "kernel" },
  { ...makeLane("recv", "/job:ps/replica:0/task:4/device:CPU:0"), kind: "transfer" },
];
const drawn = makeDrawn(made, lanes);

function found(text: string, step: number | null = null, details: Details | null = null): number[] {
  return [...search(drawn, details, text, step).ids];
}

describe("search", () => {
  it("keeps to a step and marks its matches", () => {
    expect(found("tensor", 1)).toEqual([2]);
    expect(found("tensor", 0)).toEqual([]);
    expect(search(drawn, null, "tower", null).mask).toEqual(Uint8Array.of(1, 1, 0, 0));
    const single = { ...drawn, step: null };
    expect([0, 1].map((step) => search(single, null, "tower", step).ids.length)).toEqual([2, 0]);
  });

  it("looks at tensor names once the details are there", () => {
    const strings = makeStrings(["", "gradients/loss"]);
    const details = {
      strings,
      tensorIds: Uint32Array.of(0, 0, 1, 0),
      labelIds: new Uint32Array(4),
    } as unknown as Details;
    expect(found("loss")).toEqual([]);
    expect(found("loss", null, details)).toEqual([2]);
    expect(found("name:loss", null, details)).toEqual([]);
  });

  it.each([
    ["ASCII names", ["a", "b", "A", "ab", "/"]],
    ["names of all kinds", ["a", "b", "é", "😀", "İ", "/"]],
  ])("agrees with a look at every event, with %s", (_, alphabet) => {
    const random = randomNumbers(8);
    const word = (most: number) =>
      Array.from({ length: random() * most }, () => alphabet[Math.floor(random() * alphabet.length)]).join(
        "",
      );
    const events = Array.from({ length: 400 }, (_, start) => ({ start, name: word(8), op: word(3) }));
    const some: Drawn = makeDrawn(events, [makeLane("z")]);
    for (let n = 0; n < 100; n++) {
      const text = `${word(3)}a`;
      const wanted = events.flatMap(({ name, op }, id) =>
        name.toLowerCase().includes(text.toLowerCase()) || op.toLowerCase().includes(text.toLowerCase())
          ? [id]
          : [],
      );
      // The device of the lane has an "a" in it too.
      const inLane = "/job:localhost/replica:0/task:0/device:gpu:0 z".includes(text.toLowerCase());
      expect([...search(some, null, text, null).ids]).toEqual(inLane ? events.map((_, id) => id) : wanted);
    }
  });
});

it("goes through the listed matches first, then through the others by start", () => {
  // Of very many matches only the first ids are known.
  const longest = [7, 2, 30].map((event) => ({ event }) as Found);
  const matches = { ids: Uint32Array.of(1, 2, 5, 7, 9), longest };
  const order = [7, 2, 30, 1, 5, 9];
  expect(knownCount(matches)).toBe(6);
  expect(order.map((_, place) => matchAt(matches, place))).toEqual(order);
  expect(order.map((event) => placeOf(matches, event))).toEqual([0, 1, 2, 3, 4, 5]);
  expect([0, 6, 31, -1].map((event) => placeOf(matches, event))).toEqual([-1, -1, -1, -1]);
});

describe("search by field", () => {
  it("finds events on the critical path, once that is known", () => {
    const onPath = { waiting: { onPath: () => Uint8Array.of(1, 0, 1, 0) } } as unknown as Details;
    const strings = {
      strings: makeStrings([""]),
      tensorIds: new Uint32Array(4),
      labelIds: new Uint32Array(4),
    };
    const details = { ...strings, ...onPath } as Details;
    expect(found("is:critical", null, details)).toEqual([0, 2]);
    expect(found("is:crit recv", null, details)).toEqual([2]);
    expect(found("is:critical", 1, details)).toEqual([2]);
    expect(found("is:other", null, details)).toEqual([]);
    expect(found("is:critical")).toEqual([]);
    expect(found("is: matmul", null, details)).toEqual([0, 1]);
  });
});

describe("unknownFilters", () => {
  it("names unreadable values and words that only look like filters", () => {
    expect(unknownFilters(parseQuery('step:x foo:bar op:MatMul -bytes:many stream:13 "a b:c"'))).toEqual({
      unread: ["step:x", "bytes:many"],
      unnamed: ["foo:", "stream:"],
    });
  });
});

it("lists the longest first, and of equal ones the earlier", () => {
  const many = Array.from({ length: 3000 }, (_, start) => ({ start, duration: start % 1000 }));
  const { longest, total } = search(makeDrawn(many), null, "stream", null);
  expect(longest.length).toBe(50);
  expect(longest.slice(0, 4).map(({ event }) => event)).toEqual([999, 1999, 2999, 998]);
  expect(total).toBe(3 * 499_500);
});

it("counts time once in which several of the events run, in aligned steps once for each", () => {
  const drawn = makeDrawn([
    { start: 0, duration: 10 },
    { start: 2, duration: 3, lane: 1 },
    { start: 8, duration: 6, lane: 1 },
    { start: 20, duration: 1 },
  ]);
  expect(search(drawn, null, "", null).busy).toBe(0);
  expect(search(drawn, null, "dur:>0ns", null)).toMatchObject({ total: 20, busy: 15 });
  const lanes = drawn.lanes.map((lane) => ({ ...lane, task: `step ${lane.id}` }));
  expect(search({ ...drawn, lanes, isAligned: true }, null, "dur:>0ns", null).busy).toBe(20);
});

it("finds steps even if they are aligned", () => {
  const aligned = new AlignedSteps(drawn).drawn;
  expect([...search(aligned, null, "step:1", null).ids]).toEqual([2, 3]);
});
