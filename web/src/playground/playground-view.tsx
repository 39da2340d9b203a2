// Playground: a small network that trains before one's eyes, on the real engine, and leaves as a command with the same hash.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import { ask, sentence } from '../engine/client';
import { tell } from '../state/session';
import { brief, count, decodeF32, exact, percent, shortest, toNumber } from '../engine/numbers';
import type { PlayAnswer, PlayConfig, PlayData, PlayExport } from '../engine/types';
import { route, setParams } from '../state/route';
import { theme } from '../state/theme';
import { CopyText, Heading, NumberField, Problem, Select, Slider } from '../ui/controls';
import { Legend, LineChart } from '../ui/line-chart';
import { useAsk } from '../ui/use-ask';
import { Network } from './network';
import { Surface, type Plane, type Point } from './surface';
import './playground.css';

const dataNames = ['moons', 'circles', 'spiral', 'arms', 'xor', 'sine', 'abs', 'csv'] as const;
type DataName = (typeof dataNames)[number];
const dataTitles: Record<DataName, string> = {
  xor: 'XOR',
  moons: 'Moons',
  circles: 'Circles',
  spiral: 'Spiral',
  arms: 'Three arms',
  sine: 'Sine',
  abs: 'abs(x)',
  csv: 'My CSV',
};
/** Data whose noise can be chosen, and how much of it there is at first; XOR is its four rows, a table what it is. */
const noises: Partial<Record<DataName, number>> = { moons: 0.15, circles: 0.08, spiral: 0.03, arms: 0.03, sine: 0.05, abs: 0.02 };
const ROWS = 200;
const GRID = 64;
const MOST_HISTORY = 1500;
type History = { step: number[]; loss: number[]; test: number[] };

/** A CSV is too long for an address: it is kept while the page is open. */
let csvKept: { text: string; name: string } | undefined;

/** The names in a table's first line. */
const columnsOf = (csv: string): string[] =>
  (csv.split(/\r?\n/, 1)[0] ?? '').split(/[,;\t]/).map((name) => name.trim().replace(/^"(.*)"$/, '$1'));

/** The column to learn: the chosen one where the table has it, else the last. */
function targetOf(csv: string, chosen: string | undefined): string {
  const columns = columnsOf(csv);
  return chosen !== undefined && columns.includes(chosen) ? chosen : columns[columns.length - 1]!;
}

function configOf(p: Readonly<Record<string, string>>, csv: string | undefined): PlayConfig {
  const name: DataName = dataNames.find((n) => n === p['data'] && (n !== 'csv' || csv !== undefined)) ?? 'moons';
  const numbers = (text: string): number[] =>
    text
      .split(',')
      .map(Number)
      .filter((n) => Number.isInteger(n) && n > 0 && n <= 64)
      .slice(0, 6);
  return {
    data: {
      name,
      ...(name === 'csv' ? { csv: csv!, target: targetOf(csv!, p['target']) } : {}),
      ...(noises[name] === undefined ? {} : { noise: Number(p['noise'] ?? noises[name]), count: ROWS }),
      seed: Number(p['dseed'] ?? 0),
    },
    hidden: p['hidden'] === undefined ? [6, 4] : numbers(p['hidden']),
    activation: p['activation'] ?? 'tanh',
    optimizer: p['optimizer'] ?? 'adam',
    rate: Number(p['rate'] ?? 0.03),
    l2: Number(p['l2'] ?? 0),
    dropout: Number(p['dropout'] ?? 0),
    batch: Number(p['batch'] ?? 16),
    seed: Number(p['seed'] ?? 0),
  };
}

function Hidden({ sizes, onChange }: { sizes: number[]; onChange: (sizes: number[]) => void }) {
  return (
    <div class="field">
      <span>Hidden layers</span>
      <div class="row">
        {sizes.map((n, i) => (
          <span key={i} class="stepper" role="group" aria-label={`Units of layer ${i + 1}`}>
            <button aria-label="Fewer units" disabled={n <= 1} onClick={() => onChange(sizes.map((m, k) => (k === i ? m - 1 : m)))}>
              {'\u2212'}
            </button>
            <output>{n}</output>
            <button aria-label="More units" disabled={n >= 64} onClick={() => onChange(sizes.map((m, k) => (k === i ? m + 1 : m)))}>
              +
            </button>
          </span>
        ))}
        <button disabled={sizes.length >= 6} onClick={() => onChange([...sizes, 4])}>
          Add
        </button>
        <button disabled={sizes.length === 0} onClick={() => onChange(sizes.slice(0, -1))}>
          Remove
        </button>
      </div>
    </div>
  );
}

function Export({ config, steps }: { config: PlayConfig; steps: number }) {
  const [made, setMade] = useState<PlayExport | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const download = (name: string, bytes: Uint8Array<ArrayBuffer> | string, type: string): void => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([bytes], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return (
    <section class="sheet stack" aria-labelledby="export-title">
      <div class="row">
        <h2 id="export-title">Export</h2>
        <button
          onClick={() =>
            void ask('play/export', { config, steps }).then(
              (a) => (setMade(a), setError(undefined)),
              (e: unknown) => setError(sentence(e)),
            )
          }
        >
          Export {count(steps)} steps
        </button>
      </div>
      <Problem text={error} />
      {made && (
        <>
          <p class="quiet small">This command trains the same network, to the same hash.</p>
          <CopyText text={made.command} label="the command" />
          <dl class="facts">
            <dt>hash</dt>
            <dd class="mono" data-number="export-hash">
              {made.hash}
            </dd>
          </dl>
          <div class="row">
            <button onClick={() => download('model.safetensors', Uint8Array.from(atob(made.model), (c) => c.charCodeAt(0)), 'application/octet-stream')}>
              The model
            </button>
            <button onClick={() => download('model.h', made.cpp, 'text/plain')}>The C++ header</button>
            {made.csv !== null && <button onClick={() => download('data.csv', made.csv!, 'text/csv')}>The data</button>}
          </div>
        </>
      )}
    </section>
  );
}

export function PlaygroundView() {
  const params = route.value.params;
  const [csv, setCsv] = useState(csvKept);
  const key = JSON.stringify({ ...params, edited: undefined });
  const config = useMemo(() => configOf(params, csv?.text), [key, csv]);
  const keys = useAsk((abort) => ask('run/keys', {}, abort), []).answer?.keys;
  /** What a key of training may be; until the engine says so, what it is. */
  const choices = (path: string, chosen: string): string[] => keys?.find((k) => k.path === path)?.choices ?? [chosen];
  const [data, setData] = useState<PlayData | undefined>(undefined);
  const [answer, setAnswer] = useState<PlayAnswer | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const [running, setRunning] = useState(false);
  const [speed, setSpeed] = useState(2);
  // Why no command trains to this network.
  const [edited, setEdited] = useState<string | undefined>(undefined);
  const history = useRef<History>({ step: [], loss: [], test: [] });
  const [shown, setShown] = useState<History>(history.current);

  // One request at a time; what is wanted meanwhile is kept.
  const loop = useRef({ busy: false, running: false, speed: 2, steps: 0, fresh: true, alive: true, weights: [] as { at: string; index: number[]; set: number }[], version: 0 });
  const now = useRef({ config, state: undefined as string | undefined });

  const settings = JSON.stringify([config.rate, config.l2]);
  const begunWith = useRef(settings);

  const record = (a: PlayAnswer, fresh: boolean): void => {
    const h = fresh ? { step: [], loss: [], test: [] } : history.current;
    h.step.push(a.step);
    h.loss.push(toNumber(a.loss));
    h.test.push(toNumber(a.test_loss));
    if (h.step.length > MOST_HISTORY) {
      const half = (list: number[]): number[] => list.filter((_, i) => i % 2 === 0 || i === list.length - 1);
      h.step = half(h.step);
      h.loss = half(h.loss);
      h.test = half(h.test);
    }
    history.current = h;
    setShown({ ...h });
  };
  const turn = async (): Promise<void> => {
    const own = loop.current;
    if (own.busy || !own.alive) return;
    const steps = own.fresh ? 0 : own.running ? own.speed : own.steps;
    if (!own.fresh && steps === 0 && !own.weights.length) return;
    own.busy = true;
    const { fresh, version, weights } = own;
    own.fresh = false;
    own.steps = 0;
    own.weights = [];
    try {
      const a = await ask('play', {
        config: now.current.config,
        ...(fresh || now.current.state === undefined ? {} : { state: now.current.state }),
        steps,
        grid: GRID,
        units: true,
        ...(weights.length ? { weights } : {}),
      });
      if (own.alive && version === own.version) {
        now.current.state = a.state;
        setAnswer(a);
        setError(undefined);
        record(a, fresh);
      }
    } catch (e) {
      own.running = false;
      setRunning(false);
      setError(sentence(e));
    } finally {
      own.busy = false;
      if (own.alive) requestAnimationFrame(() => void turn());
    }
  };
  const reset = (): void => {
    loop.current.fresh = true;
    loop.current.version++;
    now.current.state = undefined;
    begunWith.current = JSON.stringify([now.current.config.rate, now.current.config.l2]);
    setEdited(undefined);
    void turn();
  };
  const structure = JSON.stringify([config.data, config.hidden, config.seed, config.activation, config.dropout, config.optimizer, config.batch]);
  useEffect(() => {
    now.current.config = config;
    if (loop.current.fresh || now.current.state === undefined || answer === undefined || answer.step === 0) begunWith.current = settings;
    else if (begunWith.current !== settings) setEdited('The rate or the regularisation was changed during training');
  }, [config]);
  useEffect(() => {
    let alive = true;
    ask('play/data', { config: now.current.config }).then(
      (d) => alive && (setData(d), setError(undefined)),
      (e: unknown) => {
        if (!alive) return;
        setData(undefined);
        setAnswer(undefined); // of other data
        setError(sentence(e));
      },
    );
    reset();
    return () => {
      alive = false;
    };
  }, [structure]);
  useEffect(() => {
    loop.current.alive = true;
    return () => {
      loop.current.alive = false;
    };
  }, []);
  const run = (on: boolean): void => {
    loop.current.running = on;
    loop.current.speed = speed;
    setRunning(on);
    if (on) void turn();
  };
  const set = (patch: Record<string, string>): void => setParams(patch);

  const plane: Plane | undefined = useMemo(
    () => (answer?.surface ? { values: decodeF32(answer.surface.base64), grid: answer.surface.grid, outputs: answer.surface.outputs, box: answer.surface.box } : undefined),
    [answer],
  );
  const classes = data?.classes ?? 2;
  const points: Point[] = useMemo(() => {
    if (!data) return [];
    const of = (inputs: PlayData['inputs'], targets: PlayData['targets'], test: boolean): Point[] =>
      inputs.map((x, i) => ({ x: toNumber(x[0]!), y: toNumber(x[1] ?? 0), target: toNumber(targets[i]!), test }));
    return [...of(data.inputs, data.targets, false), ...of(data.test_inputs, data.test_targets, true)];
  }, [data]);
  const range = useMemo(() => Math.max(1e-6, ...points.map((p) => Math.abs(p.target))), [points]);
  const curve = data && data.features.length === 1;
  const shade = theme.value;
  const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const lossSeries = useMemo(
    () => [
      { name: 'training', x: shown.step, y: shown.loss, colour: css('--accent') },
      { name: 'test', x: shown.step, y: shown.test, colour: css('--negative') },
    ],
    [shown, shade],
  );
  const curveSeries = useMemo(() => {
    if (!curve || !plane) return [];
    const [x0, x1] = plane.box;
    const x = Array.from({ length: plane.grid }, (_, i) => x0 + ((x1 - x0) * i) / (plane.grid - 1));
    const sorted = points.filter((p) => !p.test).sort((a, b) => a.x - b.x);
    return [
      { name: 'training data', x: sorted.map((p) => p.x), y: sorted.map((p) => p.target), colour: css('--negative'), scatter: true },
      { name: 'network', x, y: x.map((_, i) => shortest(plane.values[i * plane.outputs]!)), colour: css('--accent') },
    ];
  }, [curve, plane, points, shade]);

  const openCsv = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    const opened = { text: await file.text().catch(() => ''), name: file.name };
    try {
      // A file that is no such table changes nothing.
      await ask('play/data', { config: configOf({ ...route.peek().params, data: 'csv' }, opened.text) });
    } catch (e) {
      return tell(`${file.name}: ${sentence(e) ?? 'not opened'}`);
    }
    csvKept = opened;
    setCsv(csvKept);
    setParams({ data: 'csv' });
  };
  return (
    <>
      <Heading title="Playground">A small network that trains while you watch, computed by the library. Change any setting while it runs.</Heading>
      <div class="play-bar sheet">
        <button class="primary" onClick={() => run(!running)}>
          {running ? 'Pause' : 'Train'}
        </button>
        <button disabled={running} onClick={() => ((loop.current.steps = 1), void turn())}>
          One step
        </button>
        <button onClick={reset}>Reset</button>
        <dl class="stats play-stats">
          <div>
            <dt>step</dt>
            <dd data-number="step">{count(answer?.step ?? 0)}</dd>
          </div>
          <div>
            <dt>training loss</dt>
            <dd title={answer && exact(answer.loss)}>{answer ? brief(answer.loss) : ''}</dd>
          </div>
          <div>
            <dt>test loss</dt>
            <dd title={answer && exact(answer.test_loss)} data-number="test-loss">
              {answer ? brief(answer.test_loss) : ''}
            </dd>
          </div>
          {answer?.test_accuracy != null && (
            <div>
              <dt>test accuracy</dt>
              <dd>{percent(answer.test_accuracy)}</dd>
            </div>
          )}
        </dl>
        <div class="speed">
          <Slider
            label="Steps per frame"
            value={speed}
            min={1}
            max={50}
            onInput={(v) => {
              setSpeed(v);
              loop.current.speed = v;
            }}
          />
        </div>
      </div>
      <Problem text={error} />
      <div class="play">
        <div class="sheet stack play-settings" data-drop onDrop={(e) => void openCsv(e.dataTransfer?.files[0])}>
          <h2>Data</h2>
          <div class="data-choice" role="group" aria-label="Data">
            {dataNames.map((n) => (
              <button
                key={n}
                aria-pressed={config.data.name === n}
                onClick={() => (n === 'csv' && !csv ? document.getElementById('csv')?.click() : setParams({ data: n, noise: undefined }))}
              >
                {dataTitles[n]}
              </button>
            ))}
          </div>
          <input
            id="csv"
            type="file"
            accept=".csv,text/csv"
            hidden
            aria-label="CSV file"
            onChange={(e) => {
              void openCsv(e.currentTarget.files?.[0]);
              e.currentTarget.value = '';
            }}
          />
          {config.data.name === 'csv' ? (
            <>
              <p class="small quiet">
                {csv?.name}: one or two features and a target.{' '}
                <button class="link" onClick={() => document.getElementById('csv')?.click()}>
                  Another file
                </button>
              </p>
              <Select
                label="Target column"
                value={config.data.target ?? ''}
                options={columnsOf(config.data.csv ?? '').map((c) => [c, c] as const)}
                onChange={(v) => set({ target: v })}
              />
            </>
          ) : (
            noises[config.data.name as DataName] !== undefined && <Slider label="Noise" value={config.data.noise ?? 0} min={0} max={0.5} step={0.01} onInput={(v) => set({ noise: String(v) })} />
          )}
          <h2>Network</h2>
          <Hidden sizes={config.hidden} onChange={(sizes) => set({ hidden: sizes.join(',') || '0' })} />
          <Select
            label="Activation"
            value={config.activation}
            options={choices('model.activation', config.activation).map((n) => [n, n.replaceAll('_', ' ')] as const)}
            onChange={(v) => set({ activation: v })}
          />
          <h2>Training</h2>
          <Select
            label="Optimiser"
            value={config.optimizer}
            options={choices('optimizer.name', config.optimizer).map((n) => [n, n] as const)}
            onChange={(v) => set({ optimizer: v })}
          />
          <Slider
            label="Learning rate"
            value={Math.log10(config.rate)}
            min={-4}
            max={0.5}
            step={0.05}
            shown={brief(config.rate, 3)}
            onInput={(v) => set({ rate: String(Number((10 ** v).toPrecision(3))) })}
          />
          <Slider label="L2 regularisation" value={config.l2 ?? 0} min={0} max={0.1} step={0.001} onInput={(v) => set({ l2: String(v) })} />
          <Slider label="Dropout" value={config.dropout ?? 0} min={0} max={0.8} step={0.05} onInput={(v) => set({ dropout: String(v) })} />
          <Slider label="Batch" value={config.batch ?? 16} min={1} max={128} onInput={(v) => set({ batch: String(v) })} />
          <label class="field">
            <span>Seed</span>
            <NumberField min={0} value={String(config.seed ?? 0)} onChange={(text) => set({ seed: String(Math.max(Math.trunc(Number(text)) || 0, 0)) })} />
          </label>
        </div>
        <div class="stack play-network">
          {answer && data && (
            <div class="sheet">
              <h2>Units</h2>
              <p class="quiet small">The output of each unit over the input plane. Click a line to change its weight.</p>
              <Network
                answer={answer}
                features={data.features}
                onWeight={(w) => {
                  setEdited('A weight was set by hand');
                  loop.current.weights = [...loop.current.weights.filter((o) => o.at !== w.at || o.index.join() !== w.index.join()), w];
                  void turn();
                }}
              />
            </div>
          )}
          <div class="sheet">
            <LineChart name="Loss" xName="step" series={lossSeries} height={170} />
            <Legend series={lossSeries} />
          </div>
        </div>
        <div class="stack">
          <div class="sheet">
            <h2>{classes > 1 ? 'Decision surface' : 'Learnt function'}</h2>
            {plane && data && (curve ? <LineChart name="Network and data" xName={data.features[0] ?? 'x'} series={curveSeries} height={320} /> : (
              <Surface name={classes > 1 ? 'Decision surface' : 'Learnt function'} plane={plane} classes={classes} names={data.class_names} points={points} features={data.features} range={range} />
            ))}
            <p class="small quiet">{curve ? 'Dots: training data. Line: the network.' : 'Filled: training. Hollow: test.'}</p>
          </div>
          {answer && answer.step > 0 && edited === undefined && <Export config={config} steps={answer.step} />}
          {edited !== undefined && <p class="note">{edited}: no command trains to this network. Reset to export one.</p>}
        </div>
      </div>
    </>
  );
}
