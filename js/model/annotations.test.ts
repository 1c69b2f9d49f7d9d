import { describe, expect, it } from "vitest";
import { type Annotation, annotationsWith, placeFlags } from "./annotations";

function made(name: string, start: number, end = start, more: Partial<Annotation> = {}): Annotation {
  const rest = { lanes: null, event: null, event_name: "", text: "" };
  return { id: name, kind: end > start ? "range" : "mark", name, start, end, ...rest, ...more };
}

const view = { start: 100, end: 200 };
const placed = (annotations: Annotation[]) =>
  placeFlags(annotations, view, 1000).map(({ x, room, annotations: each }) => [
    x,
    room,
    each.map(({ name }) => name).join(),
  ]);

describe("placeFlags", () => {
  it("gives each the room up to the next one", () => {
    expect(placed([made("b", 150), made("a", 110)])).toEqual([
      [100, 396, "a"],
      [500, 500, "b"],
    ]);
  });

  it("omits annotations outside the view, and clips overlapping ones at the edge", () => {
    expect(placed([made("before", 20, 90), made("into", 20, 120), made("after", 201)])).toEqual([
      [0, 1000, "into"],
    ]);
  });

  it("joins annotations that would overlap, even if several start before the view", () => {
    expect(placed([made("a", 110), made("b", 111), made("c", 114)])).toEqual([
      [100, 36, "a,b"],
      [140, 860, "c"],
    ]);
    expect(placed([made("a", 5, 150), made("b", 6, 150)])).toEqual([[0, 1000, "a,b"]]);
  });

  it("keeps the last one inside", () => {
    expect(placed([made("a", 200)])).toEqual([[964, 36, "a"]]);
    expect(placed([made("a", 194), made("b", 200)])).toEqual([[940, 60, "a,b"]]);
  });
});

describe("annotationsWith", () => {
  const all = [made("Slow copy", 1), made("fine", 2, 2, { text: "not SLOW", event_name: "grad/MatMul" })];
  const found = (query: string) => annotationsWith(all, query).map(({ name }) => name);

  it("looks into names, comments and events", () => {
    expect(found("slow")).toEqual(["Slow copy", "fine"]);
    expect(found("slow matmul")).toEqual(["fine"]);
    expect(found('"slow copy"|nothing')).toEqual(["Slow copy"]);
    expect(found("slow -copy")).toEqual(["fine"]);
  });

  it("finds none for filters of events", () => {
    for (const query of ["", "op:MatMul", ">5ms", "slow step:3"]) expect(found(query)).toEqual([]);
  });
});
