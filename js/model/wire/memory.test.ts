import { describe, expect, it } from "vitest";
import { openContainer } from "./container";
import { aliveAt, levelAt, readTracks, type Track } from "./memory";
import { makeStrings } from "./testing/synthetic";
import { gzip, type Planned, writeContainer } from "./testing/write_container";

const tracks = [
  { task: "", allocator: "GPU_0_bfc", device: "gpu", peak: 230, at: 20, first: 10, unit: 5 },
  { task: "", allocator: "cpu", device: "", peak: 8, at: -5, first: -5, unit: 1 },
];
const columns: Record<string, Planned> = Object.fromEntries(
  Object.entries({
    track_0_gap: Float64Array.of(0, 2, 1, 3),
    track_0_level: Uint32Array.of(164, 230, 180, 0),
    track_0_start_gap: Uint32Array.of(0, 2, 0),
    track_0_length: Uint32Array.of(6, 4, 1),
    track_0_bytes: Uint32Array.of(64, 16, 50),
    track_0_excess: Uint32Array.of(4, 0, 0),
    track_0_event: Uint32Array.of(3, 4, 0),
    track_0_name: Uint32Array.of(1, 2, 1),
    track_0_state: Uint8Array.of(0, 5, 2),
    track_0_alias_count: Uint32Array.of(1, 2, 0),
    track_0_alias_distance: Uint32Array.of(4, 1, 8),
    track_0_alias_slot: Uint32Array.of(0, 1, 0),
    track_1_gap: Uint32Array.of(0, 1000),
    track_1_level: Uint32Array.of(8, 0),
    track_1_start_gap: Uint32Array.of(0),
    track_1_length: Float64Array.of(1000),
    track_1_bytes: Uint32Array.of(8),
    track_1_excess: Uint32Array.of(0),
    track_1_event: Uint32Array.of(1),
    track_1_name: Uint32Array.of(0),
    track_1_state: Uint8Array.of(3),
  }).map(([name, values]) => [name, { encoding: "shuffle", values }]),
);

async function read(header: Record<string, unknown>, given = columns): Promise<Track[]> {
  const container = await openContainer(await gzip(writeContainer(header, given)));
  const strings = makeStrings(["w", "net/a", "net/b:1"]);
  return readTracks(container, strings);
}

describe("readTracks", () => {
  it("has times from the origin", async () => {
    const [gpu, cpu] = await read({ tracks });
    expect([gpu.allocator, cpu.allocator, gpu.peak]).toEqual(["GPU_0_bfc", "cpu", 230]);
    expect([...gpu.starts]).toEqual([10, 20, 20]);
    expect([...gpu.excess]).toEqual([4, 0, 0]);
    expect([...gpu.times]).toEqual([10, 20, 25, 40]);
    expect([...cpu.times]).toEqual([-5, 995]);
    expect([0, 1, 2].map((at) => gpu.name(at))).toEqual(["net/a", "net/b:1", "net/a"]);
  });

  it("has the role of each buffer, whether it was freed, and the outputs that it was handed on to", async () => {
    const [gpu, cpu] = await read({ tracks });
    expect([0, 1, 2].map((at) => gpu.role(at))).toEqual(["output", "temporary", "kept"]);
    expect([0, 1, 2].map((at) => gpu.outlives(at))).toEqual([false, true, false]);
    expect([0, 1, 2].map((at) => gpu.aliases(at))).toEqual([
      [{ event: 4, slot: 0 }],
      [
        { event: 2, slot: 1 },
        { event: 7, slot: 0 },
      ],
      [],
    ]);
    expect([cpu.role(0), cpu.outlives(0), cpu.aliases(0)]).toEqual(["allocated", false, []]);
  });

  it("finds none if none were written", async () => {
    expect(await read({ tracks: [] }, {})).toEqual([]);
    expect(await read({}, {})).toEqual([]);
  });

  it("refuses tracks without their columns", async () => {
    await expect(read({ tracks }, {})).rejects.toThrow('no column "track_0_state"');
  });
});

describe("a time", () => {
  it("has the level of the change before it, and 0 before the first", async () => {
    const [gpu] = await read({ tracks });
    expect([9, 10, 19, 20, 24, 25, 39, 40, 99].map((time) => levelAt(gpu, time))).toEqual([
      0, 164, 164, 230, 230, 180, 180, 0, 0,
    ]);
  });

  it("has the buffers that were allocated by then and not yet freed, the largest first", async () => {
    const [gpu] = await read({ tracks });
    expect([9, 10, 20, 25, 40].map((time) => aliveAt(gpu, time))).toEqual([[], [0], [0, 2, 1], [0, 1], []]);
  });
});
