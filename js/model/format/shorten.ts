/** Shortens graph names for bars: scopes in the middle go first, the last part stays. */

const ELLIPSIS = "…";
/** Different names cut to fewer characters often read the same, such as functions of one module. */
const LEAST_CUT = 8;

/**
 * `name` in at most `columns` characters: the last scope segment, then the
 * first, then as many more from the end and from the beginning as fit
 * ("gradients/…/MatMul_1_grad/MatMul_1"). A last segment that is too long
 * loses its middle, or has no room at all.
 */
export function shorten(name: string, columns: number): string {
  if (name.length <= columns) return name;
  let tail = name.lastIndexOf("/") + 1;
  const last = name.length - tail;
  if (last === 0 || last > columns)
    return columns < LEAST_CUT ? "" : cutMiddle(last ? name.slice(tail) : name, columns);
  if (last + 2 > columns) return name.slice(tail);
  let head = name.indexOf("/") + 1;
  // The text is name[0..head) … /name[tail..): "/" stands before the tail.
  if (head >= tail || head + last + 2 > columns) head = 0;
  const room = () => columns - head - 2 - (name.length - tail);
  while (true) {
    const before = name.lastIndexOf("/", tail - 2) + 1;
    if (before <= head || tail - before > room()) break;
    tail = before;
  }
  while (head > 0) {
    const after = name.indexOf("/", head) + 1;
    if (after >= tail || after - head > room()) break;
    head = after;
  }
  return `${name.slice(0, head)}${ELLIPSIS}/${name.slice(tail)}`;
}

/** `text` in at most `columns` characters, most of them from its start. */
export function cutMiddle(text: string, columns: number): string {
  const kept = columns - 1;
  // Names that differ mostly differ in a number at their end.
  let head = kept - Math.floor(kept / 3);
  let tail = text.length - Math.floor(kept / 3);
  if (isHighSurrogate(text, head - 1)) head--;
  if (isHighSurrogate(text, tail - 1)) tail++;
  return text.slice(0, head) + ELLIPSIS + text.slice(tail);
}

type WidthOf = (text: string) => number;

/** As much of the start of `text` as is at most `room` wide; "" if no letter is. */
export function cutEnd(text: string, room: number, widthOf: WidthOf): string {
  if (widthOf(text) <= room) return text;
  const letters = [...text];
  return longest(letters.length, (length) => letters.slice(0, length).join("") + ELLIPSIS, room, widthOf);
}

/** The same of its start and its end. */
export function cutInside(text: string, room: number, widthOf: WidthOf): string {
  if (widthOf(text) <= room) return text;
  return longest(text.length, (length) => cutMiddle(text, length + 1), room, widthOf);
}

function longest(past: number, cut: (length: number) => string, room: number, widthOf: WidthOf): string {
  let fits = 0;
  while (past - fits > 1) {
    const length = (fits + past) >> 1;
    if (widthOf(cut(length)) <= room) fits = length;
    else past = length;
  }
  return fits ? cut(fits) : "";
}

function isHighSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00;
}
