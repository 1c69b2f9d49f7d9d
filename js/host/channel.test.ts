import { describe, expect, it } from "vitest";
import { joinLink, type LinkMessage } from "./channel";

function joined(id: string, signal = new AbortController().signal) {
  const heard: LinkMessage[] = [];
  return { heard, tell: joinLink(id, (message) => heard.push(message), signal) };
}

describe("joinLink", () => {
  it("sends messages to all others and not back to the sender", () => {
    const [one, two, three] = [joined("a"), joined("a"), joined("a")];
    one.tell({ kind: "hover", name: "MatMul" });
    expect(one.heard).toEqual([]);
    for (const { heard } of [two, three]) expect(heard).toMatchObject([{ kind: "hover", name: "MatMul" }]);
  });

  it("keeps links apart", () => {
    const [one, other] = [joined("b"), joined("c")];
    one.tell({ kind: "ask" });
    expect(other.heard).toEqual([]);
  });

  it("ends with the view", () => {
    const view = new AbortController();
    const gone = joined("d", view.signal);
    const other = joined("d");
    view.abort();
    other.tell({ kind: "ask" });
    gone.tell({ kind: "ask" });
    expect([gone.heard, other.heard]).toEqual([[], []]);
  });

  it("connects independent bundles", () => {
    const heard = joined("e").heard;
    const links = (globalThis as unknown as Record<symbol, Map<string, EventTarget>>)[
      Symbol.for("tfvis_nb.links")
    ];
    const detail = { from: "another bundle", kind: "view", start: 1, end: 2 };
    links.get("e")?.dispatchEvent(new CustomEvent("link", { detail }));
    expect(heard).toMatchObject([{ kind: "view", start: 1, end: 2 }]);
  });
});
