/** A part of a widget as a model of its own: its traits have an underscore and its name before theirs, and so have its messages. */

import type { AnyModel } from "@anywidget/types";

type Listener = Parameters<AnyModel["off"]>[1];

interface PartMessage {
  part?: string;
  content?: unknown;
}

/** The other side is display/composed.py. */
export function partModel(model: AnyModel, part: string): AnyModel {
  const wrapped = new Map<Listener, Listener>();
  const named = (event: string) => event.replace(/^change:/, `change:_${part}_`);
  return {
    get: (trait: string) => model.get(`_${part}_${trait}`),
    set: (trait: string, value: unknown) => model.set(`_${part}_${trait}`, value),
    save_changes: () => model.save_changes(),
    send: (content: unknown) => model.send({ part, content }),
    on(event: string, listener: NonNullable<Listener>) {
      if (event !== "msg:custom") {
        model.on(named(event), listener);
        return;
      }
      const own = (message: PartMessage, buffers: DataView[]) => {
        if (message.part === part) listener(message.content, buffers);
      };
      wrapped.set(listener, own);
      model.on(event, own);
    },
    off(event: string, listener: Listener) {
      model.off(named(event), wrapped.get(listener) ?? listener);
      wrapped.delete(listener);
    },
  } as unknown as AnyModel;
}
