import { describe, expect, it } from "vitest";
import { nextRefusal, nextRunText, nothing, pendingText, recording, refusal, runText } from "./recording";
import { process, state, trace } from "./testing/fixtures";

const running = state({ processes: [process({}), process({ process: 2, end_ms: 5 })] });
const ended = state({ processes: [process({ end_ms: 5 })] });
const absent = state({
  waiting: "there is no file a; b yet; it comes when a job records",
  controllable: false,
});

describe("a session", () => {
  it("waits for its file, then for a job, runs, and ends", () => {
    expect(recording(absent)).toEqual({ kind: "waiting", text: "Waiting for the file" });
    expect(recording(state({}))).toEqual({ kind: "waiting", text: "Waiting for a job" });
    expect(recording(running)).toEqual({ kind: "running", text: "Recording" });
    const two = state({ processes: [process({}), process({ process: 2 })] });
    expect(recording(two).text).toBe("Recording · 2 processes");
    expect(recording(ended).kind).toBe("ended");
  });

  it("has stopped if there is a problem, even if a process still runs", () => {
    expect(recording({ ...running, problem: "the disk is full" }).kind).toBe("stopped");
  });

  it("explains why it lists nothing", () => {
    expect(nothing(absent)).toEqual({
      title: "There is no file a; b yet",
      text: "It comes when a job records.",
    });
    expect(nothing(state({ waiting: "it was deleted" }))).toEqual({ title: "It was deleted", text: "" });
    expect(nothing(state({ problem: "it is damaged" })).title).toBe("Nothing to show");
    expect(nothing(running).text).toContain("first run");
    expect(nothing(ended).text).toContain("without a run");
    expect(nothing(state({})).text).toContain("run.tfvis");
  });
});

describe("a request", () => {
  it("names how many processes will trace, or that none can now", () => {
    expect(pendingText(0, true)).toBe("");
    expect(pendingText(1, true)).toBe("The next run will be traced");
    expect(pendingText(4, true)).toContain("in 4 processes");
    expect(pendingText(1, false)).toContain("when a job records again");
  });

  it("is for the first job if none has recorded, and refused after the end", () => {
    expect(nextRunText(running)).toBe("Trace next run");
    expect(nextRunText(state({}))).toBe("Trace run of next job");
    expect([running, state({})].map(nextRefusal)).toEqual([null, null]);
    expect(nextRefusal(ended)).toContain("has ended");
    expect(nextRefusal(absent)).toBe("There is no file");
  });

  it("is refused if no job could read it", () => {
    expect(refusal(state({}))).toBeNull();
    expect(refusal(absent)).toBe("There is no file");
    expect(refusal(state({ controllable: false }))).toContain("Read-only");
    expect(refusal(state({ problem: "it is damaged", controllable: false }))).toContain("cannot be read");
    expect(refusal(state({ problem: "the disk is full" }))).toBeNull();
  });
});

describe("a trace", () => {
  it("has its own number if that of its run is unknown", () => {
    expect(runText(trace({ trace: 3, run: 1200 }))).toBe("run 1,200");
    expect(runText(trace({ trace: 3, run: 0 }))).toBe("trace 3");
  });
});
