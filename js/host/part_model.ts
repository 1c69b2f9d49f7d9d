/** A part of a widget as a model of its own: its traits have an underscore and its name before theirs, and so have its messages. */

import type { AnyModel } from "@anywidget/types";
import { endOf, setEnd } from "./kernel_end";

type Listener = Parameters<AnyModel["off"]>[1];

interface PartMessage {
  part?: string;
  content?: unknown;
}

/** The other side is display/composed.py. */
export function partModel(model: AnyModel, part: string): AnyModel {
  const wrapped = new Map<Listener, Listener>();
  const named = (event: string) => event.replace(/^change:/, `change:_${part}_`);
  const own = {
    get: (trait: string) => model.get(`_${part}_${trait}`),
    set: (trait: string, value: unknown) => model.set(`_${part}_${trait}`, value),
    widget_manager: model.widget_manager,
    save_changes: () => model.save_changes(),
    send: (content: unknown) => model.send({ part, content }),
    on(event: string, listener: NonNullable<Listener>) {
      if (event !== "msg:custom") {
        model.on(named(event), listener);
        return;
      }
      const received = (message: PartMessage, buffers: DataView[]) => {
        if (message.part === part) listener(message.content, buffers);
      };
      wrapped.set(listener, received);
      model.on(event, received);
    },
    off(event: string, listener: Listener) {
      model.off(named(event), wrapped.get(listener) ?? listener);
      wrapped.delete(listener);
    },
  } as unknown as AnyModel;
  setEnd(own, endOf(model));
  return own;
}
