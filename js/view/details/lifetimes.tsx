/** The buffers that an op allocated: how large they are, how long they lived, and what used them last. */

import { useState } from "preact/hooks";
import { eventAt } from "../../model/lod/merged";
import { lastUser, type Tensor, tensorsOf } from "../../state/tensors";
import { EventLink } from "./lists";
import {
  aliasNames,
  ESTIMATED,
  handedOn,
  lengthText,
  lifeText,
  makerOf,
  partText,
  sizeText,
} from "./tensor_texts";
import type { EventProps } from "./types";

/** Longer lists are cut here until the user asks for the rest. */
const FIRST = 6;

export function Lifetimes({ store, actions, id }: EventProps) {
  const [all, setAll] = useState(false);
  const tensors = tensorsOf(store, eventAt(store.drawn, id));
  if (tensors.length === 0) return null;
  const isEstimated = tensors.some(({ track }) => track.estimated);
  const shown = all ? tensors : tensors.slice(0, FIRST);
  return (
    <section aria-label="Lifetimes">
      <h3 title={isEstimated ? ESTIMATED : undefined}>Lifetimes{isEstimated ? " (estimated)" : ""}</h3>
      <table class="lifetimes" aria-label="Lifetimes of buffers">
        <thead>
          <tr>
            <th>Buffer</th>
            <th>Size</th>
            <th title="From its allocation to its free">Lived</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((tensor) => (
            <Lifetime key={`${tensor.track.allocator} ${tensor.at}`} {...{ store, actions, tensor }} />
          ))}
        </tbody>
      </table>
      {tensors.length > shown.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          <b>{tensors.length - shown.length} more</b>
        </button>
      )}
    </section>
  );
}

function Lifetime({ store, actions, tensor }: Omit<EventProps, "id"> & { tensor: Tensor }) {
  const { track } = tensor;
  const user = lastUser(store, tensor);
  const aliases = handedOn(store, tensor, FIRST);
  return (
    <>
      <tr title={`${lifeText(tensor)}; ${track.allocator}`}>
        <td>{partText(store, tensor)}</td>
        <td>{sizeText(tensor)}</td>
        <td>{lengthText(tensor)}</td>
      </tr>
      {aliases && (
        <tr class="more">
          <td colSpan={3}>
            <small title={aliasNames(store, tensor).join("\n")}>{aliases}</small>
          </td>
        </tr>
      )}
      {user !== null && user !== makerOf(store, tensor) && (
        <tr class="more">
          <td colSpan={3}>
            <small>last used by</small> <EventLink store={store} actions={actions} id={user} />
          </td>
        </tr>
      )}
    </>
  );
}
