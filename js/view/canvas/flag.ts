import type { Tokens } from "../../ui/theme";
import type { Surface } from "./surface";

/** A small flag with a length on it, kept inside the picture. */
export function flag(
  surface: Surface,
  tokens: Tokens,
  middle: number,
  y: number,
  text: string,
  colour: string,
  span: number,
): void {
  const { context } = surface;
  if (middle + span / 2 < 0 || middle - span / 2 > surface.width) return;
  context.font = `10.5px ${tokens.font}`;
  const width = context.measureText(text).width + 12;
  const x = Math.min(Math.max(middle - width / 2, 2), surface.width - width - 14);
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x, y, width, 18, 3);
  context.fill();
  context.fillStyle = tokens.ground;
  context.fillText(text, x + 6, y + 12.5);
}
