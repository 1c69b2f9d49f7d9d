import { beforeAll, describe, expect, it } from "vitest";
import { type Details, readDetails } from "./details";
import { makeDrawn } from "./testing/synthetic";
import { gzip, type Planned, textColumns, writeContainer } from "./testing/write_container";

// Events 1 and 3 are on the first lane, so that the rows of the columns are events 1, 3, 0, 2.
const drawn = makeDrawn([
  { start: 0, duration: 10, name: "$&", lane: 1 },
  { start: 5, lane: 0 },
  { start: 9, duration: 20, lane: 1 },
  { start: 30, lane: 0 },
]);
const header = {
  count: 4,
  devices: ["/gpu", "/cpu"],
  tasks: ["/task:0", "/task:1"],
  allocators: ["gpu_bfc"],
  dtypes: { 1: "float32" },
  own_name: "\x1a",
  ids: {
    thread: { label: "Thread", texts: ["5723866416841229916"] },
    priority: { label: "Priority", texts: ["7", "-212710849528959021"] },
  },
};
const none = Number.NaN;
const columns: Record<string, Planned> = {
  queued: { encoding: "shuffle", values: Uint32Array.of(1, 0, 0, 19) },
  compute_after: { encoding: "shuffle", values: Uint32Array.of(0, 0, 3, 0) },
  compute_left: { encoding: "shuffle", values: Uint32Array.of(0, 0, 15, 0) },
  moved_least: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0, 7) },
  moved_most: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0, 19) },
  later: { encoding: "shuffle", values: Uint32Array.of(0, 4, 1, 7) },
  recorded_duration: { encoding: "shuffle", values: Uint32Array.of(0, 1, 21, 41) },
  bytes: { encoding: "shuffle", values: Float64Array.of(none, 0, none, 4_194_304) },
  priority: { encoding: "shuffle", values: Uint32Array.of(0, 0, 3, 0) },
  source: { encoding: "shuffle", values: Uint16Array.of(65535, 1, 65535, 0) },
  destination: { encoding: "shuffle", values: Uint16Array.of(65535, 65535, 65535, 1) },
  last: { encoding: "shuffle", values: Uint16Array.of(65535, 65535, 0, 1) },
  spread: { encoding: "shuffle", values: Uint32Array.of(0, 0, 1, 15) },
  tensor: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0, 1) },
  detail: { encoding: "shuffle", values: Uint32Array.of(0, 0, 2, 0) },
  edge_offsets: { encoding: "delta-shuffle", values: Uint32Array.of(0, 1, 4, 4, 4) },
  edge_distance: { encoding: "shuffle", values: Uint32Array.of(3, 3, 2, 1) },
  edge_kind: { encoding: "plain", values: Uint8Array.of(0, 2, 1, 3) },
  output_offsets: { encoding: "delta-shuffle", values: Uint32Array.of(0, 0, 0, 2, 2) },
  output_slot: { encoding: "plain", values: Uint8Array.of(0, 1) },
  output_dtype: { encoding: "plain", values: Uint8Array.of(1, 99) },
  output_shape: { encoding: "shuffle", values: Uint32Array.of(3, 3) },
  output_bytes: { encoding: "shuffle", values: Float64Array.of(100352, none) },
  memory_offsets: { encoding: "delta-shuffle", values: Uint32Array.of(0, 1, 1, 1, 1) },
  memory_allocator: { encoding: "shuffle", values: Uint16Array.of(0) },
  memory_total: { encoding: "shuffle", values: Float64Array.of(512) },
  memory_peak: { encoding: "shuffle", values: Float64Array.of(256) },
  memory_live: { encoding: "shuffle", values: Float64Array.of(none) },
  node: { encoding: "shuffle", values: Uint32Array.of(5, 3, 1, 0) },
  node_requested_device: { encoding: "shuffle", values: Uint32Array.of(0, 4, 0) },
  node_gpu_kernel: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0) },
  node_attributes: { encoding: "shuffle", values: Uint32Array.of(5, 5, 0) },
  node_colocation: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0) },
  node_original_names: { encoding: "shuffle", values: Uint32Array.of(0, 1, 0) },
  node_cost: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0) },
  node_program: { encoding: "shuffle", values: Uint32Array.of(0, 0, 6) },
  node_instruction: { encoding: "shuffle", values: Uint32Array.of(0, 0, 7) },
  node_hlo_category: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0) },
  node_operations: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0) },
  node_accessed: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0) },
  node_expression: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0) },
  node_fused: { encoding: "shuffle", values: Uint32Array.of(0, 0, 8) },
  ...textColumns([
    "",
    "edge_7_w",
    "[CPU] \x1a = MatMul(b, c)",
    "[32, 784]",
    "/gpu",
    "T=float32",
    "jit_f(3)",
    "fusion.1",
    "add.2\tjit(f)/add\tmodel.py:4\nmultiply.3\t\t",
  ]),
};

let details: Details;
beforeAll(async () => {
  details = await readDetails(await gzip(writeContainer(header, columns)), drawn);
});

describe("Details", () => {
  it("distinguishes recorded values from missing ones", () => {
    expect([0, 1, 2].map((event) => details.scheduled(event))).toEqual([null, 5, 0]);
    expect([0, 1].map((event) => details.compute(event))).toEqual([{ start: 1, end: 3 }, null]);
    expect([1, 2].map((event) => details.moved(event))).toEqual([null, { least: 3, most: 9 }]);
    expect([0, 1, 2, 3].map((event) => details.recorded(event))).toEqual([
      { start: 0, duration: 10 },
      null,
      { start: 6, duration: 20 },
      { start: 32, duration: 0 },
    ]);
    expect([1, 2, 3].map((event) => details.bytes(event))).toEqual([null, 4_194_304, 0]);
    expect([1, 2, 3].map((event) => details.source(event))).toEqual([null, "/gpu", "/cpu"]);
    expect([2, 3].map((event) => details.destination(event))).toEqual(["/cpu", null]);
    expect([details.tensor(2), details.tensor(3), details.label(0)]).toEqual([
      "edge_7_w",
      "",
      "[CPU] $& = MatMul(b, c)",
    ]);
  });

  it("takes layers from the names of events or from a list", async () => {
    const named = makeDrawn([
      { start: 0, name: "net/dense/MatMul" },
      { start: 5, name: "net/dense_1/MatMul" },
      { start: 9, name: "gemm" },
      { start: 30, name: "init" },
    ]);
    const layer: Planned = { encoding: "shuffle", values: Uint16Array.of(2, 3, 1, 0) };
    const bytes = await gzip(writeContainer({ ...header, layers: ["", "net/dense"] }, { ...columns, layer }));
    const read = await readDetails(bytes, named);
    expect([0, 1, 2, 3].map((event) => read.layer(event))).toEqual(["net", "net/dense_1", "net/dense", ""]);
    expect(details.layer(0)).toBeNull();
  });

  it("names ids and keeps all their digits", () => {
    expect([0, 1, 2, 3].flatMap((event) => details.ids(event))).toEqual([
      ["Priority", "-212710849528959021"],
    ]);
  });

  it("has the facts of nodes from their graph", () => {
    const none = { placement: [], node: [], program: [], fused: [] };
    expect([0, 2].map((event) => details.node(event))).toEqual([
      { ...none, node: [["Attributes", "T=float32"]] },
      none,
    ]);
    expect(details.node(3)).toEqual({
      ...none,
      placement: [["Requested device", "/gpu"]],
      node: [
        ["Attributes", "T=float32"],
        ["Original nodes", "edge_7_w"],
      ],
    });
  });

  it("has the facts of instructions from their program", () => {
    expect(details.node(1)).toEqual({
      placement: [],
      node: [],
      program: [
        ["Program", "jit_f(3)"],
        ["Instruction", "fusion.1"],
      ],
      fused: [
        { name: "add.2", op: "jit(f)/add", source: "model.py:4" },
        { name: "multiply.3", op: "", source: "" },
      ],
    });
  });

  it("knows which rank came last to a collective", () => {
    expect([0, 1, 2, 3].map((event) => details.last(event))).toEqual(["/task:0", null, "/task:1", null]);
    expect([0, 1, 2].map((event) => details.spread(event))).toEqual([0, null, 7]);
  });

  it("takes a column that was left out as never recorded", () => {
    expect(details.ids(3)).toEqual([]);
    expect(details.ownMemory(0)).toEqual({
      temp: null,
      persistent: null,
      persistentIds: "",
      deviceTemp: null,
      devicePersistent: null,
      devicePersistentIds: "",
    });
    expect(details.referenced(1)).toEqual([]);
  });

  it("follows edges both ways", () => {
    expect(details.inputs(0)).toEqual([]);
    expect(details.inputs(3)).toEqual([
      { event: 2, kind: "transfer" },
      { event: 1, kind: "control" },
      { event: 0, kind: "launch" },
    ]);
    expect(details.consumers(0)).toEqual([
      { event: 1, kind: "data" },
      { event: 3, kind: "launch" },
    ]);
    expect(details.consumers(3)).toEqual([]);
  });

  it("lists outputs and memory", () => {
    expect(details.outputs(0)).toEqual([
      { slot: 0, dtype: "float32", shape: "[32, 784]", bytes: 100352, buffer: null },
      { slot: 1, dtype: "dtype 99", shape: "[32, 784]", bytes: null, buffer: null },
    ]);
    expect(details.outputs(1)).toEqual([]);
    expect(details.memory(1)).toEqual([{ allocator: "gpu_bfc", total: 512, peak: 256, live: null }]);
    expect(details.memory(2)).toEqual([]);
  });

  it("knows the buffers that tensors are in", async () => {
    const more: Record<string, Planned> = {
      output_buffer: { encoding: "plain", values: Uint8Array.of(2, 1) },
      output_buffer_step: { encoding: "shuffle", values: Uint32Array.of(6, 3) },
      referenced_offsets: { encoding: "delta-shuffle", values: Uint32Array.of(0, 0, 1, 1, 1) },
      referenced_allocator: { encoding: "shuffle", values: Uint16Array.of(0) },
      referenced_bytes: { encoding: "shuffle", values: Float64Array.of(64) },
      referenced_buffer: { encoding: "plain", values: Uint8Array.of(0) },
      referenced_buffer_step: { encoding: "shuffle", values: Uint32Array.of() },
      persistent_ids: { encoding: "shuffle", values: Uint32Array.of(0, 0, 0, 3) },
    };
    const read = await readDetails(await gzip(writeContainer(header, { ...columns, ...more })), drawn);
    expect(read.outputs(0).map(({ buffer }) => buffer)).toEqual([
      { id: 3, isShared: true },
      { id: 1, isShared: false },
    ]);
    expect(read.referenced(3)).toEqual([{ allocator: "gpu_bfc", bytes: 64, buffer: null }]);
    expect(read.ownMemory(2)?.persistentIds).toBe("[32, 784]");
  });

  it("keeps labels without placeholders for names", async () => {
    const bytes = await gzip(writeContainer({ ...header, own_name: "" }, columns));
    expect((await readDetails(bytes, drawn)).label(0)).toBe("[CPU] \x1a = MatMul(b, c)");
  });

  it("has the parts of each task's step, without empty ones", async () => {
    const f64 = (...values: number[]): Planned => ({
      encoding: "shuffle",
      values: Float64Array.from(values),
    });
    const parts = {
      parts_step: f64(4, 4, 7),
      parts_task: { encoding: "shuffle", values: Uint16Array.of(0, 1, 1) },
      parts_total: f64(100, 100, 50),
      parts_ns: f64(25, 75, 0, 100, 50, 0),
    } satisfies Record<string, Planned>;
    const named = { ...header, parts: ["launch", "idle"], parts_tasks: ["ps 0", "worker 0"] };
    const sent = await readDetails(await gzip(writeContainer(named, { ...columns, ...parts })), drawn);
    expect(sent.stepBars(4)).toEqual([
      {
        label: "Step by main activity, ps 0",
        parts: [
          { name: "launch", ns: 25, share: 0.25 },
          { name: "idle", ns: 75, share: 0.75 },
        ],
      },
      { label: "Step by main activity, worker 0", parts: [{ name: "idle", ns: 100, share: 1 }] },
    ]);
    expect(sent.stepBars(7)[0].parts).toEqual([{ name: "launch", ns: 50, share: 1 }]);
    expect(sent.stepBars(5)).toEqual([]);
    expect(details.stepBars(0)).toEqual([]);
  });

  it("refuses edges that do not add up", async () => {
    const read = async (changed: Record<string, Planned>) =>
      readDetails(await gzip(writeContainer(header, { ...columns, ...changed })), drawn);
    const short = { edge_kind: { encoding: "plain", values: Uint8Array.of(0) } } as const;
    await expect(read(short)).rejects.toThrow("1 items instead of 4");
    const far = { edge_distance: { encoding: "plain", values: Uint32Array.of(2, 2, 1, 0) } } as const;
    await expect(read(far)).rejects.toThrow("an edge of event 1 begins outside of the trace");
  });

  it("refuses the details of another trace", async () => {
    const bytes = await gzip(writeContainer(header, columns));
    await expect(readDetails(bytes, makeDrawn([{ start: 0 }]))).rejects.toThrow(
      "of 4 events, but 1 are drawn",
    );
  });
});
