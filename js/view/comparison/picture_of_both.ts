/** The picture of a comparison: its headline, and under it those of both timelines. */

import type { Store } from "../../state/store";
import { pictureOf } from "../canvas/picture";

const MARGIN = 24;
const HEAD = 72;

export async function pictureOfBoth(
  root: HTMLElement,
  headline: string,
  stores: readonly Store[],
): Promise<Blob> {
  const roots = [...root.querySelectorAll<HTMLElement>(".tfvis-timeline")].flatMap(
    (pane) => pane.shadowRoot?.querySelector<HTMLElement>(".tfv[data-drawn]") ?? [],
  );
  const pictures = await Promise.all(
    roots.map(async (each, side) => createImageBitmap(await pictureOf(each, stores[side]))),
  );
  const style = getComputedStyle(root);
  const head = headline ? HEAD : 0;
  const width = Math.max(...pictures.map((picture) => picture.width));
  const canvas = new OffscreenCanvas(
    width,
    pictures.reduce((sum, picture) => sum + picture.height, head),
  );
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = style.backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = style.color;
  pen.font = `650 26px ${style.fontFamily}`;
  pen.textBaseline = "middle";
  pen.fillText(headline, MARGIN, head / 2, width - 2 * MARGIN);
  let top = head;
  for (const picture of pictures) {
    pen.drawImage(picture, 0, top);
    top += picture.height;
  }
  return canvas.convertToBlob({ type: "image/png" });
}
