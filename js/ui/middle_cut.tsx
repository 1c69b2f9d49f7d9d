/** A text that loses its middle if it does not fit, at any width. */

import { withoutControls } from "../model/format/bidi";

const TAIL = 12;

export function MiddleCut({ text }: { text: string }) {
  const letters = [...withoutControls(text)];
  const at = Math.max(letters.length - TAIL, 0);
  return (
    <span class="middle-cut">
      <span>{letters.slice(0, at).join("")}</span>
      {letters.slice(at).join("")}
    </span>
  );
}
