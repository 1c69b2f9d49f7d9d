/** Data in a page itself, in script elements that run nothing. */

/** The text of the element called `id`. */
export function textOf(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`This page is incomplete: its part ${id} is missing. Export it again.`);
  return element.textContent ?? "";
}

/** Resolves once all of the page is here: details follow its code, so that the first picture does not wait for them. */
export async function arrived(): Promise<void> {
  if (document.readyState === "loading")
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
}

interface Base64Constructor {
  fromBase64?: (text: string) => Uint8Array;
}

/** The bytes that the element called `id` holds in base64. */
export async function embedded(id: string): Promise<Uint8Array> {
  const base64 = textOf(id).trim();
  const native = (Uint8Array as unknown as Base64Constructor).fromBase64;
  if (native) return native(base64);
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** The text that was gzip'd. */
export function unpacked(gzip: Uint8Array): Promise<string> {
  const stream = new Blob([gzip as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
