/** Colour arithmetic on 8-bit sRGB: reading, mixing, contrast, and lightness as the eye sees it (OKLab). */

/** Red, green, blue in 0..255. */
export type Rgb = readonly [number, number, number];

/** Reads "#rgb", "#rrggbb" (with or without alpha, which is ignored) and "rgb(r, g, b)"; throws on anything else. */
export function parseColour(css: string): Rgb {
  const hex = /^#([0-9a-f]{3,8})$/i.exec(css.trim())?.[1];
  if (hex !== undefined && (hex.length === 3 || hex.length === 4)) {
    return eachPart((i) => Number.parseInt(hex[i] + hex[i], 16));
  }
  if (hex !== undefined && (hex.length === 6 || hex.length === 8)) {
    return eachPart((i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
  }
  const parts = /^rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)/i.exec(css.trim());
  if (parts === null) throw new Error(`"${css}" is not a colour this can read`);
  return [Number(parts[1]), Number(parts[2]), Number(parts[3])];
}

export function toHex(colour: Rgb): string {
  return `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

/** `share` of `over` and the rest of `under`. */
export function mix(under: Rgb, over: Rgb, share: number): Rgb {
  return eachPart((i) => under[i] + (over[i] - under[i]) * share);
}

/** The colour as one little-endian RGBA pixel of an ImageData, opaque. */
export function toPixel([red, green, blue]: Rgb): number {
  return ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
}

/** WCAG contrast ratio, 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** The same hue, rowHighlighter or darker by `by` (0.06 is 6 % of the way from black to white), kept inside sRGB. */
export function lighten(colour: Rgb, by: number): Rgb {
  const [lightness, a, b] = toOklab(colour);
  return fromOklab([Math.min(Math.max(lightness + by, 0), 1), a, b]);
}

/** The colour with this OKLCH lightness (0..1), chroma and hue (degrees), cut to sRGB. */
export function fromOklch(lightness: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  return fromOklab([lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)]);
}

function eachPart(part: (index: 0 | 1 | 2) => number): Rgb {
  return [part(0), part(1), part(2)];
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map(toLinear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function toLinear(part: number): number {
  const value = part / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

export function fromLinear(value: number): number {
  const part = value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055;
  return Math.min(Math.max(part * 255, 0), 255);
}

// The matrices of Björn Ottosson's OKLab (https://bottosson.github.io/posts/oklab/).
export function toOklab(colour: Rgb): Rgb {
  const [red, green, blue] = colour.map(toLinear);
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([lightness, a, b]: Rgb): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    fromLinear(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    fromLinear(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    fromLinear(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}
