/** The exported page's entry: the same timeline over data that lies in the page itself. */

import { HeldHost } from "./held_host";
import type { Options } from "./host";
import { mount } from "./view/mount";

function text(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`This page is not whole: its part ${id} is missing. Export it again.`);
  return element.textContent ?? "";
}

interface Base64Constructor {
  fromBase64?: (text: string) => Uint8Array;
}

async function embedded(id: string): Promise<Uint8Array> {
  const base64 = text(id).trim();
  const native = (Uint8Array as unknown as Base64Constructor).fromBase64;
  if (native) return native(base64);
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

const root = document.getElementById("tfvis-root");
if (root) {
  root.replaceChildren();
  const options = JSON.parse(text("tfvis-options")) as Partial<Options>;
  const parts = { drawn: () => embedded("tfvis-drawn"), details: () => embedded("tfvis-details") };
  mount(root, new HeldHost(parts, options), new AbortController().signal, { ownsPage: true }).then(
    (mounted) => Object.assign(root, { tfvis: mounted }),
  );
}
