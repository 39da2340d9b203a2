// The logs of runs as they grow: what is kept of each is bounded, however long it trains.
import { signal, type Signal } from '@preact/signals';

import { ask, follow } from '../engine/client';
import { toNumber } from '../engine/numbers';
import type { Finding, Num, RunInfo, RunLog } from '../engine/types';
import { addRun, loadSession, runs } from '../state/session';

export interface Steps {
  step: number[];
  epoch: number[];
  loss: number[];
  learning_rate: number[];
  gradient_norm: number[];
}
export type Metrics = Record<string, Num>;
export interface Epoch {
  epoch: number;
  step: number;
  train: Metrics;
  validation: Metrics;
  best?: boolean;
}
export interface Probe {
  step: number;
  layers: {
    name: string;
    parameters: { name: string; std: Num; norm: Num; gradient_norm: Num; update_norm: Num }[];
    activations: { op: string; mean: Num; std: Num; zero_share: Num; dead_share: Num; saturated_share: Num }[];
  }[];
}
export interface End {
  reason: string;
  step?: Num; // steps done
  test?: Metrics & { confusion?: number[][]; per_class?: { precision: Num; recall: Num; f1: Num }[] };
  seconds?: number;
}
export interface Begun {
  config?: Record<string, unknown>;
  parameters?: number;
  task?: string;
  command?: string[];
  data?: { name: string; train: number; validation: number; test: number; class_names?: string[] };
  environment?: { isa: string; threads: number; cpu: string };
}
export interface RunData {
  id: string;
  state: RunInfo['state'];
  begun: Begun | undefined;
  steps: Steps;
  total: number;
  epochs: Epoch[];
  probes: Probe[];
  samples: { step: number; text: string }[];
  findings: Finding[];
  end: End | undefined;
  loaded: boolean;
  error: string | undefined; // why there is no log, or why training here failed
}

const FIRST = 2000; // steps asked for at the beginning
const MOST_STEPS = 6000; // more are thinned to half
const MOST_PROBES = 240;
const MOST_SAMPLES = 60;
const MOST_EPOCHS = 4000;

const noSteps = (): Steps => ({ step: [], epoch: [], loss: [], learning_rate: [], gradient_norm: [] });
const empty = (id: string): RunData => ({
  id,
  state: 'elsewhere',
  begun: undefined,
  steps: noSteps(),
  total: 0,
  epochs: [],
  probes: [],
  samples: [],
  findings: [],
  end: undefined,
  loaded: false,
  error: undefined,
});

/** Half as many steps or fewer: of each stretch of eight its first, least, greatest and last loss. */
export function thinned(steps: Steps): Steps {
  const to = noSteps();
  const n = steps.step.length;
  // NaN is the greatest.
  const isLess = (a: number, b: number): boolean => steps.loss[a]! < steps.loss[b]! || (!Number.isNaN(steps.loss[a]) && Number.isNaN(steps.loss[b]));
  for (let from = 0; from < n; from += 8) {
    const end = Math.min(from + 8, n);
    let [least, most] = [from, from];
    for (let i = from; i < end; ++i) {
      if (isLess(i, least)) least = i;
      if (isLess(most, i)) most = i;
    }
    for (const i of [...new Set([from, least, most, end - 1])].sort((a, b) => a - b)) {
      to.step.push(steps.step[i]!);
      to.epoch.push(steps.epoch[i]!);
      to.loss.push(steps.loss[i]!);
      to.learning_rate.push(steps.learning_rate[i]!);
      to.gradient_norm.push(steps.gradient_norm[i]!);
    }
  }
  return to;
}

/** Every second of a list that is too long, and its last. */
const halved = <T>(list: T[], most: number): T[] => (list.length <= most ? list : list.filter((_, i) => i % 2 === 0 || i === list.length - 1));

/** What was known and what is new, as new values: a chart sees that they changed. */
export function merged(old: RunData, log: RunLog): RunData {
  const base = log.reset ? empty(old.id) : old;
  // After a resume from a checkpoint steps come again: what is later than the first new one goes.
  const first = log.steps.step.length ? toNumber(log.steps.step[0]!) : Infinity;
  let keep = base.steps.step.length;
  while (keep > 0 && base.steps.step[keep - 1]! >= first) --keep;
  const join = (a: number[], b: readonly Num[]): number[] => {
    const made = a.slice(0, keep);
    for (const x of b) made.push(toNumber(x));
    return made;
  };
  let steps: Steps = {
    step: join(base.steps.step, log.steps.step),
    epoch: join(base.steps.epoch, log.steps.epoch),
    loss: join(base.steps.loss, log.steps.loss),
    learning_rate: join(base.steps.learning_rate, log.steps.learning_rate),
    gradient_norm: join(base.steps.gradient_norm, log.steps.gradient_norm),
  };
  if (steps.step.length > MOST_STEPS) steps = thinned(steps);
  const newEpochs = log.epochs as Epoch[];
  // A run that became longer has the epoch in which it ended twice.
  const firstEnd = newEpochs[0]?.step ?? Infinity;
  const findings = [...base.findings];
  for (const f of log.findings)
    if (!findings.some((g) => g.rule === f.rule && g.layer === f.layer && g.step === f.step)) findings.push(f);
  return {
    ...base,
    loaded: true,
    error: log.error ?? undefined,
    state: log.state,
    begun: (log.begun as Begun | undefined) ?? base.begun,
    steps,
    // The log has one of several steps, and need not have the last.
    total: Math.max(
      base.total,
      steps.step[steps.step.length - 1] ?? 0,
      newEpochs[newEpochs.length - 1]?.step ?? 0,
      toNumber((log.end as End | null)?.step ?? 0),
    ),
    epochs: newEpochs.length ? halved([...base.epochs.filter((e) => e.step < firstEnd), ...newEpochs], MOST_EPOCHS) : base.epochs,
    probes: log.probes.length ? halved([...base.probes, ...(log.probes as Probe[])], MOST_PROBES) : base.probes,
    samples: log.samples.length ? [...base.samples, ...log.samples].slice(-MOST_SAMPLES) : base.samples,
    findings,
    end: log.state === 'running' || log.state === 'paused' ? undefined : ((log.end as End | null) ?? base.end),
  };
}

const stores = new Map<string, Signal<RunData>>();
export function runData(id: string): Signal<RunData> {
  let made = stores.get(id);
  if (!made) stores.set(id, (made = signal(empty(id))));
  return made;
}

/** What the engine says after an action: its log tells the same somewhat later. */
export function told(info: RunInfo): void {
  addRun(info);
  const store = runData(info.id);
  if (store.peek().loaded) store.value = { ...store.peek(), state: info.state };
}

function apply(known: RunData, log: RunLog): void {
  const store = runData(known.id);
  store.value = merged(known, log);
  const info = runs.peek().find((r) => r.id === known.id);
  if (info && info.state !== log.state) {
    addRun({ ...info, state: log.state, step: store.peek().total });
    if (log.state === 'finished' || log.state === 'stopped') void loadSession(); // its model
  }
}

/** Reads the logs of runs and follows them while the page is in sight. What is known of them stays until then. Returns what ends that. */
export function watch(ids: readonly string[]): () => void {
  let turn = 0; // of what is under way; another one has overtaken it
  let stop: (() => void) | undefined;
  const end = (): void => {
    ++turn;
    stop?.();
    stop = undefined;
  };
  const begin = async (): Promise<void> => {
    end();
    const own = turn;
    const cursors = new Map<string, number>();
    await Promise.all(
      ids.map(async (id) => {
        try {
          const log = await ask('run/log', { run: id, most: FIRST });
          if (own !== turn) return;
          apply(empty(id), log);
          cursors.set(id, log.cursor);
        } catch (e) {
          if (own !== turn) return;
          const known = runData(id).peek();
          // Without its log, its state is what the session says.
          const state = runs.peek().find((r) => r.id === id)?.state ?? known.state;
          runData(id).value = { ...known, state, loaded: true, error: e instanceof Error ? e.message : String(e) };
        }
      }),
    );
    if (own !== turn || !cursors.size) return;
    stop = follow(cursors, (log) => own === turn && apply(runData(log.run).peek(), log));
  };
  const turned = (): void => (document.hidden ? end() : void begin());
  document.addEventListener('visibilitychange', turned);
  void begin();
  return () => {
    document.removeEventListener('visibilitychange', turned);
    end();
  };
}
