import { expect, it } from "vitest";
import { openContainer } from "./container";
import { stepBarsOf } from "./step_parts";
import { gzip, type Planned, writeContainer } from "./testing/write_container";

const f64 = (...values: number[]): Planned => ({ encoding: "shuffle", values: Float64Array.from(values) });
const open = async (header: Record<string, unknown>, columns: Record<string, Planned>) =>
  openContainer(await gzip(writeContainer(header, columns)));

it("gives each task's parts of a step, without empty ones", async () => {
  const container = await open(
    { parts: ["launch", "idle"], parts_tasks: ["ps 0", "worker 0"] },
    {
      parts_step: f64(4, 4, 7),
      parts_task: { encoding: "shuffle", values: Uint16Array.of(0, 1, 1) },
      parts_total: f64(100, 100, 50),
      parts_ns: f64(25, 75, 0, 100, 50, 0),
    },
  );
  expect(stepBarsOf(container, 4)).toEqual([
    {
      label: "Step by main activity, ps 0",
      parts: [
        { name: "launch", ns: 25, share: 0.25 },
        { name: "idle", ns: 75, share: 0.75 },
      ],
    },
    { label: "Step by main activity, worker 0", parts: [{ name: "idle", ns: 100, share: 1 }] },
  ]);
  expect(stepBarsOf(container, 7)[0].parts).toEqual([{ name: "launch", ns: 50, share: 1 }]);
  expect(stepBarsOf(container, 5)).toEqual([]);
});

it("is empty for a trace whose steps were not sent", async () => {
  expect(stepBarsOf(await open({}, {}), 0)).toEqual([]);
});
