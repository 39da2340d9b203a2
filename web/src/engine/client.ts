// The one way from the page to the engine: a request by name, its answer typed, its failure an EngineError with a sentence to show.
import { signal } from '@preact/signals';

import type * as t from './types';

/** Requests and answers by name. */
interface Endpoints {
  session: [Record<string, never>, t.Session];
  close: [{ model: string }, Record<string, never>];
  graph: [t.GraphRequest, t.Graph];
  parameters: [t.ParametersRequest, t.ParametersAnswer];
  tensor: [t.TensorRequest, t.TensorAnswer];
  data: [t.DataRequest, t.DataAnswer];
  forward: [t.ForwardRequest, t.ForwardAnswer];
  neuron: [t.NeuronRequest, t.Neuron];
  edit: [t.EditRequest, t.EditText];
  keep: [t.KeepRequest, t.ModelInfo];
  gradient: [t.GradientRequest, t.GradientAnswer];
  'run/log': [t.RunLogRequest, t.RunLog];
  'run/config': [t.RunConfigRequest, t.RunConfig];
  'run/diff': [t.RunDiffRequest, t.RunDiff];
  'run/keys': [Record<string, never>, t.RunConfigKeys];
  'run/start': [t.RunStartRequest, t.RunInfo];
  'run/action': [t.RunAction, t.RunInfo];
  'run/step': [t.RunStepRequest, t.RunStepAnswer];
  compare: [t.CompareRequest, t.CompareAnswer];
  'compare/runs': [t.CompareRunsRequest, t.CompareRunsAnswer];
  tokens: [t.TokensRequest, t.TokensAnswer];
  language: [t.LanguageRequest, t.LanguageAnswer];
  attention: [t.AttentionRequest, t.AttentionAnswer];
  generate: [t.GenerateRequest, t.GenerateAnswer];
  'play/data': [{ config: t.PlayConfig }, t.PlayData];
  play: [t.PlayRequest, t.PlayAnswer];
  'play/export': [{ config: t.PlayConfig; steps: number }, t.PlayExport];
  'lab/activations': [Record<string, never>, t.LabCurves];
  'lab/softmax': [{ logits: number[]; temperature: number }, t.LabSoftmax];
  'lab/losses': [{ target?: number }, t.LabLosses];
  'lab/init': [{ layers?: number; width?: number; seed?: number }, t.LabSpreads];
  'lab/norms': [{ values?: number[] }, t.LabNorms];
  'lab/dropout': [{ rate?: number; seed?: number; values?: number[] }, t.LabDropout];
  'lab/optimizers': [
    { surface?: string; start?: [number, number]; rate?: number; steps?: number; names?: string[] },
    t.LabPaths,
  ];
  'lab/collapse': [{ in?: number; hidden?: number; out?: number; seed?: number }, t.LabCollapse];
  'lab/perceptron': [{ target?: string; epochs?: number }, t.LabPerceptron];
  'lab/approximation': [{ units?: number[]; seed?: number }, t.LabApproximation];
}

export class EngineError extends Error {
  constructor(
    readonly code: t.ErrorCode | 'offline',
    message: string,
  ) {
    super(message);
  }
}

/** Whether the last request reached the engine. */
export const reachable = signal(true);

const token = new URLSearchParams(location.search).get('token') ?? '';

async function send(path: string, body: BodyInit, type: string, abort?: AbortSignal): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(`/api/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': type, Authorization: `Bearer ${token}` },
      body,
      ...(abort ? { signal: abort } : {}),
    });
  } catch (e) {
    if (abort?.aborted) throw e;
    reachable.value = false;
    throw new EngineError('offline', 'The engine does not answer. Is `limpid view` still running?');
  }
  reachable.value = true;
  const text = await response.text();
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new EngineError('internal', `Expected JSON from the engine, got something else with status ${response.status}.`);
  }
  if (response.ok) return answer;
  const error = (answer as Partial<t.Failure>).error ?? `The engine answered ${response.status}.`;
  throw typeof error === 'string' ? new EngineError('internal', error) : new EngineError(error.code, error.message);
}

/** Asks the engine. Throws an EngineError, or the AbortError of `abort`. */
export async function ask<K extends keyof Endpoints>(
  name: K,
  request: Endpoints[K][0],
  abort?: AbortSignal,
): Promise<Endpoints[K][1]> {
  return (await send(name, JSON.stringify(request), 'application/json', abort)) as Endpoints[K][1];
}

/** Gives the engine a file that was dropped on the page. */
export async function openFile(file: File): Promise<t.ModelInfo> {
  const path = `open?name=${encodeURIComponent(file.name)}`;
  return (await send(path, file, 'application/octet-stream')) as t.ModelInfo;
}

/**
 * Follows the logs of runs, each from its cursor on. Returns what ends it. One stream has them all: a browser keeps no more than six
 * connections to a server, and a stream has one for as long as it is open.
 */
export function follow(cursors: ReadonlyMap<string, number>, each: (log: t.RunLog) => void): () => void {
  const query = new URLSearchParams({ runs: Array.from(cursors, ([run, cursor]) => `${run}:${cursor}`).join(), token });
  const events = new EventSource(`/api/run/events?${query}`);
  events.onmessage = (event) => each(JSON.parse(event.data as string) as t.RunLog);
  return () => events.close();
}

/** Where a run's report is. */
export const reportAddress = (run: string): string => `/api/run/report?${new URLSearchParams({ run, token })}`;

/** What to show of something caught; nothing where a request was only overtaken by a newer one. */
export function sentence(e: unknown): string | undefined {
  if (e instanceof DOMException && e.name === 'AbortError') return undefined;
  return e instanceof Error ? e.message : String(e);
}
