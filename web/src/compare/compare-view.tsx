// Compare: two models or runs, down to the first bit that differs.
import { useMemo } from 'preact/hooks';

import { ask } from '../engine/client';
import { brief, count, exact, shapeText, toNumber } from '../engine/numbers';
import type { CompareAnswer, Difference, Exact, InputSpec, ModelInfo } from '../engine/types';
import { route, setParams } from '../state/route';
import { modelTitle, models, runs, runTitle } from '../state/session';
import { sources } from '../state/subject';
import { theme } from '../state/theme';
import { Check, Choice, Heading, Problem, Select } from '../ui/controls';
import { LineChart } from '../ui/line-chart';
import { useAsk } from '../ui/use-ask';
import './compare.css';

/** Where the fields of a number begin: exponent and fraction. */
const fieldsOf: Record<string, number[]> = { f32: [1, 9], f64: [1, 12], bf16: [1, 9], f16: [1, 6] };

/** The bits of a number as text; those that differ are marked. */
function Bits({ a, b, name, dtype }: { a: Exact; b: Exact; name: string; dtype: string }) {
  const bits = (hex: string): string => [...hex.replace(/^0x/, '')].map((d) => parseInt(d, 16).toString(2).padStart(4, '0')).join('');
  const [x, y] = [bits(a.hex), bits(b.hex)];
  const fields = fieldsOf[dtype] ?? [];
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="mono">{exact(a.value)}</td>
      <td class="mono">{a.hex}</td>
      <td class="mono bits" aria-label={x}>
        {[...x].map((bit, i) => (
          <i key={i} aria-hidden="true" class={`${bit === y[i] ? '' : 'differs'} ${fields.includes(i) ? 'field-start' : ''}`}>
            {bit}
          </i>
        ))}
      </td>
    </tr>
  );
}

function Differences({ rows, title }: { rows: Difference[]; title: string }) {
  if (!rows.length) return null;
  const most = Math.max(...rows.map((r) => Math.log10(1 + toNumber(r.largest_ulp))), 1e-9);
  return (
    <section class="sheet">
      <h2>{title}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th>what</th>
              <th>shape</th>
              <th class="number">differ</th>
              <th class="number">largest difference</th>
              <th class="number">in ulps</th>
              <th>
                <span class="hidden">size</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, 300).map((r) => (
              <tr key={`${r.name} ${r.op}`}>
                <th scope="row">
                  <span class="mono">{r.name}</span> <span class="quiet">{[r.layer, r.op].filter(Boolean).join(' ')}</span>
                </th>
                <td class="quiet">{shapeText(r.shape)}</td>
                <td class="number">
                  {count(r.differ)} of {count(r.count)}
                </td>
                <td class="number mono">{brief(r.largest)}</td>
                <td class="number mono">{brief(r.largest_ulp)}</td>
                <td class="bar-track-cell" aria-hidden="true">
                  <i style={{ width: `${(100 * Math.log10(1 + toNumber(r.largest_ulp))) / most}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Result({ answer, a, b }: { answer: CompareAnswer; a: string; b: string }) {
  const first = answer.first;
  return (
    <div class="stack compare-result">
      <p class="verdict" role="status">
        {answer.same ? 'Bit-identical everywhere.' : 'They differ.'}
      </p>
      {(answer.only_a.length > 0 || answer.only_b.length > 0) && (
        <p class="note">
          {answer.only_a.length > 0 && `Only in ${a}: ${answer.only_a.slice(0, 12).join(', ')}. `}
          {answer.only_b.length > 0 && `Only in ${b}: ${answer.only_b.slice(0, 12).join(', ')}.`}
        </p>
      )}
      {first && (
        <section class="sheet">
          <h2 id="first-title">The first difference</h2>
          <p class="quiet">
            {first.where === 'parameter' ? 'Parameter' : 'Value'} <b class="mono">{first.name}</b> {first.op && `of ${first.op} `}at [{first.index.join(', ')}]; the
            highest bit that differs is bit <b data-number="bit">{first.bit}</b>.
          </p>
          <div class="scroll" tabIndex={0} role="region" aria-labelledby="first-title">
            <table class="first-table">
              <thead>
                <tr>
                  <td />
                  <th>decimal</th>
                  <th>hex</th>
                  <th>{fieldsOf[first.dtype] ? 'bits: sign, exponent, fraction' : 'bits'}</th>
                </tr>
              </thead>
              <tbody>
                <Bits a={first.a} b={first.b} name={a} dtype={first.dtype} />
                <Bits a={first.b} b={first.a} name={b} dtype={first.dtype} />
              </tbody>
            </table>
          </div>
        </section>
      )}
      <Differences rows={answer.parameters} title="Parameters that differ" />
      <Differences rows={answer.values} title="Values of the forward pass, in the order of the ops" />
    </div>
  );
}

/** An example for a model, and what it is called: the same one for both sides. */
function exampleOf(info: ModelInfo, p: Readonly<Record<string, string>>): [InputSpec, string] {
  const index = Math.max(Math.trunc(Number(p['index'] ?? 0)) || 0, 0);
  switch (sources(info)[0]) {
    case 'text': {
      const text = p['model'] === info.id && p['text'] !== undefined ? p['text'] : info.text!;
      return [{ text }, `the text “${text}”`];
    }
    case 'data':
      return [{ data: info.data!, part: 'test', index }, `test example ${index} of ${info.data}`];
    default: {
      const size = (info.inputs[0]?.shape ?? []).reduce((x, y) => x * y, 1);
      return [{ values: Array.from({ length: size }, (_, i) => Math.fround(Math.sin(i + 1))) }, 'sin 1, sin 2, sin 3, …'];
    }
  }
}

const sameInputs = (a: ModelInfo, b: ModelInfo): boolean => {
  const types = (m: ModelInfo): string => JSON.stringify(m.inputs.map((x) => [x.dtype, x.shape]));
  return types(a) === types(b) || (a.text !== null && b.text !== null);
};

function Models() {
  const list = models.value;
  const p = route.value.params;
  const first = list.find((m) => m.id === (p['a'] ?? p['model'])) ?? list[0];
  // At first one that takes the same inputs.
  const second = list.find((m) => m.id === p['b']) ?? list.find((m) => m !== first && first && sameInputs(m, first)) ?? list.find((m) => m !== first) ?? first;
  const [a, b, run] = [first?.id ?? '', second?.id ?? '', p['run']];
  const bothRun = first?.kind === 'model' && second?.kind === 'model';
  const runnable = bothRun && sameInputs(first, second);
  const withRun = runnable && run !== '0';
  const [input, example] = useMemo(() => (first ? exampleOf(first, route.value.params) : [undefined, '']), [first?.id, route.value]);
  const { answer, error, busy } = useAsk(
    first && second
      ? (abort) =>
          ask(
            'compare',
            withRun && input ? { a: { model: a, input }, b: { model: b, input }, most: 200 } : { a: { model: a }, b: { model: b }, most: 200 },
            abort,
          )
      : undefined,
    [a, b, withRun, example, first?.version, second?.version],
  );
  const options = list.map((m) => [m.id, modelTitle(m)] as const);
  return (
    <div class="stack">
      <div class="sheet row compare-bar">
        <Select label="A" value={a} options={options} onChange={(v) => setParams({ a: v, b })} />
        <Select label="B" value={b} options={options} onChange={(v) => setParams({ a, b: v })} />
        {runnable && <Check label={`run both on ${example.length > 60 ? `${example.slice(0, 59)}…` : example}`} value={withRun} onChange={(v) => setParams({ run: v ? undefined : '0' })} />}
      </div>
      {bothRun && !runnable && <p class="note">They take different inputs: only their parameters are compared.</p>}
      <Problem text={error} />
      {busy ? (
        <p class="quiet" role="status">
          Comparing…
        </p>
      ) : (
        answer && first && second && <Result answer={answer} a={modelTitle(first)} b={modelTitle(second)} />
      )}
    </div>
  );
}

function Runs() {
  const list = runs.value;
  const { ra = list[0]?.id ?? '', rb = list[1]?.id ?? '', recompute } = route.value.params;
  const [first, second] = [list.find((r) => r.id === ra), list.find((r) => r.id === rb)];
  const { answer, error, busy } = useAsk(
    first && second ? (abort) => ask('compare/runs', { a: ra, b: rb, recompute: recompute === '1' }, abort) : undefined,
    [ra, rb, recompute],
  );
  const options = list.map((r) => [r.id, runTitle(r)] as const);
  const growth = useMemo(() => {
    if (!answer) return [];
    const css = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim();
    return [{ name: 'difference', x: answer.growth.map((g) => g.step), y: answer.growth.map((g) => toNumber(g.difference)), colour: css }];
  }, [answer, theme.value]);
  return (
    <div class="stack">
      <div class="sheet row compare-bar">
        <Select label="A" value={ra} options={options} onChange={(v) => setParams({ ra: v })} />
        <Select label="B" value={rb} options={options} onChange={(v) => setParams({ rb: v })} />
        <Check label="compute the steps again, to find the first bit that differs" value={recompute === '1'} onChange={(v) => setParams({ recompute: v ? '1' : undefined })} />
      </div>
      <Problem text={error} />
      {busy && (
        <p class="quiet" role="status">
          Comparing…
        </p>
      )}
      {!busy && answer && first && second && (
        <>
          <p class="verdict" role="status">
            {answer.first_step !== null
              ? `They first differ at step ${count(answer.first_step)}: ${answer.what === 'gradient_norm' ? 'gradient norm' : answer.what}.`
              : recompute === '1'
                ? 'Bit-identical after every step.'
                : answer.compared
                  ? `Bit-identical at the ${count(answer.compared)} steps in both logs.`
                  : 'No step is in both logs: compute the steps again to compare them.'}
          </p>
          {answer.keys.length > 0 && (
            <p class="quiet">
              Their configurations differ in <span class="mono">{answer.keys.join(', ')}</span>.
            </p>
          )}
          {answer.a && answer.b && (
            <div class="sheet scroll" tabIndex={0} role="region" aria-label="First numbers that differ">
              <table class="first-table">
                <tbody>
                  <Bits a={answer.a} b={answer.b} name={runTitle(first)} dtype={answer.detail?.first?.dtype ?? 'f64'} />
                  <Bits a={answer.b} b={answer.a} name={runTitle(second)} dtype={answer.detail?.first?.dtype ?? 'f64'} />
                </tbody>
              </table>
            </div>
          )}
          {answer.growth.length > 1 && (
            <div class="sheet">
              <LineChart name="How the difference grows" xName="step" series={growth} log />
            </div>
          )}
          {answer.detail && <Result answer={answer.detail} a={runTitle(first)} b={runTitle(second)} />}
        </>
      )}
    </div>
  );
}

export function CompareView() {
  const canRuns = runs.value.length > 1;
  const what = route.value.params['what'] === 'runs' && canRuns ? 'runs' : 'models';
  return (
    <>
      <Heading
        title="Compare"
        aside={
          canRuns ? (
            <Choice
              label="What"
              value={what}
              onChange={(v) => setParams({ what: v === 'models' ? undefined : v }, true)}
              options={[
                ['models', 'models'],
                ['runs', 'runs'],
              ]}
            />
          ) : null
        }
      >
        Two models or two runs side by side, down to the first bit that differs.
      </Heading>
      {what === 'runs' ? <Runs /> : <Models />}
    </>
  );
}
