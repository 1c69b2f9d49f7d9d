import { expect, test, vi } from "vitest";
import type { Outline } from "../model/lod/outline";
import { LargeTrace } from "./loading";
import type { Navigation } from "./navigation";
import type { Store } from "./store";

test("an answer that cannot be read is reported, and the next view is asked for", async () => {
  vi.useFakeTimers();
  const moved: (() => void)[] = [];
  const ask = vi.fn(async (_: { kind: string }) => ({ answer: null, buffers: [Uint8Array.of(1, 2, 3)] }));
  const fail = vi.fn();
  const whole = { start: 0, end: 1e9 };
  const store = {
    host: { ask, get: () => null },
    on: (changes: string[], changed: () => void) => changes.includes("viewport") && moved.push(changed),
    setNotice: () => undefined,
    fail,
    viewport: { start: 0, end: 1e6 },
    bounds: whole,
    width: 800,
  };
  const outline = { described: { rest: "windows" }, bucket: 1e6 } as unknown as Outline;
  new LargeTrace(store as unknown as Store, outline, {} as Navigation, new AbortController().signal);
  await vi.advanceTimersByTimeAsync(1000);
  expect(ask).toHaveBeenCalledOnce();
  expect(fail.mock.calls).toEqual([[expect.stringContaining("sent an answer that cannot be read")]]);
  moved[0]();
  await vi.advanceTimersByTimeAsync(1000);
  expect(ask).toHaveBeenCalledTimes(2);
  vi.useRealTimers();
});
