/** Names written from right to left, or that reorder their neighbours: each is isolated from the text around it. */

/** Letters of Hebrew, Arabic and others that run so. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** Bidi controls affect all following text; an unmatched closer ends outer embeddings. */
const CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text as it can be drawn: each letter in its own direction. */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, "");
}

/** The text as a part of a longer one, which goes on behind it whatever is in it. */
export function isolated(text: string): string {
  const plain = withoutControls(text);
  return plain === text && !RIGHT_TO_LEFT.test(text) ? text : `\u2068${plain}\u2069`;
}
