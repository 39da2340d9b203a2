// What the engine has open, and which model is looked at.
import { computed, signal } from '@preact/signals';

import { ask, openFile, sentence } from '../engine/client';
import type { ModelInfo, RunInfo, Session } from '../engine/types';
import { route, setParams } from './route';

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
    sessionError.value = sentence(e);
  }
}

export const models = computed<ModelInfo[]>(() => session.value?.models ?? []);
export const runs = computed<RunInfo[]>(() => session.value?.runs ?? []);

/** The model that the address names, else the first with a function, else the first. */
export const model = computed<ModelInfo | undefined>(() => {
  const named = models.value.find((m) => m.id === route.value.params['model']);
  return named ?? models.value.find((m) => m.kind === 'model') ?? models.value[0];
});

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

/** Opens dropped files one after the other; what is wrong with one is told, and the page stays as it is. */
export async function openFiles(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    try {
      const info = await openFile(file);
      addModel(info);
      chooseModel(info.id);
      tell(`Opened ${info.name}.`);
    } catch (e) {
      tell(`${file.name}: ${sentence(e) ?? 'not opened'}`);
    }
  }
}
