// The example that a model is given, in the address: shared by all views that run a model, so that it stays from one to the next.
import { computed, type ReadonlySignal } from '@preact/signals';

import type { Edit, InputSpec, ModelInfo, Num, Part, TextInput } from '../engine/types';
import { route, setParams } from './route';
import { model } from './session';

/** Parameters of the address that say what a computation is of. */
export const SUBJECT_PARAMS = ['model', 'from', 'index', 'part', 'values', 'pixels', 'raw', 'text', 'tokens', 'drawn', 'edits'] as const;

export type Source = 'data' | 'draw' | 'numbers' | 'text';

/** Where examples can come from, the best first. */
export function sources(info: ModelInfo): Source[] {
  const list: Source[] = [];
  if (info.text) list.push('text');
  if (info.data) list.push('data');
  if (info.picture) list.push('draw');
  if (!info.text) list.push('numbers');
  return list;
}

/** How many numbers an example has. */
export const inputSize = (info: ModelInfo): number => {
  const shape = info.inputs[0]?.shape ?? [];
  return shape.reduce((a, b) => a * b, 1);
};

export function encodePixels(pixels: ArrayLike<number>, full: number): string {
  let text = '';
  for (let i = 0; i < pixels.length; ++i) text += String.fromCharCode(Math.round((pixels[i]! / full) * 255));
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** Bytes of a drawing as f32 of 0 to 1. */
export function decodePixels(text: string, size: number): number[] {
  const pixels = new Array<number>(size).fill(0);
  try {
    const raw = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
    for (let i = 0; i < Math.min(raw.length, size); ++i) pixels[i] = Math.fround(raw.charCodeAt(i) / 255);
  } catch {
    // An address that was cut: an empty drawing.
  }
  return pixels;
}

const words = /^([+-]?)(inf|infinity)$/i;
export function parseNumbers(text: string): Num[] {
  return text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map((word) => {
      const infinite = words.exec(word);
      if (infinite) return infinite[1] === '-' ? '-inf' : 'inf';
      const x = Number(word);
      return Number.isNaN(x) ? 'nan' : x;
    });
}

/** The first word that is no number, if there is one. */
export const notANumber = (text: string): string | undefined =>
  text.split(/[\s,;]+/).find((word) => word && Number.isNaN(Number(word)) && !words.test(word) && !/^nan$/i.test(word));

/** A value that stays the same object until its contents or those of `of` change, so that what depends on it is not computed again. */
function settled<T>(make: () => T, of: () => unknown = () => undefined): ReadonlySignal<T> {
  let last: { value: T; text: string } | undefined;
  return computed(() => {
    const value = make();
    const text = JSON.stringify([value, of()]);
    if (last?.text !== text) last = { value, text };
    return last.value;
  });
}

export const source = computed<Source>(() => {
  const info = model.value;
  const list: Source[] = info ? sources(info) : [];
  const named = route.value.params['from'] as Source | undefined;
  return named && list.includes(named) ? named : (list[0] ?? 'numbers');
});

/** The text before somebody types one. */
export const firstText = (): string => model.value?.text ?? '';

export const inputSpec = settled<InputSpec>(() => {
  const info = model.value;
  const p = route.value.params;
  const size = info ? inputSize(info) : 0;
  switch (source.value) {
    case 'data':
      return { part: (p['part'] as Part | undefined) ?? 'test', index: Math.max(Math.trunc(Number(p['index'] ?? 0)) || 0, 0) };
    case 'draw':
      return { values: decodePixels(p['pixels'] ?? '', size) };
    case 'text':
      return textSpec();
    case 'numbers': {
      const given = parseNumbers(p['values'] ?? '');
      return { values: Array.from({ length: size }, (_, i) => given[i] ?? 0) };
    }
  }
}, () => [model.value?.id, model.value?.version]);

/** The text of the address; of a generated one its tokens, which another text may be split into. */
export function textSpec(): TextInput {
  const { text, tokens } = route.value.params;
  const list = tokens?.split('.').map(Number) ?? [];
  return list.length && list.every((t) => Number.isInteger(t) && t >= 0) ? { tokens: list } : { text: text ?? firstText() };
}
/** Another text: it has no tokens from a generation. */
export const setText = (text: string): void => setParams({ from: 'text', text, tokens: undefined, drawn: undefined });

const isObject = (x: unknown): boolean => typeof x === 'object' && x !== null;
const isEdit = (e: Partial<Edit> | null): boolean =>
  isObject(e) &&
  typeof e!.at === 'string' &&
  (e!.index === undefined || (Array.isArray(e!.index) && e!.index.every(Number.isInteger))) &&
  (e!.noise === undefined || isObject(e!.noise)) &&
  (e!.patch === undefined || isObject(e!.patch));
/** The edits in the address; none if they are unreadable. */
export const edits = settled<Edit[]>(() => {
  try {
    const list: unknown = JSON.parse(route.value.params['edits'] ?? '[]');
    return Array.isArray(list) ? (list as Edit[]).filter(isEdit) : [];
  } catch {
    return [];
  }
});

export const setEdits = (list: readonly Edit[]): void => setParams({ edits: list.length ? JSON.stringify(list) : undefined }, true);

/** Parameters for a link into another view that keeps the model and the example. */
export function subjectParams(): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of SUBJECT_PARAMS) {
    const value = route.value.params[name];
    if (value !== undefined) kept[name] = value;
  }
  if (model.value) kept['model'] = model.value.id;
  return kept;
}
