// The engine's numbers: what they are as numbers, and how they are shown.
import type { Num, Values } from './types';

/** A number for drawing: NaN and infinities as JavaScript has them. */
export function toNumber(x: Num): number {
  if (typeof x === 'number') return x;
  return x === 'inf' ? Infinity : x === '-inf' ? -Infinity : NaN;
}

/** Whether a text is an integer that JavaScript would round. */
export const isRounded = (text: string): boolean => /^\s*-?\d+\s*$/.test(text) && !Number.isSafeInteger(Number(text));

const MINUS = '\u2212';
const signed = (text: string): string => text.replace(/^-/, MINUS).replace(/e-/, `e${MINUS}`);

/** The fewest digits that read back as the same f32. */
export function shortest(x: number): number {
  for (let digits = 1; digits < 9; ++digits) {
    const short = Number(x.toPrecision(digits));
    if (Math.fround(short) === x) return short;
  }
  return Number(x.toPrecision(9));
}

/** A number as an element of a dtype, where that has fewer digits than JavaScript's numbers. */
export const rounded = (x: number, dtype: string | undefined): number => (dtype === 'f32' ? Math.fround(x) : x);

/** All digits, as the tool prints them: 0.0001 and 1e-05. */
export function exact(x: Num): string {
  if (typeof x !== 'number') return x;
  if (!Number.isFinite(x)) return Number.isNaN(x) ? 'nan' : x > 0 ? 'inf' : '-inf';
  const size = Math.abs(x);
  if (x === 0 || (size >= 1e-4 && size < 1e16)) return Object.is(x, -0) ? '-0' : String(x);
  return x.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

/** To about `digits` figures, for reading; exact() has them all. */
export function brief(x: Num, digits = 4): string {
  const v = toNumber(x);
  if (Number.isNaN(v)) return 'nan';
  if (!Number.isFinite(v)) return v > 0 ? '∞' : `${MINUS}∞`;
  if (v === 0) return '0';
  if (Number.isInteger(v) && Math.abs(v) < 1e6) return signed(String(v));
  const size = Math.abs(v);
  if (size >= 1e6 || size < 1e-4) return signed(v.toExponential(Math.max(digits - 2, 1)));
  return signed(v.toFixed(Math.min(Math.max(digits - 1 - Math.floor(Math.log10(size)), 0), 6)));
}

/** 268,800. */
export const count = (n: number): string => n.toLocaleString('en-GB');

/** 1.2 k, 26 M: beside other words. */
export function short(n: number): string {
  if (n < 10_000) return count(n);
  for (const [size, unit] of [
    [1e12, ' T'],
    [1e9, ' G'],
    [1e6, ' M'],
    [1e3, ' k'],
  ] as const)
    if (n >= size) return (n / size).toFixed(n / size < 10 ? 1 : 0) + unit;
  return count(n);
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let i = -1;
  do {
    n /= 1024;
    ++i;
  } while (n >= 1024 && i < units.length - 1);
  return `${n < 10 ? n.toFixed(1) : n.toFixed(0)} ${units[i]}`;
}

export const percent = (x: Num, digits = 1): string => `${(100 * toNumber(x)).toFixed(digits)}\u202f%`;

/** 256 × 784; a scalar has none. */
export const shapeText = (shape: readonly number[]): string => (shape.length ? shape.join(' × ') : 'scalar');

/** A token's characters, spaces and line ends included. */
export const visible = (token: string): string => token.replace(/ /g, '\u2423').replace(/\n/g, '\u21b5').replace(/\t/g, '\u21e5') || '\u2205';

/** The elements of an answer, for drawing. */
export function elements(values: Values): Float32Array | Float64Array {
  if (values.base64 !== undefined) return decodeF32(values.base64);
  return Float64Array.from(values.values ?? [], toNumber);
}

/** Little-endian f32. */
export function decodeF32(base64: string): Float32Array {
  const text = atob(base64);
  const raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) raw[i] = text.charCodeAt(i);
  return new Float32Array(raw.buffer);
}
