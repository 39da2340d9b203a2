// The example that a model is given, in the address: shared by all views that run a model, so that it stays from one to the next.
import { computed } from '@preact/signals';

import type { Edit, InputSpec, ModelInfo, Num, Part } from '../engine/types';
import { route, setParams } from './route';
import { model } from './session';

/** Parameters of the address that say what a computation is of. */
export const SUBJECT_PARAMS = ['model', 'from', 'index', 'part', 'values', 'pixels', 'text', 'edits'] as const;

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

export function parseNumbers(text: string): Num[] {
  return text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number)
    .map((x) => (Number.isNaN(x) ? 'nan' : x));
}

/** A drawing that is under the pen, before it is in the address. */
export const source = computed<Source>(() => {
  const info = model.value;
  const list: Source[] = info ? sources(info) : [];
  const named = route.value.params['from'] as Source | undefined;
  return named && list.includes(named) ? named : (list[0] ?? 'numbers');
});

/** The text before somebody types one. */
export const firstText = (): string => model.value?.text ?? '';

export const inputSpec = computed<InputSpec>(() => {
  const info = model.value;
  const p = route.value.params;
  const size = info ? inputSize(info) : 0;
  switch (source.value) {
    case 'data':
      return { part: (p['part'] as Part | undefined) ?? 'test', index: Math.max(Math.trunc(Number(p['index'] ?? 0)) || 0, 0) };
    case 'draw':
      return { values: decodePixels(p['pixels'] ?? '', size) };
    case 'text':
      return { text: p['text'] ?? firstText() };
    case 'numbers': {
      const given = parseNumbers(p['values'] ?? '');
      return { values: Array.from({ length: size }, (_, i) => given[i] ?? 0) };
    }
  }
});

/** The list of edits of the address; anything unreadable is none. */
export const edits = computed<Edit[]>(() => {
  try {
    const list: unknown = JSON.parse(route.value.params['edits'] ?? '[]');
    return Array.isArray(list) ? (list as Edit[]) : [];
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
