import type { AnyModel } from "@anywidget/types";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ViewTraits } from "./anywidget";

/** A model that reports each change at once, as Backbone does, and only changes. */
function made() {
  const state = new Map<string, unknown>();
  const listeners = new Map<string, Set<() => void>>();
  const save = vi.fn();
  const model = {
    get: (name: string) => state.get(name),
    set: (name: string, value: unknown) => {
      if (state.get(name) === value) return;
      state.set(name, value);
      for (const listener of listeners.get(`change:${name}`) ?? []) listener();
    },
    on: (event: string, listener: () => void) => {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(listener));
    },
    off: (event: string, listener: () => void) => listeners.get(event)?.delete(listener),
    save_changes: save,
  };
  return { model, save, view: () => watched(model as unknown as AnyModel) };
}

function watched(model: AnyModel) {
  const traits = new ViewTraits(model);
  const changes: unknown[][] = [];
  const closing = new AbortController();
  traits.watch("height", (value, isPython) => changes.push([value, isPython]), closing.signal);
  return { traits, changes, closing };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("hears what Python and another view change, but not its own changes", () => {
  const { model, view } = made();
  const [one, other] = [view(), view()];
  one.traits.set("height", 300);
  one.traits.send();
  model.set("height", 400);
  expect(one.changes).toEqual([[400, true]]);
  expect(other.changes).toEqual([
    [300, false],
    [400, true],
  ]);
  other.closing.abort();
  one.closing.abort();
  model.set("height", 500);
  expect([one.changes.length, other.changes.length]).toEqual([1, 2]);
});

it("keeps a value that was not sent yet when the kernel echoes an earlier one", () => {
  const { model, save, view } = made();
  const { traits, changes } = view();
  traits.set("height", 300);
  vi.runAllTimers();
  traits.set("height", 310);
  model.set("height", 300);
  expect([model.get("height"), changes]).toEqual([310, []]);
  vi.runAllTimers();
  expect(save).toHaveBeenCalledTimes(2);
  model.set("height", 320);
  expect(changes).toEqual([[320, true]]);
});

it("keeps such a value also of a trait that it does not watch", () => {
  const { model, view } = made();
  const { traits } = view();
  traits.set("_view", 1);
  vi.runAllTimers();
  traits.set("_view", 2);
  model.set("_view", 1);
  expect(model.get("_view")).toBe(2);
  vi.runAllTimers();
  model.set("_view", 3);
  expect(model.get("_view")).toBe(3);
});
