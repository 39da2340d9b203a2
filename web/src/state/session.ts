// What the engine has open, and which model is looked at.
import { computed, signal } from '@preact/signals';

import { ask, openFile, sentence } from '../engine/client';
import type { ModelInfo, RunInfo, Session } from '../engine/types';
import { bytes } from '../engine/numbers';
import { go, route, setParams } from './route';

export const session = signal<Session | undefined>(undefined);
/** Why there is no session. */
export const sessionError = signal<string | undefined>(undefined);
/** A sentence at the foot of the page, for some seconds. */
export const notice = signal<string | undefined>(undefined);

let noticeTimer = 0;
export function tell(text: string | undefined): void {
  if (text === undefined) return;
  notice.value = text;
  clearTimeout(noticeTimer);
  noticeTimer = window.setTimeout(() => (notice.value = undefined), 7000);
}

export async function loadSession(): Promise<void> {
  try {
    session.value = await ask('session', {});
    sessionError.value = undefined;
  } catch (e) {
    // What is shown stays if there is something.
    if (session.peek()) tell(sentence(e));
    else sessionError.value = sentence(e);
  }
}

export const models = computed<ModelInfo[]>(() => session.value?.models ?? []);
export const runs = computed<RunInfo[]>(() => session.value?.runs ?? []);

/** The model that the address names, else the first with a function, else the first. */
export const model = computed<ModelInfo | undefined>(() => {
  const named = models.value.find((m) => m.id === route.value.params['model']);
  return named ?? models.value.find((m) => m.kind === 'model') ?? models.value[0];
});

/** What a model or run is called: by its name, and by what tells it from another of this name. */
const title = <T extends { id: string; name: string }>(one: T, list: readonly T[], more: string): string =>
  list.some((o) => o.id !== one.id && o.name === one.name) ? `${one.name} (${more})` : one.name;
export const modelTitle = (m: ModelInfo): string => title(m, models.value, m.id);
export const runTitle = (r: RunInfo): string => title(r, runs.value, r.path);

/** Models of the address that are not open. */
export const missing = computed<string[]>(() => {
  const p = route.value.params;
  const named = [p['model'], p['a'], p['b']].filter((id): id is string => id !== undefined);
  return session.value ? [...new Set(named)].filter((id) => !models.value.some((m) => m.id === id)) : [];
});

/** Opens a model of the address again: one after a step of a run is computed. Of another nothing is known. */
export async function reopen(id: string): Promise<void> {
  const [run, step] = id.split('@');
  try {
    if (step === undefined || !runs.peek().some((r) => r.id === run)) throw new Error(`The model ${id} of this link is not open here.`);
    await ask('run/step', { run: run!, step: Number(step) });
    await loadSession();
  } catch (e) {
    tell(sentence(e));
    const p = route.peek().params;
    setParams(Object.fromEntries(['model', 'a', 'b'].filter((key) => p[key] === id).map((key) => [key, undefined])));
  }
}

/** Closes a model that is not of the command line. */
export async function closeModel(id: string): Promise<void> {
  try {
    await ask('close', { model: id });
    setParams({ model: undefined });
    await loadSession();
  } catch (e) {
    tell(sentence(e));
  }
}

/** Adds a model to what is open, or replaces the one of its id. */
export function addModel(info: ModelInfo): void {
  const now = session.peek();
  if (now) session.value = { ...now, models: [...now.models.filter((m) => m.id !== info.id), info] };
}

export function addRun(info: RunInfo): void {
  const now = session.peek();
  if (!now) return;
  const known = now.runs.some((r) => r.id === info.id);
  session.value = { ...now, runs: known ? now.runs.map((r) => (r.id === info.id ? info : r)) : [...now.runs, info] };
}

export function chooseModel(id: string): void {
  setParams({ model: id }, true);
}

/** Shows a model that was just opened: where one compares, as the second one; from a view without a model, its graph. */
function show(id: string): void {
  const view = route.peek().view;
  if (view === 'compare') setParams({ model: id, b: id, what: undefined }, true);
  else if (['training', 'playground', 'lab'].includes(view)) go('graph', { model: id });
  else chooseModel(id);
}

/** Opens dropped files one after the other; what is wrong with one is told, and the page stays as it is. */
export async function openFiles(files: Iterable<File>): Promise<void> {
  const most = session.peek()?.limits.file ?? Infinity;
  for (const file of files) {
    try {
      if (file.size > most) throw new Error(`expected at most ${bytes(most)}, got ${bytes(file.size)}`);
      await file.slice(0, 1).arrayBuffer().catch(() => {
        throw new Error('it cannot be read: is it a folder?');
      });
      const info = await openFile(file);
      addModel(info);
      show(info.id);
      tell(`Opened ${info.name}.`);
    } catch (e) {
      tell(`${file.name}: ${sentence(e) ?? 'not opened'}`);
    }
  }
}
