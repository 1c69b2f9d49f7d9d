/** Texts between the page and its server that are not JSON. */

/** The file name in a `Content-Disposition` header; null without one. */
export function nameIn(header: string): string | null {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(header)?.[1];
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded.trim());
    } catch {
      // Malformed; the plain name is there for this.
    }
  }
  return /filename="([^"]*)"/i.exec(header)?.[1] ?? null;
}

/** How long to wait (ms) before asking again: longer and longer while there is no answer. */
export function pauseAfter(failures: number): number {
  return Math.min(1000 * 2 ** Math.min(failures, 5), 10_000);
}
