/** A 2D context that writes SVG instead of painting pixels, with only the members that the drawing code uses. */

const FONT = /^(?:(\w+) )?([\d.]+)px (.*)$/;

const number = (value: number) => `${Math.round(value * 100) / 100}`;
const numbers = (...values: number[]) => values.map(number).join(" ");

/** A path as the data of an SVG path. */
export class SvgPath {
  d = "";

  moveTo(x: number, y: number): void {
    this.d += `M${numbers(x, y)}`;
  }

  lineTo(x: number, y: number): void {
    this.d += `L${numbers(x, y)}`;
  }

  bezierCurveTo(...places: number[]): void {
    this.d += `C${numbers(...places)}`;
  }

  closePath(): void {
    this.d += "z";
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.d += `M${numbers(x, y)}h${number(width)}v${number(height)}h${number(-width)}z`;
  }

  roundRect(x: number, y: number, width: number, height: number, radius: number): void {
    const corner = (dx: number, dy: number) => `a${numbers(radius, radius)} 0 0 1 ${numbers(dx, dy)}`;
    const [r, w, h] = [radius, width - 2 * radius, height - 2 * radius];
    this.d += `M${numbers(x + r, y)}h${number(w)}${corner(r, r)}v${number(h)}${corner(-r, r)}h${number(-w)}`;
    this.d += `${corner(-r, -r)}v${number(-h)}${corner(r, -r)}z`;
  }
}

export class SvgPen extends SvgPath {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "left";
  textBaseline = "alphabetic";
  #parts: string[] = [];
  #dash = "";
  /** The path that came last, to which another one like it is added. */
  #last: { attributes: string; d: string[] } | null = null;
  #open = 0;
  /** Knows how wide a text is, and other names of a colour. */
  readonly #canvas = new OffscreenCanvas(1, 1).getContext("2d")!;

  constructor(readonly patterns: { count: number } = { count: 0 }) {
    super();
  }

  /** The drawing as SVG elements. */
  get text(): string {
    this.#flush();
    return this.#parts.join("") + "</g>".repeat(this.#open);
  }

  beginPath(): void {
    this.d = "";
  }

  fill(path: SvgPath = this): void {
    this.#path(path.d, this.#painted("fill", this.fillStyle));
  }

  stroke(path: SvgPath = this): void {
    const dash = this.#dash && ` stroke-dasharray="${this.#dash}"`;
    const line = `stroke-width="${number(this.lineWidth)}"${dash}`;
    this.#path(path.d, `fill="none" ${this.#painted("stroke", this.strokeStyle)} ${line}`);
  }

  fillRect(...box: [x: number, y: number, width: number, height: number]): void {
    const path = new SvgPath();
    path.rect(...box);
    this.fill(path);
  }

  strokeRect(...box: [x: number, y: number, width: number, height: number]): void {
    const path = new SvgPath();
    path.rect(...box);
    this.stroke(path);
  }

  clearRect(): void {}

  setLineDash(lengths: number[]): void {
    this.#dash = lengths.join(" ");
  }

  translate(x: number, y: number): void {
    this.#add(`<g transform="translate(${numbers(x, y)})">`);
    this.#open++;
  }

  measureText(text: string, baseline = "alphabetic"): TextMetrics {
    this.#canvas.font = this.font;
    this.#canvas.textBaseline = baseline as CanvasTextBaseline;
    return this.#canvas.measureText(text);
  }

  fillText(text: string, x: number, y: number, room = Number.POSITIVE_INFINITY): void {
    const [, weight = "", size = "10", family = ""] = FONT.exec(this.font) ?? [];
    const [plain, own] = ["alphabetic", this.textBaseline].map((baseline) =>
      this.measureText(text, baseline),
    );
    const baseline = y + plain.actualBoundingBoxAscent - own.actualBoundingBoxAscent;
    const narrow = plain.width > room + 1 && ` textLength="${number(room)}" lengthAdjust="spacingAndGlyphs"`;
    const anchor = this.textAlign === "right" && ' text-anchor="end"';
    const bold = weight && weight !== "400" && ` font-weight="${weight}"`;
    this.#add(
      `<text x="${number(x)}" y="${number(baseline)}" font-family="${escaped(family)}" font-size="${size}"${bold || ""}` +
        `${anchor || ""}${narrow || ""} ${this.#painted("fill", this.fillStyle)}>${escaped(text)}</text>`,
    );
  }

  /** Draw into a part of the picture, which cuts off what lies outside. */
  layer(x: number, y: number, width: number, height: number, draw: (pen: SvgPen) => void): void {
    const pen = new SvgPen(this.patterns);
    draw(pen);
    const place = `x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"`;
    this.#add(`<svg ${place}>${pen.text}</svg>`);
  }

  /** A tile that fills the shapes with its style. */
  pattern(size: number, draw: (pen: SvgPen) => void): string {
    const pen = new SvgPen(this.patterns);
    draw(pen);
    const id = `tile-${++this.patterns.count}`;
    const shape = `id="${id}" width="${size}" height="${size}" patternUnits="userSpaceOnUse"`;
    this.#add(`<defs><pattern ${shape}>${pen.text}</pattern></defs>`);
    return `url(#${id})`;
  }

  #painted(property: "fill" | "stroke", style: string): string {
    const [colour, own] = this.#colour(style);
    const alpha = own * this.globalAlpha;
    return `${property}="${colour}"${alpha < 1 ? ` ${property}-opacity="${number(alpha)}"` : ""}`;
  }

  /** A colour as programs besides browsers know it, and its opacity. */
  #colour(style: string): [string, number] {
    if (style.startsWith("url(")) return [style, 1];
    this.#canvas.fillStyle = style;
    const found = this.#canvas.fillStyle;
    const mixed = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.]+))?/.exec(found);
    if (!mixed) return [found, 1];
    const [, red, green, blue, alpha = 1] = mixed;
    return [`rgb(${[red, green, blue].map((part) => Math.round(Number(part) * 255))})`, Number(alpha)];
  }

  #path(d: string, attributes: string): void {
    if (this.#last?.attributes !== attributes || this.globalAlpha < 1) {
      this.#flush();
      this.#last = { attributes, d: [] };
    }
    this.#last.d.push(d);
  }

  #add(part: string): void {
    this.#flush();
    this.#parts.push(part);
  }

  #flush(): void {
    if (this.#last) this.#parts.push(`<path ${this.#last.attributes} d="${this.#last.d.join("")}"/>`);
    this.#last = null;
  }
}

const MARKUP: Record<string, string> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" };

/** A text with XML's special characters escaped, and invalid ones removed. */
export function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll(/[<>&"]/g, (letter) => MARKUP[letter]);
}
