import { beforeAll, describe, expect, it } from "vitest";
import type { Drawn } from "../types";
import { type Container, openContainer } from "./container";
import { gzip, type Planned, writeContainer } from "./testing/write_container";
import { sums, Waiting } from "./waiting";

const TASK = "/job:worker/replica:0/task:0";
const lane = (kind: string, device: string, id = 0) => ({
  id,
  task: TASK,
  device: `${TASK}/device:${device}`,
  lane: kind,
  kind,
  events: 1,
});
const [ops, kernels, recv, host] = [
  lane("op", "GPU:0"),
  lane("kernel", "GPU:0"),
  lane("transfer", "GPU:0"),
  lane("op", "CPU:0"),
];

// Events 0 to 3 are rows 2, 0, 3, 1 of the columns.
const rows = Uint32Array.of(2, 0, 3, 1);
const header = {
  path: [
    ["launch", "Launching."],
    ["queueing", "Waiting."],
  ],
  path_runs: 1,
  idle: [
    ["input", "No batch."],
    ["host", "Python."],
  ],
  idle_places: [
    [TASK, `${TASK}/device:GPU:0`],
    [TASK, `${TASK}/device:CPU:0`],
  ],
};
const u32 = (...values: number[]): Planned => ({ encoding: "shuffle", values: Uint32Array.of(...values) });
const u8 = (...values: number[]): Planned => ({ encoding: "plain", values: Uint8Array.of(...values) });
const columns: Record<string, Planned> = {
  // Of rows 2, 0 and 0: event 0 ran from 0 to 30, event 1 waited to 40, and ran to 60. Another step begins at 100.
  path_gap: u32(0, 0, 0, 80),
  path_length: u32(30, 10, 20, 5),
  path_row: u32(4, 3, 0, 6),
  path_kind: u8(0, 1, 0, 0),
  // On the GPU from 10 to 30 and on to 35, and from 50 to 70; on the CPU from 5 to 9, for an event that is not here.
  idle_gap: u32(20, 0, 30, 129),
  idle_length: u32(20, 5, 20, 4),
  idle_row: u32(0, 2, 4, 7),
  idle_kind: u8(0, 1, 1, 1),
  idle_place: { encoding: "shuffle", values: Uint16Array.of(0, 0, 0, 1) },
};

async function opened(
  described: Record<string, unknown>,
  planned: Record<string, Planned>,
): Promise<Container> {
  return openContainer(await gzip(writeContainer(described, planned)));
}

let waiting: Waiting;
beforeAll(async () => {
  waiting = new Waiting(await opened(header, columns), rows);
});

describe("Waiting", () => {
  it("reads the pieces of paths in the order of time", () => {
    const { path } = waiting;
    expect([...(path?.start ?? [])]).toEqual([0, 30, 40, 100]);
    expect([...(path?.end ?? [])]).toEqual([30, 40, 60, 105]);
    expect([...(path?.event ?? [])]).toEqual([0, 1, 1, 2]);
  });

  it("has events that ran on the path, not events that only waited", () => {
    expect([...waiting.onPath(4)]).toEqual([1, 1, 1, 0]);
  });

  it("has -1 for an event that is not here", () => {
    expect([...(waiting.idle?.event ?? [])]).toEqual([1, 3, 2, -1]);
  });

  it("finds the whole idle stretch around a time, whatever its causes", () => {
    expect(waiting.stretch(kernels, 12)).toEqual({ start: 10, end: 35 });
    expect(waiting.stretch(kernels, 34)).toEqual({ start: 10, end: 35 });
    expect(waiting.stretch(kernels, 50)).toEqual({ start: 50, end: 70 });
  });

  it("finds no stretch while the device is busy, or in a lane of launches", () => {
    expect(waiting.stretch(kernels, 40)).toBeNull();
    expect(waiting.stretch(ops, 12)).toBeNull();
    expect(waiting.stretch(recv, 12)).toBeNull();
    expect(waiting.stretch(host, 12)).toBeNull();
  });

  it("finds the event of the device that ends an idle stretch", () => {
    const start = Float64Array.of(10, 35, 35, 50);
    const drawn = { start, lane: Uint16Array.of(0, 0, 1, 1), lanes: [ops, kernels] } as unknown as Drawn;
    expect([0, 1, 2].map((at) => waiting.endedBy(at, drawn))).toEqual([2, 2, -1]);
  });

  it("is empty if nothing was sent", async () => {
    const none = new Waiting(await opened({}, {}), rows);
    expect([none.path, none.idle, none.stretch(kernels, 12)]).toEqual([null, null, null]);
    expect([...none.onPath(4)]).toEqual([0, 0, 0, 0]);
  });
});

describe("sums", () => {
  it("adds up pieces by kind, cut to a range, the longest first", () => {
    expect(sums(waiting.path!, 0, 105)).toEqual([
      { kind: 0, total: 55, pieces: [0, 2, 3] },
      { kind: 1, total: 10, pieces: [1] },
    ]);
    expect(sums(waiting.path!, 25, 45)).toEqual([
      { kind: 0, total: 10, pieces: [0, 2] },
      { kind: 1, total: 10, pieces: [1] },
    ]);
  });

  it("counts only the devices asked for", () => {
    const { idle } = waiting;
    const gpu = waiting.isOf([kernels]);
    expect(sums(idle!, 0, 300, gpu).map((sum) => [sum.kind, sum.total])).toEqual([
      [1, 25],
      [0, 20],
    ]);
    expect(sums(idle!, 0, 300, waiting.isOf([recv]))).toEqual([]);
    expect(sums(idle!, 300, 400, gpu)).toEqual([]);
  });
});
