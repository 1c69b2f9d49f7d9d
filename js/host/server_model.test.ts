import { describe, expect, it, vi } from "vitest";
import { endOf } from "./kernel_end";
import { KernelTimelineHost } from "./kernel_host";
import { requestKernel } from "./kernel_messages";
import { CONNECTION_LOST, follow, ServerModel } from "./server_model";

/** A WebSocket whose other end is the test. */
class Socket extends EventTarget {
  readonly OPEN = 1;
  readonly readyState = 1;
  binaryType = "";
  readonly sent: unknown[] = [];
  closed = false;
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.closed = true;
  }
  tell(message: object, ...buffers: string[]): void {
    const parts = buffers.map((text) => new TextEncoder().encode(text));
    const head = new TextEncoder().encode(
      JSON.stringify({ ...message, buffers: parts.map((part) => part.length) }),
    );
    const data = new Uint8Array(4 + head.length + parts.reduce((sum, part) => sum + part.length, 0));
    new DataView(data.buffer).setUint32(0, head.length, true);
    let at = 4;
    for (const part of [head, ...parts]) {
      data.set(part, at);
      at += part.length;
    }
    this.dispatchEvent(new MessageEvent("message", { data: data.buffer }));
  }
}

const STATE = { method: "open", view: "timeline", state: { height: 560 }, buffer_paths: [["_drawn"]] };

async function opened() {
  const socket = new Socket();
  const closing = new AbortController();
  const model = new ServerModel();
  const opening = follow(model, socket as unknown as WebSocket, closing.signal, { path: "a/step.pb" });
  socket.dispatchEvent(new Event("open"));
  socket.tell(STATE, "bytes");
  return { socket, closing, model, view: await opening };
}

const text = (view: unknown) => new TextDecoder().decode(view as DataView);

/** The events that a widget's view receives from its model. */
function heard(model: ServerModel): unknown[] {
  const messages: unknown[] = [];
  model.on("msg:custom", (content: never, buffers: never) =>
    messages.push([content, (buffers as DataView[]).map(text)]),
  );
  return messages;
}

describe("a file over a WebSocket", () => {
  it("has the state of its widget, with binary values", async () => {
    const { socket, view, model } = await opened();
    expect(socket.sent).toEqual([{ path: "a/step.pb" }]);
    expect(view).toBe("timeline");
    expect([model.get("height"), text(model.get("_drawn"))]).toEqual([560, "bytes"]);
  });

  it("passes messages in both directions", async () => {
    const { socket, model } = await opened();
    const messages = heard(model);
    const changed = vi.fn();
    model.on("change:_details", changed);
    model.send({ kind: "ask", id: "1" });
    model.set("_selection", { events: [3] });
    model.setHere("height", 700);
    model.save_changes();
    expect(socket.sent.slice(1)).toEqual([
      { method: "custom", content: { kind: "ask", id: "1" } },
      { method: "update", state: { _selection: { events: [3] } }, buffer_paths: [] },
    ]);
    socket.tell({ method: "custom", content: { kind: "ask", id: "1", answer: 7 } }, "a", "bc");
    socket.tell({ method: "update", state: {}, buffer_paths: [["_details"]] }, "more");
    expect(messages).toEqual([[{ kind: "ask", id: "1", answer: 7 }, ["a", "bc"]]]);
    expect(changed).toHaveBeenCalledOnce();
    expect(text(model.get("_details"))).toBe("more");
  });

  it.each([
    [
      "the process says why",
      "it was too slow",
      (socket: Socket) => socket.tell({ method: "refused", sentence: "it was too slow" }),
    ],
    ["the connection ends", CONNECTION_LOST, (socket: Socket) => socket.dispatchEvent(new Event("close"))],
  ])("rejects every request once %s", async (_, error, end) => {
    const { socket, model } = await opened();
    const { signal } = new AbortController();
    const asked = requestKernel(model.asModel, { kind: "watch" }, signal, () => true);
    const details = new KernelTimelineHost(model.asModel).details(signal);
    end(socket);
    await expect(asked).rejects.toThrow(error);
    await expect(details).rejects.toThrow(error);
    await expect(requestKernel(model.asModel, { kind: "save" }, signal, () => true)).rejects.toThrow(error);
    expect(endOf(model.asModel).reason.message).toBe(error);
  });

  it("is not opened where the server refuses it", async () => {
    const socket = new Socket();
    const { signal } = new AbortController();
    const opening = follow(new ServerModel(), socket as unknown as WebSocket, signal, { path: "no.pb" });
    socket.tell({ method: "refused", sentence: "there is no such file" });
    await expect(opening).rejects.toThrow("there is no such file");
  });

  it("goes on over another connection", async () => {
    const { socket, model } = await opened();
    const messages = heard(model);
    socket.dispatchEvent(new Event("close"));
    const next = new Socket();
    const following = follow(model, next as unknown as WebSocket, new AbortController().signal);
    // Before the state, and of the connection before.
    next.tell({ method: "update", state: { height: 1 } });
    socket.tell({ method: "update", state: { height: 2 } });
    next.tell({ ...STATE, state: { height: 3 } }, "more");
    await following;
    expect([model.get("height"), text(model.get("_drawn"))]).toEqual([3, "more"]);
    model.send({ kind: "ask", id: "1" });
    expect(next.sent).toEqual([{ method: "custom", content: { kind: "ask", id: "1" } }]);
    expect(model.waiting).toEqual(["ask"]);
    next.tell({ method: "custom", content: { kind: "ask", id: "1" } });
    expect(model.waiting).toEqual([]);
    expect(messages).toEqual([[{ kind: "ask", id: "1" }, []]]);
  });

  it("closes the connection with the view", async () => {
    const { socket, closing } = await opened();
    closing.abort();
    expect(socket.closed).toBe(true);
  });
});
