// Lab: small experiments on what networks are made of, each with sliders and the engine's numbers.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';

import experimentsPage from '../../../docs/experiments.md?url';
import oneNeuronPage from '../../../docs/tour/01-one-neuron.md?url';
import trainingPage from '../../../docs/tour/02-training.md?url';
import insidePage from '../../../docs/tour/08-inside.md?url';
import transformationsPage from '../../../docs/transformations.md?url';
import { ask } from '../engine/client';
import type { Num } from '../engine/types';
import { brief, count, exact, percent, toNumber } from '../engine/numbers';
import { route, setParams } from '../state/route';
import { theme } from '../state/theme';
import { Choice, Heading, Problem, Select, Slider } from '../ui/controls';
import { HeatMap } from '../ui/heat-map';
import { Legend, LineChart, type Series } from '../ui/line-chart';
import { classColours, paint } from '../ui/palette';
import { useAsk } from '../ui/use-ask';
import { useInSight } from '../ui/use-in-sight';
import { RowsTable } from '../ui/value-table';
import './lab.css';

/** A page of docs, which the tool has beside this one: it opens offline. */
type Page = readonly [path: string, address: string];
const pages = {
  experiments: ['docs/experiments.md', experimentsPage],
  oneNeuron: ['docs/tour/01-one-neuron.md', oneNeuronPage],
  training: ['docs/tour/02-training.md', trainingPage],
  inside: ['docs/tour/08-inside.md', insidePage],
  transformations: ['docs/transformations.md', transformationsPage],
} as const satisfies Record<string, Page>;

const colours = (): readonly string[] => classColours[theme.value];

type Setter<T> = (value: T) => void;
/** A number of an experiment, in the address: a link has it. */
function useNumber(name: string, otherwise: number): [number, Setter<number>] {
  const text = route.value.params[name];
  const value = text === undefined || text.trim() === '' ? NaN : Number(text);
  return [Number.isFinite(value) ? value : otherwise, (x) => setParams({ [name]: x === otherwise ? undefined : String(x) })];
}
function useNumbers(name: string, otherwise: readonly number[]): [number[], Setter<number[]>] {
  const text = route.value.params[name];
  return useMemo(() => {
    const values = (text ?? '').split(',').map(Number);
    const usable = text !== undefined && values.length === otherwise.length && values.every(Number.isFinite);
    return [usable ? values : [...otherwise], (x) => setParams({ [name]: x.join() === otherwise.join() ? undefined : x.join() })];
  }, [text]);
}
function useText(name: string, otherwise: string): [string, Setter<string>] {
  return [route.value.params[name] ?? otherwise, (x) => setParams({ [name]: x === otherwise ? undefined : x })];
}

function Experiment(props: { title: string; children: ComponentChildren; text: string; page: Page; error: string | undefined }) {
  return (
    <section class="sheet stack experiment" aria-label={props.title}>
      <h2>{props.title}</h2>
      <p class="quiet">{props.text}</p>
      <Problem text={props.error} />
      {props.children}
      <p class="small quiet">
        More of it:{' '}
        <a class="mono" href={props.page[1]} target="_blank" rel="noreferrer">
          {props.page[0]}
        </a>
      </p>
    </section>
  );
}

function Activations() {
  const { answer, error } = useAsk((abort) => ask('lab/activations', {}, abort), []);
  const name = route.value.params['activation'] ?? 'relu';
  const curve = answer?.curves.find((c) => c.name === name) ?? answer?.curves[0];
  const series = useMemo<Series[]>(() => {
    if (!curve) return [];
    const x = curve.x.map(toNumber);
    return [
      { name: curve.name, x, y: curve.y.map(toNumber), colour: colours()[0]! },
      { name: 'slope', x, y: curve.slope.map(toNumber), colour: colours()[1]!, dash: true },
    ];
  }, [curve, theme.value]);
  const flat = curve ? curve.slope.filter((s) => Math.abs(toNumber(s)) < 0.01).length / curve.slope.length : 0;
  return (
    <Experiment title="Activation functions" text="An activation makes a layer’s output non-linear. Where it is saturated (slope near 0), almost no gradient flows back." page={pages.oneNeuron} error={error}>
      {answer && curve && (
        <>
          <Select label="Activation" value={curve.name} options={answer.curves.map((c) => [c.name, c.name.replace(/_/g, ' ')] as const)} onChange={(v) => setParams({ activation: v })} />
          <p class="mono small">{curve.formula}</p>
          <Legend series={series} />
          <LineChart name={curve.name} xName="x" series={series} height={230} />
          <p class="small quiet">Flat in {percent(flat, 0)} of the plotted range: the slope is below 0.01.</p>
        </>
      )}
    </Experiment>
  );
}

const LOGITS = [2, 1, 0.1, -1];

function Softmax() {
  const [logits, setLogits] = useNumbers('logits', LOGITS);
  const [temperature, setTemperature] = useNumber('temperature', 1);
  const { answer, error } = useAsk((abort) => ask('lab/softmax', { logits, temperature }, abort), [logits, temperature]);
  return (
    <Experiment title="Softmax and temperature" text="Softmax turns numbers into probabilities. A low temperature makes them more extreme, a high one more equal." page={pages.oneNeuron} error={error}>
      {logits.map((v, i) => (
        <Slider key={i} label={`logit ${i}`} value={v} min={-5} max={5} step={0.1} onInput={(x) => setLogits(logits.map((old, k) => (k === i ? x : old)))} />
      ))}
      <Slider label="Temperature" value={temperature} min={0.1} max={5} step={0.1} onInput={setTemperature} />
      {answer && (
        <>
          <ol class="bars" aria-label="Probabilities">
            {answer.probabilities.map((p, i) => (
              <li key={i}>
                <span class="bar-name">{i}</span>
                <span class="bar-track">
                  <i style={{ width: `${100 * toNumber(p)}%` }} />
                </span>
                <span class="bar-value" title={exact(p)} data-probability={exact(p)}>
                  {percent(p)}
                </span>
              </li>
            ))}
          </ol>
          <p class="small quiet">Entropy {brief(answer.entropy)}.</p>
        </>
      )}
    </Experiment>
  );
}

function Losses() {
  const [target, setTarget] = useNumber('target', 1);
  const { answer, error } = useAsk((abort) => ask('lab/losses', { target }, abort), [target]);
  const [show, setShow] = useText('show', 'loss');
  const slopes = show === 'slope' ? 'slope' : 'loss';
  const series = useMemo<Series[]>(
    () =>
      (answer?.losses ?? []).map((l, i) => ({
        name: l.name,
        x: l.x.map(toNumber),
        y: (slopes === 'loss' ? l.y : l.slope).map(toNumber),
        colour: colours()[i % 10]!,
      })),
    [answer, slopes, theme.value],
  );
  return (
    <Experiment title="Losses" text="A loss measures how wrong a prediction is. Its slope is the gradient that training starts from." page={pages.training} error={error}>
      <Slider label="Target" value={target} min={0} max={1} step={1} onInput={setTarget} />
      <Choice
        label="Show"
        value={slopes}
        onChange={setShow}
        options={[
          ['loss', 'loss'],
          ['slope', 'slope'],
        ]}
      />
      <Legend series={series} />
      <LineChart name={slopes === 'loss' ? 'Loss by prediction' : 'Slope by prediction'} xName="prediction" series={series} height={220} />
    </Experiment>
  );
}

function Initialisation() {
  const [layers, setLayers] = useNumber('layers', 50);
  const [width, setWidth] = useNumber('width', 128);
  const [seed, setSeed] = useNumber('seed', 0);
  const { answer, error, busy } = useAsk((abort) => ask('lab/init', { layers, width, seed }, abort), [layers, width, seed]);
  const kinds = [...new Set((answer?.rows ?? []).map((r) => r.layer))];
  const [kind, setKind] = useText('kind', '');
  const shown = kinds.includes(kind) ? kind : kinds[0];
  const series = useMemo<Series[]>(
    () =>
      (answer?.rows ?? [])
        .filter((r) => r.layer === shown)
        .map((r, i) => ({ name: r.scheme, x: r.stds.map((_, k) => k), y: r.stds.map(toNumber), colour: colours()[i % 10]! })),
    [answer, shown, theme.value],
  );
  return (
    <Experiment title="Initialisation through many layers" text="With too small initial weights the signal vanishes, with too large ones it explodes. A good scheme preserves the standard deviation of activations." page={pages.experiments} error={error}>
      <div class="columns tight">
        <Slider label="Layers" value={layers} min={2} max={100} onInput={setLayers} />
        <Slider label="Width" value={width} min={8} max={256} step={8} onInput={setWidth} />
        <Slider label="Seed" value={seed} min={0} max={20} onInput={setSeed} />
      </div>
      {kinds.length > 1 && shown && <Choice label="Activation" value={shown} onChange={setKind} options={kinds.map((k) => [k, k] as const)} />}
      <Legend series={series} />
      <LineChart name={busy ? 'Computing…' : 'Standard deviation of activations'} xName="layer" series={series} height={230} log />
    </Experiment>
  );
}

const SCALES = [1, 2, 3, 4];

function Norms() {
  const [scales, setScales] = useNumbers('scales', SCALES);
  const values = useMemo(() => scales.map((scale, r) => Array.from({ length: 8 }, (_, c) => Math.fround(Math.sin(r * 8 + c) * scale))), [scales]);
  const { answer, error } = useAsk((abort) => ask('lab/norms', { values: values.flat() }, abort), [values]);
  const [chosenRow, setRow] = useNumber('row', 0);
  const row = Math.min(Math.max(Math.trunc(chosenRow), 0), scales.length - 1);
  return (
    <Experiment title="Normalisation" text="Each norm scales the same numbers to mean 0 and standard deviation 1: per example (layer norm) or per unit (batch norm). RMS norm only scales." page={pages.inside} error={error}>
      <div class="columns tight">
        <Slider label="Row to change" value={row} min={0} max={3} onInput={setRow} />
        <Slider
          label="Scale of that row"
          value={scales[row]!}
          min={0.1}
          max={10}
          step={0.1}
          onInput={(v) => setScales(scales.map((scale, r) => (r === row ? v : scale)))}
        />
      </div>
      <div class="norms">
        {[{ name: 'input', after: values.flat() as Num[] }, ...(answer?.rows ?? [])].map((r) => (
          <div key={r.name} class="stack">
            <span class="small">{r.name}</span>
            <HeatMap
              name={r.name}
              values={Float64Array.from(r.after, toNumber)}
              rows={Math.max(Math.round(r.after.length / 8), 1)}
              columns={8}
              width={152}
              scale={2.5}
              describe={(i) => `${Math.floor(i / 8)}, ${i % 8} = ${exact(r.after[i]!)}`}
            />
          </div>
        ))}
      </div>
    </Experiment>
  );
}

function Dropout() {
  const [rate, setRate] = useNumber('rate', 0.5);
  const [seed, setSeed] = useNumber('seed', 0);
  const values = useMemo(() => Array.from({ length: 64 }, () => 1), []);
  const { answer, error } = useAsk((abort) => ask('lab/dropout', { rate, seed, values }, abort), [rate, seed]);
  return (
    <Experiment title="Dropout" text="Random units are set to 0; the others are scaled up, so the expected value stays the same. Each step drops other units." page={pages.training} error={error}>
      <div class="columns tight">
        <Slider label="Rate" value={rate} min={0} max={0.9} step={0.05} onInput={setRate} />
        <Slider label="Seed" value={seed} min={0} max={30} onInput={setSeed} />
      </div>
      {answer && (
        <>
          <HeatMap
            name="after dropout"
            values={Float64Array.from(answer.values, toNumber)}
            rows={4}
            columns={16}
            width={320}
            scale={3}
            describe={(i) => `unit ${i} = ${exact(answer.values[i]!)}`}
          />
          <p class="small quiet">
            {answer.kept.filter(Boolean).length} of {answer.kept.length} kept. Mean {brief(answer.mean)}; it was 1.
          </p>
        </>
      )}
    </Experiment>
  );
}

function Optimisers() {
  const [surface, setSurface] = useText('surface', 'valley');
  const [rate, setRate] = useNumber('rate', 0.01);
  const [steps, setSteps] = useNumber('steps', 150);
  const { answer, error } = useAsk((abort) => ask('lab/optimizers', { surface, rate, steps }, abort), [surface, rate, steps]);
  const shade = theme.value;
  const draw = (node: HTMLCanvasElement | null): void => {
    const context = node?.getContext('2d');
    if (!node || !context || !answer) return;
    const [nx, ny] = [answer.surface.x.length, answer.surface.y.length];
    node.width = nx;
    node.height = ny;
    const z = answer.surface.z.map((v) => Math.log1p(Math.max(toNumber(v), 0)));
    const most = Math.max(...z, 1e-9);
    const image = context.createImageData(nx, ny);
    const rows = new Uint32Array(nx * ny);
    // Bands, as the lines of a map.
    paint(z.map((v) => Math.round((16 * v) / most) / 16), 1.5, shade, rows);
    const pixels = new Uint32Array(image.data.buffer);
    for (let y = 0; y < ny; ++y) pixels.set(rows.subarray((ny - 1 - y) * nx, (ny - y) * nx), y * nx);
    context.putImageData(image, 0, 0);
  };
  const box = answer && {
    x0: toNumber(answer.surface.x[0]!),
    x1: toNumber(answer.surface.x[answer.surface.x.length - 1]!),
    y0: toNumber(answer.surface.y[0]!),
    y1: toNumber(answer.surface.y[answer.surface.y.length - 1]!),
  };
  const paths = answer?.paths ?? [];
  return (
    <Experiment title="Optimisers’ paths" text="Each optimiser’s path over the same surface from the same start." page={pages.training} error={error}>
      <div class="columns tight">
        <Select
          label="Surface"
          value={surface}
          options={[
            ['valley', 'valley'],
            ['bowl', 'bowl'],
            ['saddle', 'saddle'],
          ]}
          onChange={setSurface}
        />
        <Slider label="Learning rate" value={Math.log10(rate)} min={-3} max={0} step={0.05} shown={brief(rate, 3)} onInput={(v) => setRate(Number((10 ** v).toPrecision(3)))} />
        <Slider label="Steps" value={steps} min={5} max={300} step={5} onInput={setSteps} />
      </div>
      {answer && box && (
        <>
          <ul class="legend">
            {paths.map((p, i) => (
              <li key={p.name}>
                <i style={{ background: colours()[i % 10]! }} />
                {p.name} <span class="quiet">ends at {brief(p.z[p.z.length - 1] ?? 'nan', 3)}</span>
              </li>
            ))}
          </ul>
          <div class="surface-root" role="img" aria-label={`Paths of ${paths.map((p) => p.name).join(', ')} over the surface ${surface}`}>
            <canvas ref={draw} aria-hidden="true" />
            <svg viewBox="0 0 100 100" aria-hidden="true">
              {paths.map((p, i) => (
                <polyline
                  key={p.name}
                  class="path-line"
                  style={{ stroke: colours()[i % 10]! }}
                  vector-effect="non-scaling-stroke"
                  points={p.x
                    .map((x, k) => {
                      const at = (v: number, low: number, high: number): number => Math.max(-20, Math.min(120, (100 * (v - low)) / (high - low)));
                      return `${at(toNumber(x), box.x0, box.x1)},${100 - at(toNumber(p.y[k]!), box.y0, box.y1)}`;
                    })
                    .filter((t) => !t.includes('NaN'))
                    .join(' ')}
                />
              ))}
            </svg>
          </div>
          <RowsTable
            name="paths"
            head={['optimiser', 'step', 'x', 'y', 'value']}
            rows={() => paths.flatMap((p) => p.x.map((x, k) => [p.name, k, exact(x), exact(p.y[k]!), exact(p.z[k]!)]))}
          />
        </>
      )}
    </Experiment>
  );
}

function Collapse() {
  const [hidden, setHidden] = useNumber('hidden', 16);
  const [seed, setSeed] = useNumber('seed', 0);
  const { answer, error } = useAsk((abort) => ask('lab/collapse', { hidden, seed }, abort), [hidden, seed]);
  return (
    <Experiment title="Two linear layers are one" text="Without an activation between them, two linear layers compute what one can. Collapse merges them." page={pages.transformations} error={error}>
      <div class="columns tight">
        <Slider label="Hidden units" value={hidden} min={1} max={128} onInput={setHidden} />
        <Slider label="Seed" value={seed} min={0} max={20} onInput={setSeed} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Before and after">
        <table>
          <thead>
            <tr>
              <th>network</th>
              <th class="number">ops</th>
              <th class="number">parameters</th>
              <th class="number">largest difference</th>
            </tr>
          </thead>
          <tbody>
            {(answer?.rows ?? []).map((r) => (
              <tr key={r.network}>
                <th scope="row" title={r.done.join('; ')}>
                  {r.network}
                </th>
                <td class="number">
                  {r.before.ops} → {r.after.ops}
                </td>
                <td class="number">
                  {count(r.before.parameters)} → {count(r.after.parameters)}
                </td>
                <td class="number mono">{brief(r.difference)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Experiment>
  );
}

function Perceptron() {
  const [target, setTarget] = useText('target', 'XOR');
  const { answer, error } = useAsk((abort) => ask('lab/perceptron', { target, epochs: 30 }, abort), [target]);
  const series = useMemo<Series[]>(
    () => (answer ? [{ name: 'mistakes', x: answer.epochs.map((_, i) => i + 1), y: answer.epochs.map((e) => e.mistakes), colour: colours()[0]!, dots: true }] : []),
    [answer, theme.value],
  );
  return (
    <Experiment title="A perceptron fails at XOR" text="One neuron separates the plane by one line. That works for AND and OR, but not for XOR, which needs a hidden layer." page={pages.oneNeuron} error={error}>
      <Choice
        label="Truth table"
        value={target}
        onChange={setTarget}
        options={['AND', 'OR', 'NAND', 'NOR', 'XOR'].map((n) => [n, n] as const)}
      />
      {answer && (
        <>
          <p role="status">
            <b>{answer.learnt ? 'Learnt.' : 'Not learnt.'}</b> <span class="quiet">{answer.ending}</span>
          </p>
          <LineChart name="Mistakes by epoch" xName="epoch" series={series} height={170} />
          <a href={`#/playground?data=xor&hidden=4&activation=tanh`}>XOR with a hidden layer, in the playground</a>
        </>
      )}
    </Experiment>
  );
}

function Approximation() {
  const [seed, setSeed] = useNumber('seed', 0);
  const { answer, error, busy } = useAsk((abort) => ask('lab/approximation', { seed }, abort), [seed]);
  const tasks = [...new Set((answer?.rows ?? []).map((r) => r.task))];
  const [task, setTask] = useText('task', '');
  const shown = tasks.includes(task) ? task : (tasks.find((t) => (answer?.rows.find((r) => r.task === t)?.x[0]?.length ?? 0) === 1) ?? tasks[0]);
  const rows = (answer?.rows ?? []).filter((r) => r.task === shown);
  const oneInput = rows[0]?.x[0]?.length === 1 || (rows[0] && !Array.isArray(rows[0].x[0]));
  const series = useMemo<Series[]>(() => {
    if (!oneInput || !rows[0]) return [];
    const x = rows[0].x.map((v) => toNumber(Array.isArray(v) ? v[0]! : v));
    return [
      { name: 'target', x, y: rows[0].y.map(toNumber), colour: colours()[6]!, dash: true },
      ...rows.slice(0, 6).map((r, i) => ({ name: `${r.units} ${r.units === 1 ? 'unit' : 'units'}, ${r.activation}`, x, y: r.predictions.map(toNumber), colour: colours()[i]! })),
    ];
  }, [answer, shown, theme.value]);
  return (
    <Experiment title="One hidden layer, with more and more units" text="With enough units, one hidden layer approximates any continuous curve as closely as needed." page={pages.experiments} error={error}>
      <div class="columns tight">
        <Slider label="Seed" value={seed} min={0} max={10} onInput={setSeed} />
        {tasks.length > 1 && shown && <Select label="Task" value={shown} options={tasks.map((t) => [t, t] as const)} onChange={setTask} />}
      </div>
      {busy && <p class="small quiet">Training…</p>}
      {series.length > 0 && (
        <>
          <Legend series={series} />
          <LineChart name="Learnt functions" xName="x" series={series} height={230} />
        </>
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label="Losses by units">
        <table>
          <thead>
            <tr>
              <th class="number">units</th>
              <th>activation</th>
              <th class="number">loss</th>
              <th class="number">error</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r, i) => (
              <tr key={i}>
                <td class="number">{r.units}</td>
                <td>{r.activation}</td>
                <td class="number mono" title={exact(r.loss)}>
                  {brief(r.loss)}
                </td>
                <td class="number mono" title={exact(r.error)}>
                  {brief(r.error)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Experiment>
  );
}

const experiments = [
  ['activations', 'Activations', Activations],
  ['softmax', 'Softmax', Softmax],
  ['losses', 'Losses', Losses],
  ['init', 'Initialisation', Initialisation],
  ['norms', 'Normalisation', Norms],
  ['dropout', 'Dropout', Dropout],
  ['optimisers', 'Optimisers', Optimisers],
  ['collapse', 'Linear layers', Collapse],
  ['perceptron', 'Perceptron', Perceptron],
  ['approximation', 'Approximation', Approximation],
] as const;

export function LabView() {
  const named = route.value.params['of'];
  const chosen = experiments.find(([name]) => name === named) ?? experiments[0];
  const Body = chosen[2];
  const strip = useInSight(chosen[0]);
  return (
    <>
      <Heading title="Lab">Small experiments on the parts of networks. The library computes every number.</Heading>
      <div class="lab">
        <nav aria-label="Experiments" ref={strip}>
          <ul>
            {experiments.map(([name, title]) => (
              <li key={name}>
                <a href={`#/lab?of=${name}`} aria-current={name === chosen[0] ? 'true' : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Body key={chosen[0]} />
      </div>
    </>
  );
}
