import { describe, expect, it } from "vitest";
import type { Track } from "../../model/wire/memory";
import { fullScale } from "./memory_track";

const track = { task: "/job:worker/task:0", allocator: "GPU_0_bfc", peak: 5 } as Track;

describe("the scale of memory", () => {
  it("is that of its own peak, and of the higher one where two are compared", () => {
    expect(fullScale(track, undefined)).toBe(5);
    expect(fullScale(track, { "/job:worker/task:0\tGPU_0_bfc": 32 })).toBe(32);
    expect(fullScale(track, { "/job:worker/task:0\tcpu": 64, "/job:worker/task:1\tGPU_0_bfc": 64 })).toBe(5);
  });
});
