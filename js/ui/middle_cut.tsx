/** A text that loses its middle if it does not fit, at any width. */

import { withoutControls } from "../model/format/bidi";

/** Texts of other directions are one piece. */
const PARTS = /^([ -~]{10,})([ -~]{10})$/;

export function MiddleCut({ text }: { text: string }) {
  const [, start, end] = PARTS.exec(text) ?? [];
  if (!end) return withoutControls(text);
  return (
    <span class="middle-cut">
      <span>{start}</span>
      <span>{end}</span>
    </span>
  );
}
