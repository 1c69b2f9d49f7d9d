import { expect, test } from "vitest";
import { runLabels } from "./draw";
import { geometryOf } from "./geometry";

const grid = {
  title: "",
  tasks: ["w"],
  runs: ["train/2026_01_31", "b", "long"],
  run: Uint32Array.of(0, 0, 1, 2, 2, 2),
  step: Uint32Array.of(0, 1, 0, 0, 1, 2),
  group: Uint32Array.of(0, 0, 0, 1, 1, 1),
  metrics: [],
};
const TEN_EACH = (text: string) => 10 * [...text].length;

test("a run's name ends before the next run, with an ellipsis, and all runs with room have one", () => {
  const geometry = { ...geometryOf(grid, 400, 0), plot: { x: 0, y: 18, width: 300, height: 20 } };
  expect(runLabels(grid, { from: 0, to: 6 }, geometry, TEN_EACH)).toEqual([
    { x: 3, text: "train/20…" },
    { x: 103, text: "b" },
    { x: 153, text: "long" },
  ]);
  const texts = runLabels(
    grid,
    { from: 1, to: 6 },
    { ...geometry, plot: { ...geometry.plot, width: 60 } },
    TEN_EACH,
  );
  expect(texts.map(({ text }) => text)).toEqual(["", "", "lo…"]);
});
