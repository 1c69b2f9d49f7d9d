/** Positions of the frames of a flame graph. */

import type { Frame } from "./tree";

/** A rectangle in a row; x and width from 0 to 1. */
export interface Box {
  frame: Frame;
  /** 0 at the root or the enlarged frame. */
  row: number;
  x: number;
  width: number;
  /** The number of frames it stands for; `frame` is the first. None of them has boxes below. */
  merged: number;
}

const LEAST_PIXELS = 0.5;

/** Lays out a frame at full width below its callers, and its callees below it, each as wide as its share. */
export function layOut(zoomed: Frame, pixels: number): Box[] {
  const boxes: Box[] = [];
  for (let outer: Frame | null = zoomed; outer; outer = outer.parent)
    boxes.unshift({ frame: outer, row: 0, x: 0, width: 1, merged: 1 });
  for (const [row, box] of boxes.entries()) box.row = row;
  const least = LEAST_PIXELS / pixels;
  const todo = [boxes[boxes.length - 1]];
  for (const { frame, row, x, width } of todo) {
    let from = x;
    for (const [at, child] of frame.children.entries()) {
      const share = (child.total / frame.total) * width;
      const box = { frame: child, row: row + 1, x: from, width: share, merged: 1 };
      if (share < least) {
        // The rest is smaller still.
        box.merged = frame.children.length - at;
        box.width = frame.children.slice(at).reduce((sum, { total }) => sum + total, 0);
        box.width *= width / frame.total;
        if (box.width >= least) boxes.push(box);
        break;
      }
      boxes.push(box);
      todo.push(box);
      from += share;
    }
  }
  return boxes;
}

/** The box that an arrow key leads to: up and down among callers, left and right among those of a row. */
export function neighbour(boxes: readonly Box[], at: number, key: string): number {
  const { frame, row, x } = boxes[at];
  if (key === "ArrowUp")
    return Math.max(
      boxes.findIndex((box) => box.frame === frame.parent),
      0,
    );
  if (key === "ArrowDown") {
    const below = boxes.findIndex((box) => box.row === row + 1 && box.x >= x && box.frame.parent === frame);
    return below < 0 ? at : below;
  }
  const others = [...boxes.keys()].filter((other) => boxes[other].row === row);
  const next = others.indexOf(at) + (key === "ArrowRight" ? 1 : -1);
  return others[Math.min(Math.max(next, 0), others.length - 1)];
}
