import type { AnyModel } from "@anywidget/types";
import { expect, it, vi } from "vitest";
import { followStored } from "./stored_output";

const html = (name: string, version: number) =>
  `<div class="tfvis-stored-${name}" data-version="${version}"></div>`;

type Output = { data: Record<string, unknown> };

/** A widget in a notebook whose cells have these outputs, or elsewhere, and a kernel that has version 2 of its stored part. */
function made(given: (string[] | undefined)[] | null, version = 2) {
  const cells = given ?? [];
  const outputs = cells.map((texts) =>
    texts?.map((text): Output => ({ data: { "text/html": text, "text/markdown": "cause" } })),
  );
  const areas = outputs.map(
    (area) =>
      area && {
        length: area.length,
        get: (index: number) => area[index],
        set: (index: number, output: Output) => (area[index] = output),
      },
  );
  const state: Record<string, unknown> = { _stored: "own", _stored_version: version, _unsaved: "" };
  const listeners = new Map<string, (...values: unknown[]) => void>();
  const sent: string[] = [];
  const model = {
    get: (name: string) => state[name],
    on: (event: string, listener: () => void) => listeners.set(event, listener),
    off: (event: string) => listeners.delete(event),
    send({ kind, id }: { kind: string; id: string }) {
      sent.push(kind);
      const text = new TextEncoder().encode(html("own", 2));
      queueMicrotask(() => listeners.get("msg:custom")?.({ kind, id }, [new DataView(text.buffer)]));
    },
    widget_manager: given
      ? {
          context: {
            model: { cells: { length: cells.length, get: (at: number) => ({ outputs: areas[at] }) } },
          },
        }
      : {},
  } as unknown as AnyModel;
  const report = vi.fn();
  const closing = new AbortController();
  followStored(model, report, closing.signal);
  const texts = () => outputs.map((area) => area?.map(({ data }) => data["text/html"]));
  const change = (values: object) => {
    Object.assign(state, values);
    for (const name of Object.keys(values)) listeners.get(`change:${name}`)?.();
  };
  return { report, texts, outputs, sent, change, closing };
}

const done = () => new Promise((resolve) => setTimeout(resolve));

it("writes the latest version over each older one in the notebook", async () => {
  const other = html("other", 1);
  const before = [[html("own", 1), "widget"], undefined, [other], [html("own", 1)]];
  const { report, texts, outputs } = made(before);
  await done();
  expect(outputs[0]?.[0].data).toEqual({ "text/html": html("own", 2), "text/markdown": "cause" });
  expect(texts()).toEqual([[html("own", 2), "widget"], undefined, [other], [html("own", 2)]]);
  expect(report.mock.calls).toEqual([[""]]);
});

it("requests nothing while the notebook has the latest version, or is to have none", async () => {
  const { report, sent } = made([[html("own", 2)]]);
  const none = made([[""]], 0);
  await done();
  expect([sent, none.sent]).toEqual([[], []]);
  expect(report.mock.calls).toEqual([[""]]);
});

it("passes on what Python asks of the user, until its view is closed", async () => {
  const { report, change, closing } = made([[html("own", 2)]]);
  change({ _unsaved: "rerun" });
  await done();
  expect(report).toHaveBeenLastCalledWith("rerun");
  closing.abort();
  change({ _unsaved: "" });
  await done();
  expect(report).toHaveBeenLastCalledWith("rerun");
});

it.each([
  ['.tfvis-stored-own[data-version="2"]', ""],
  ['.tfvis-stored-own[data-version="1"]', "rerun"],
])("looks for the version on the page of other hosts", async (selector, remedy) => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { querySelector: (sought: string) => (sought === selector ? {} : null) });
  const { report } = made(null);
  await vi.runAllTimersAsync();
  expect(report.mock.calls).toEqual([[remedy]]);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});
