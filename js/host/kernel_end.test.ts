import type { AnyModel } from "@anywidget/types";
import { expect, it } from "vitest";
import { endOf, followKernel } from "./kernel_end";
import { requestKernel } from "./kernel_messages";
import { partModel } from "./part_model";

type Slot = (sender: unknown, argument: string) => void;

/** A model as a widget manager of JupyterLab has it, or without its kernel that of another host. */
function made(id: string, hasKernel = true) {
  const slots: Record<string, Slot[]> = { statusChanged: [], disposed: [], comm_live_update: [] };
  const signal = (name: string) => ({ connect: (slot: Slot) => slots[name].push(slot) });
  const kernel = { statusChanged: signal("statusChanged"), disposed: signal("disposed") };
  const model = {
    get: (name: string) => (name.endsWith("_stored") ? id : undefined),
    on: (name: string, slot: Slot) => slots[name]?.push(slot),
    off: () => {},
    send: () => {},
    widget_manager: hasKernel ? { kernel } : {},
  } as unknown as AnyModel;
  followKernel(model);
  const emit = (name: string, argument = "") => {
    for (const slot of slots[name]) slot(null, argument);
  };
  return { model, emit };
}

it.each([
  ["restarts", "statusChanged", "restarting"],
  ["died and is restarted by the server", "statusChanged", "autorestarting"],
  ["died", "statusChanged", "dead"],
  ["is shut down", "disposed", ""],
])("rejects requests once the kernel %s", async (status, event, argument) => {
  const { model, emit } = made(status);
  const { signal } = new AbortController();
  const part = partModel(model, "timeline");
  const requests = [model, part].map((each) => requestKernel(each, { kind: "watch" }, signal, () => true));
  emit("statusChanged", "busy");
  emit("statusChanged", "idle");
  expect(endOf(model).aborted).toBe(false);
  emit(event, argument);
  for (const request of requests) await expect(request).rejects.toThrow("the kernel has ended");
  await expect(requestKernel(part, { kind: "watch" }, signal, () => true)).rejects.toThrow(
    "the kernel has ended",
  );
});

it("hears of the end from managers that hide their kernel", () => {
  const { model, emit } = made("hidden", false);
  expect(endOf(model).aborted).toBe(false);
  emit("comm_live_update");
  expect(endOf(model).aborted).toBe(true);
});

it("holds for views that are opened after the end, and not for other widgets", () => {
  const { emit } = made("one");
  emit("disposed");
  expect(endOf(made("one").model).aborted).toBe(true);
  expect(endOf(made("other").model).aborted).toBe(false);
});
