/** BokehJS from the kernel, which sends it to a page that does not have it. */

import type { AnyModel } from "@anywidget/types";

const KIND = "bokeh";

interface Reply {
  kind?: string;
  id?: string;
  error?: string;
}

/** Its gzip'd code. There is no limit of time: a kernel that runs a cell may answer when that has ended. */
export function askBokeh(model: AnyModel, signal: AbortSignal): Promise<Uint8Array> {
  // Views of one model hear each other's replies.
  const id = `${Math.random()}`;
  return new Promise((resolve, reject) => {
    const replied = (reply: Reply, views: DataView[]) => {
      if (reply.kind !== KIND || reply.id !== id) return;
      model.off("msg:custom", replied);
      const [view] = views ?? [];
      if (reply.error || !view) reject(new Error(reply.error ?? "the kernel sent nothing"));
      else resolve(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    };
    signal.addEventListener("abort", () => model.off("msg:custom", replied), { once: true });
    model.on("msg:custom", replied);
    model.send({ kind: KIND, id });
  });
}
