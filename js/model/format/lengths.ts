/** Lengths on paper and screen, as display/pictures/picture.py reads them, and as people type them. */

/** CSS px. */
const UNITS: Record<string, number> = { px: 1, pt: 96 / 72, mm: 96 / 25.4, cm: 96 / 2.54, in: 96 };
const LENGTH = /^([0-9]{1,6}(?:[.,][0-9]{1,6})?)\s*(px|pt|mm|cm|in)?$/;
const [SMALLEST, LARGEST] = [100, 20_000];

/** The CSS pixels of a length such as "16 cm"; null for none. */
export function pixelsOf(text: string): number | null {
  if (!text.trim()) return null;
  const [, number, unit = "px"] = LENGTH.exec(text.trim().toLowerCase()) ?? [];
  const pixels = Number(number?.replace(",", ".")) * UNITS[unit];
  if (pixels >= SMALLEST && pixels <= LARGEST) return pixels;
  throw new Error(
    `${JSON.stringify(text)} is no width such as 16 cm, 6.3 in or 600 px, from 100 to 20,000 px`,
  );
}

/** Why a text is no width of a picture; "" if it is one, or none. */
export function whyNoWidth(text: string): string {
  try {
    pixelsOf(text);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}
