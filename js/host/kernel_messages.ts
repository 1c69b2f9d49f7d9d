/** Requests to the kernel and their replies, over the custom messages of a model. */

import type { AnyModel } from "@anywidget/types";
import { endOf } from "./kernel_end";
import type { Message } from "./messages";

export interface Reply {
  kind?: string;
  id?: string;
  error?: string;
  /** Files only. */
  name?: string;
  /** Chunks only: how many there are. */
  of?: number;
  /** Questions only. */
  answer?: unknown;
  /** Signs of life only: when to send the next one, if nothing is pushed before. */
  again_s?: number;
}

/**
 * Sends a message and resolves with what `receive` first makes of the messages that reply to it; it returns undefined
 * to wait for another one. There is no time limit: a kernel that runs a cell may answer hours later. It rejects when
 * the kernel ends. Once `signal` aborts, replies are ignored.
 */
export function requestKernel<T>(
  model: AnyModel,
  message: Message,
  signal: AbortSignal,
  receive: (reply: Reply, buffers: Uint8Array[]) => T | undefined,
): Promise<T> {
  // Views of one model hear each other's replies.
  const id = `${Math.random()}`;
  const end = endOf(model);
  return new Promise((resolve, reject) => {
    const onReply = (reply: Reply, views: DataView[]) => {
      if (reply.kind !== message.kind || reply.id !== id) return;
      const buffers = (views ?? []).map(
        (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength),
      );
      const made = reply.error ? undefined : receive(reply, buffers);
      if (!reply.error && made === undefined) return;
      stop();
      if (made === undefined) reject(new Error(reply.error));
      else resolve(made);
    };
    const fail = () => {
      stop();
      reject(end.reason);
    };
    const stop = () => {
      model.off("msg:custom", onReply);
      end.removeEventListener("abort", fail);
    };
    signal.addEventListener("abort", stop, { once: true });
    end.addEventListener("abort", fail);
    model.on("msg:custom", onReply);
    send(model, { id, ...message });
  });
}

/** A binary trait; hosts hand it over as a view of a buffer that may be larger. */
export function bytesIn(model: AnyModel, name: string): Uint8Array {
  const view: DataView | undefined = model.get(name);
  if (!view?.byteLength) throw new Error("The notebook has no data for this widget. Run the cell again.");
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** Sends a message without waiting for an answer. */
export function send(model: AnyModel, message: Message & { id?: string }): void {
  endOf(model).throwIfAborted();
  try {
    model.send(message);
  } catch (error) {
    // Notebooks only report "Cannot send".
    throw new Error("the kernel has ended or is not connected; run the cell again", { cause: error });
  }
}

/** The gzip'd code of BokehJS, for a page that does not have it. */
export function requestBokeh(model: AnyModel, signal: AbortSignal): Promise<Uint8Array> {
  return requestKernel(model, { kind: "bokeh" }, signal, (_, buffers) => buffers).then(([code]) => {
    if (!code) throw new Error("the kernel sent nothing");
    return code;
  });
}
