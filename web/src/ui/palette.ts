// Colours of numbers: blue above zero, orange below, the ground at zero. Blue and orange stay apart in every common colour blindness.
import type { Theme } from '../state/theme';

type Rgb = readonly [number, number, number];

const stops: Record<Theme, readonly Rgb[]> = {
  light: [
    [122, 46, 0],
    [214, 120, 40],
    [247, 246, 242],
    [92, 148, 224],
    [14, 52, 122],
  ],
  dark: [
    [255, 196, 150],
    [190, 98, 28],
    [32, 34, 39],
    [48, 108, 200],
    [176, 210, 255],
  ],
};

const HALF = 255;
const tables = new Map<Theme, Uint32Array>();

/** 511 colours as the canvas stores them, from -1 to 1. */
function table(theme: Theme): Uint32Array {
  let made = tables.get(theme);
  if (made) return made;
  made = new Uint32Array(2 * HALF + 1);
  const colours = stops[theme];
  for (let i = 0; i < made.length; ++i) {
    const at = (i / (made.length - 1)) * (colours.length - 1);
    const low = Math.min(Math.floor(at), colours.length - 2);
    const [a, b] = [colours[low]!, colours[low + 1]!];
    const mix = (k: 0 | 1 | 2): number => Math.round(a[k] + (b[k] - a[k]) * (at - low));
    made[i] = (255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0);
  }
  tables.set(theme, made);
  return made;
}

/** Writes the colours of `values` / `scale`, clamped to -1..1; NaN is magenta. */
export function paint(values: ArrayLike<number>, scale: number, theme: Theme, pixels: Uint32Array): void {
  const colours = table(theme);
  const by = scale > 0 && Number.isFinite(scale) ? HALF / scale : 0;
  for (let i = 0; i < pixels.length; ++i) {
    const v = values[i];
    if (v === undefined) pixels[i] = 0;
    else if (Number.isNaN(v)) pixels[i] = 0xffc000c0;
    // Among zeros alone the scale is 0, and the product below is no number.
    else if (Math.abs(v) === Infinity) pixels[i] = colours[v > 0 ? 2 * HALF : 0]!;
    else pixels[i] = colours[Math.round(Math.max(-HALF, Math.min(HALF, v * by))) + HALF]!;
  }
}

/** The same as text for a style. */
export function colour(value: number, scale: number, theme: Theme): string {
  const pixel = new Uint32Array(1);
  paint([value], scale, theme, pixel);
  const p = pixel[0]!;
  return `rgb(${p & 255} ${(p >> 8) & 255} ${(p >> 16) & 255})`;
}

/** The greatest finite magnitude, what a scale starts from. */
export function magnitude(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; ++i) {
    const v = Math.abs(values[i]!);
    if (v > most && v < Infinity) most = v;
  }
  return most;
}

/** Of classes: Okabe and Ito's colours, told apart in every common colour blindness. */
export const classColours: Record<Theme, readonly string[]> = {
  light: ['#1f5fbf', '#c45c00', '#00795a', '#a03f78', '#6f6300', '#1180a8', '#444750', '#8c4a2f', '#4b3f9e', '#5c6b00'],
  dark: ['#7fb0ff', '#f0924c', '#3fc79d', '#e08fbd', '#e3d14b', '#6ecbef', '#b4b7bf', '#d9a38a', '#ab9ff2', '#bccf52'],
};
