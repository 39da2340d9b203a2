// Training: runs as they go on, one over the other, with what the doctor found.
import { useEffect, useMemo, useState } from 'preact/hooks';

import { ask, reportAddress, sentence } from '../engine/client';
import { brief, count, exact, percent, toNumber } from '../engine/numbers';
import type { Finding, RunInfo } from '../engine/types';
import { route, setParams } from '../state/route';
import { runs, runTitle, session, tell } from '../state/session';
import { theme } from '../state/theme';
import { Check, Choice, CopyText, Heading, Problem, Slider } from '../ui/controls';
import { LineChart, type Series } from '../ui/line-chart';
import { classColours } from '../ui/palette';
import { useAsk } from '../ui/use-ask';
import { StartForm } from './start';
import { runData, told, watch, type RunData } from './store';
import { TimeMachine } from './time-machine';
import './training.css';

const stateWords: Record<RunInfo['state'], string> = {
  running: 'running',
  paused: 'paused',
  finished: 'finished',
  stopped: 'stopped',
  elsewhere: 'not ended',
};
const NOT_ENDED = 'Its log has no end: another process trains it, or was killed.';

/** Exponential moving average, unbiased at its beginning. */
export function smoothed(y: readonly number[], by: number): number[] {
  if (by <= 0) return [...y];
  let [sum, weight] = [0, 0];
  return y.map((v) => {
    if (!Number.isFinite(v)) return v;
    sum = by * sum + (1 - by) * v;
    weight = by * weight + (1 - by);
    return sum / weight;
  });
}

function Actions({ run }: { run: RunInfo }) {
  const act = (action: 'pause' | 'resume' | 'stop') => () =>
    void ask('run/action', { run: run.id, action }).then(told, (e: unknown) => tell(sentence(e)));
  return (
    <span class="row run-actions">
      {run.state === 'running' && <button onClick={act('pause')}>Pause</button>}
      {(run.state === 'paused' || run.state === 'stopped' || run.state === 'elsewhere') && (
        <button onClick={act('resume')}>Resume</button>
      )}
      {(run.state === 'running' || run.state === 'paused') && <button onClick={act('stop')}>Stop</button>}
    </span>
  );
}

function Confusion({ matrix, names }: { matrix: number[][]; names: readonly string[] }) {
  const most = Math.max(1, ...matrix.flatMap((row, i) => row.filter((_, k) => k !== i)));
  return (
    <>
    <p class="small quiet" id="confusion-note">
      Rows: labels. Columns: predictions. Strong orange: a frequent error.
    </p>
    <div class="scroll" tabIndex={0} role="region" aria-label="Confusion matrix">
      <table class="confusion" aria-describedby="confusion-note">
        <thead>
          <tr>
            <td />
            {matrix.map((_, k) => (
              <th key={k} scope="col" class="number">
                {names[k] ?? k}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matrix.map((row, i) => (
            <tr key={i}>
              <th scope="row">{names[i] ?? i}</th>
              {row.map((n, k) => (
                <td
                  key={k}
                  class={`number ${i === k ? 'diagonal' : ''}`}
                  style={i === k || n === 0 ? {} : { background: `color-mix(in srgb, var(--negative) ${8 + (42 * n) / most}%, var(--sheet))` }}
                >
                  {n || '·'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    </>
  );
}

function FindingCard({ finding, onTry }: { finding: Finding; onTry: (settings: Record<string, unknown>) => void }) {
  const settings = (finding.remedies ?? []).flatMap((r) => (r.settings?.length ? [r.settings] : []));
  return (
    <li class={`finding ${finding.severity}`}>
      <p>
        <span class="tag">{finding.severity === 'info' ? 'note' : finding.severity}</span> {finding.layer && <b class="mono">{finding.layer} </b>}
        {finding.symptom}
      </p>
      {finding.cause && (
        <p class="small quiet">
          <b>Likely cause:</b> {finding.cause}
        </p>
      )}
      {finding.fix && (
        <p class="small quiet">
          <b>To try:</b> {finding.fix}
        </p>
      )}
      <div class="row">
        {settings.map((all, i) => (
          <button key={i} onClick={() => onTry(Object.fromEntries(all.map((s) => [s.key, s.value as unknown])))}>
            {all.map((s) => `${s.key} = ${JSON.stringify(s.value)}`).join(', ')}
          </button>
        ))}
        <span class="small quiet">
          step {count(finding.step)} · {finding.rule}
        </span>
      </div>
    </li>
  );
}

function Diff({ list }: { list: readonly RunInfo[] }) {
  const ids = list.map((r) => r.id);
  const { answer, error } = useAsk((abort) => ask('run/diff', { runs: ids }, abort), [ids.join()]);
  return (
    <section class="sheet stack">
      <h2 id="diff-title">How their configurations differ</h2>
      <Problem text={error} />
      {answer &&
        (answer.rows.length ? (
          <div class="scroll" tabIndex={0} role="region" aria-labelledby="diff-title">
            <table>
              <thead>
                <tr>
                  <th>key</th>
                  {list.map((r) => (
                    <th key={r.id}>{runTitle(r)}</th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {answer.rows.map((row) => (
                  <tr key={row.key}>
                    <th scope="row" class="mono">
                      {row.key}
                    </th>
                    {row.values.map((v, i) => (
                      <td key={i} class="mono">
                        {v === null ? <span class="quiet">not set</span> : typeof v === 'string' ? v : JSON.stringify(v)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : (
          <p class="quiet">They do not differ.</p>
        ))}
    </section>
  );
}

function LayerCharts({ data, colours }: { data: RunData; colours: readonly string[] }) {
  const layers = data.probes[data.probes.length - 1]?.layers ?? [];
  const series = (of: (layer: (typeof layers)[number]) => number | undefined): Series[] => {
    const x = data.probes.map((p) => p.step);
    return layers.slice(0, 10).map((layer, i) => ({
      name: layer.name,
      x,
      y: data.probes.map((p) => {
        const found = p.layers.find((l) => l.name === layer.name);
        return (found && of(found)) ?? NaN;
      }),
      colour: colours[i % colours.length]!,
    }));
  };
  const last = <T,>(list: readonly T[]): T | undefined => list[list.length - 1];
  const sets = useMemo(
    () => ({
      spread: series((l) => (l.activations.length ? toNumber(last(l.activations)!.std) : undefined)),
      dead: series((l) => (l.activations.length ? toNumber(last(l.activations)!.dead_share) : undefined)),
      gradient: series((l) => (l.parameters[0] ? toNumber(l.parameters[0].gradient_norm) : undefined)),
      update: series((l) => {
        const p = l.parameters[0];
        return p && toNumber(p.norm) > 0 ? toNumber(p.update_norm) / toNumber(p.norm) : undefined;
      }),
    }),
    [data.probes, colours],
  );
  if (!layers.length) return null;
  return (
    <section class="stack" aria-labelledby="layers-title">
      <h2 id="layers-title">Layers</h2>
      {layers.length > 10 && <p class="small quiet">The first 10 of {layers.length}.</p>}
      <ul class="legend">
        {layers.slice(0, 10).map((l, i) => (
          <li key={l.name}>
            <i style={{ background: colours[i % colours.length]! }} />
            {l.name}
          </li>
        ))}
      </ul>
      <div class="charts four">
        <LineChart name="Standard deviation of activations" xName="step" series={sets.spread} height={170} />
        <LineChart name="Share of dead units" xName="step" series={sets.dead} height={170} />
        <LineChart name="Gradient norm of weights" xName="step" series={sets.gradient} height={170} log />
        <LineChart name="Update-to-weight ratio" xName="step" series={sets.update} height={170} log />
      </div>
    </section>
  );
}

function metricNames(list: readonly RunData[]): string[] {
  const names = new Set<string>();
  for (const d of list) for (const e of d.epochs) for (const name of Object.keys(e.validation ?? {})) if (name !== 'loss') names.add(name);
  return [...names];
}

/** Which colour a run has: it keeps the one that it got when it was first shown. */
const colourIndex = new Map<string, number>();

function Command({ run }: { run: RunInfo }) {
  const { answer } = useAsk((abort) => ask('run/config', { run: run.id }, abort), [run.id]);
  if (!answer) return null;
  // A run that was started here has its configuration alone.
  const words = answer.command.includes('train') ? answer.command : ['limpid', 'train', '--config', `${run.path}/config.json`, '--out', `${run.path}-again`];
  const text = words.map((a) => (/^[\w./:,=+-]+$/.test(a) ? a : `'${a.replaceAll("'", "'\\''")}'`)).join(' ');
  return (
    <section class="sheet stack">
      <h2>Command to reproduce it</h2>
      <CopyText text={text} label="the command" />
      {run.report && (
        <p class="small">
          <a href={reportAddress(run.id)} target="_blank" rel="noreferrer">
            The report of {run.name}
          </a>{' '}
          <span class="quiet">one page to keep or to print: {run.path}/report.html</span>
        </p>
      )}
    </section>
  );
}

export function TrainingView() {
  const colours = classColours[theme.value];
  const { runs: chosenText, smooth: smoothText, log: logText, metric, of } = route.value.params;
  const all = runs.value;
  const chosen = (chosenText?.split(',') ?? all.slice(0, 2).map((r) => r.id)).filter((id) => all.some((r) => r.id === id));
  const [starting, setStarting] = useState<Record<string, unknown> | undefined>(undefined);
  useEffect(() => watch(chosen), [chosen.join()]);

  const data = chosen.map((id) => runData(id).value);
  const infos = chosen.map((id) => all.find((r) => r.id === id)!);
  const main = data.find((d) => d.id === of) ?? data[0];
  const mainInfo = infos.find((r) => r.id === main?.id);
  const colourOf = (id: string): string => {
    if (!colourIndex.has(id)) colourIndex.set(id, colourIndex.size);
    return colours[colourIndex.get(id)! % colours.length]!;
  };
  const smooth = Math.min(Math.max(Number(smoothText ?? 0.8) || 0, 0), 0.99);
  const log = logText === '1';
  const nameOf = (id: string): string => {
    const run = all.find((r) => r.id === id);
    return run ? runTitle(run) : id;
  };

  const loss = useMemo(() => {
    const series: Series[] = [];
    for (const d of data) {
      const name = nameOf(d.id);
      const colour = colourOf(d.id);
      if (smooth > 0) series.push({ name: `${name}, unsmoothed`, x: d.steps.step, y: d.steps.loss, colour, faint: true });
      series.push({ name, x: d.steps.step, y: smoothed(d.steps.loss, smooth), colour });
      const validated = d.epochs.filter((e) => e.validation?.['loss'] !== undefined);
      if (validated.length)
        series.push({
          name: `${name}, validation`,
          x: validated.map((e) => e.step),
          y: validated.map((e) => toNumber(e.validation['loss']!)),
          colour,
          dots: true,
          dash: true,
        });
    }
    return series;
  }, [...data, smooth, colours]);
  const names = metricNames(data);
  const shownMetric = metric && names.includes(metric) ? metric : (names.find((n) => n === 'accuracy') ?? names[0]);
  const metrics = useMemo(
    () =>
      data.map((d) => ({
        name: nameOf(d.id),
        x: d.epochs.map((e) => e.step),
        y: d.epochs.map((e) => toNumber(e.validation?.[shownMetric ?? ''] ?? 'nan')),
        colour: colourOf(d.id),
        dots: true,
      })),
    [...data, shownMetric, colours],
  );
  const rate = useMemo(
    () => data.map((d) => ({ name: nameOf(d.id), x: d.steps.step, y: d.steps.learning_rate, colour: colourOf(d.id) })),
    [...data, colours],
  );
  const gradient = useMemo(
    () =>
      data.map((d) => ({
        name: nameOf(d.id),
        x: d.steps.step,
        y: smoothed(d.steps.gradient_norm, smooth),
        colour: colourOf(d.id),
      })),
    [...data, smooth, colours],
  );

  const toggle = (id: string): void => {
    const next = chosen.includes(id) ? chosen.filter((c) => c !== id) : [...chosen, id];
    setParams({ runs: next.join(',') || 'none' }, true);
  };
  return (
    <>
      <Heading
        title="Training"
        aside={
          session.value?.folder != null && !starting ? (
            <button class="primary" onClick={() => setStarting({})}>
              Start a run
            </button>
          ) : null
        }
      >
        {all.length ? 'Training runs, live and overlaid.' : 'No run is open. Start one here, or give the tool a run folder.'}
      </Heading>
      <div class="stack training">
        {starting && (
          <StartForm
            key={JSON.stringify(starting)}
            from={main?.begun?.config}
            changes={starting}
            name={`${mainInfo?.name ?? 'run'}-${all.length + 1}`.replace(/[^A-Za-z0-9_-]/g, '-')}
            onDone={(id) => {
              setStarting(undefined);
              if (id) setParams({ runs: [...chosen, id].join(','), of: id }, true);
            }}
          />
        )}
        {all.length > 0 && (
          <section class="sheet">
            <div class="scroll" tabIndex={0} role="region" aria-label="Runs">
              <table class="runs">
                <thead>
                  <tr>
                    <th>run</th>
                    <th>data</th>
                    <th>state</th>
                    <th class="number">step</th>
                    <th class="number">loss</th>
                    <th class="number">validation</th>
                    <th>
                      <span class="hidden">actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {all.map((r) => {
                    const d = chosen.includes(r.id) ? runData(r.id).value : undefined;
                    const state = d?.loaded ? d.state : r.state;
                    const lastLoss = d?.steps.loss[d.steps.loss.length - 1];
                    const validation = d?.epochs[d.epochs.length - 1]?.validation ?? {};
                    const best = validation['accuracy'];
                    return (
                      <tr key={r.id}>
                        <th scope="row">
                          <label class="check run-name">
                            <input type="checkbox" checked={chosen.includes(r.id)} onChange={() => toggle(r.id)} />
                            <i style={{ background: chosen.includes(r.id) ? colourOf(r.id) : 'var(--line)' }} />
                            {runTitle(r)}
                          </label>
                        </th>
                        <td class="quiet">{r.data}</td>
                        <td title={state === 'elsewhere' ? NOT_ENDED : undefined}>{stateWords[state]}</td>
                        <td class="number">
                          {count(d?.total ?? r.step)}
                          {r.steps !== null && <span class="quiet"> / {count(r.steps)}</span>}
                        </td>
                        <td class="number" title={lastLoss === undefined ? '' : exact(lastLoss)}>
                          {lastLoss === undefined ? '' : brief(lastLoss)}
                        </td>
                        <td class="number">{best !== undefined ? percent(best, 2) : validation['loss'] !== undefined ? brief(validation['loss']) : ''}</td>
                        <td>
                          <Actions run={{ ...r, state }} />
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </div>
          </section>
        )}
        {data.map((d) => d.error && <Problem key={d.id} text={`${nameOf(d.id)}: ${d.error}`} />)}
        {main && (
          <>
            <div class="row chart-bar">
              <div class="smooth">
                <Slider label="Smoothing" value={smooth} min={0} max={0.99} step={0.01} onInput={(v) => setParams({ smooth: String(v) })} />
              </div>
              <Check label="logarithmic" value={log} onChange={(v) => setParams({ log: v ? '1' : undefined })} />
              {names.length > 1 && (
                <label class="row small quiet">
                  Metric
                  <select value={shownMetric} onChange={(e) => setParams({ metric: e.currentTarget.value })}>
                    {names.map((n) => (
                      <option key={n} value={n}>
                        {n.replace(/_/g, ' ')}
                      </option>
                    ))}
                  </select>
                </label>
              )}
            </div>
            <div class="sheet">
              <LineChart name="Loss" xName="step" series={loss} height={300} log={log} sync="training" />
              {data.some((d) => d.epochs.some((e) => e.validation?.['loss'] !== undefined)) && (
                <p class="small quiet">Solid: training{smooth > 0 && ', smoothed; faint: each step'}. Dashed: validation.</p>
              )}
            </div>
            <div class="charts">
              {shownMetric && (
                <div class="sheet">
                  <LineChart name={`Validation ${shownMetric.replace(/_/g, ' ')}`} xName="step" series={metrics} height={180} />
                </div>
              )}
              <div class="sheet">
                <LineChart name="Learning rate" xName="step" series={rate} height={180} sync="training" />
              </div>
              <div class="sheet">
                <LineChart name="Gradient norm" xName="step" series={gradient} height={180} sync="training" log={log} />
              </div>
            </div>
            {infos.length > 1 && <Diff list={infos} />}
            {data.length > 1 && (
              <Choice
                label="Which run below"
                value={main.id}
                options={infos.map((r) => [r.id, runTitle(r)] as const)}
                onChange={(id) => setParams({ of: id })}
              />
            )}
            <section class="sheet stack" aria-labelledby="findings-title">
              <h2 id="findings-title">What the doctor found</h2>
              {main.findings.length ? (
                <ul class="findings">
                  {main.findings.map((f) => (
                    <FindingCard key={`${f.rule} ${f.layer} ${f.step}`} finding={f} onTry={(settings) => setStarting(settings)} />
                  ))}
                </ul>
              ) : (
                <p class="quiet">{main.state === 'running' ? 'Nothing so far.' : 'Nothing.'}</p>
              )}
            </section>
            <div class="columns">
              {main.end?.test?.confusion && (
                <section class="sheet" aria-labelledby="confusion-title">
                  <h2 id="confusion-title">Confusion matrix on the test set</h2>
                  <p class="quiet small">
                    accuracy {percent(main.end.test['accuracy'] as number, 2)}, loss {brief(main.end.test['loss'] as number)}
                  </p>
                  <Confusion matrix={main.end.test.confusion} names={main.begun?.data?.class_names ?? []} />
                </section>
              )}
              {mainInfo && main.total > 0 && <TimeMachine key={main.id} run={main.id} name={runTitle(mainInfo)} last={main.total} />}
            </div>
            {main.samples.length > 0 && (
              <section class="sheet stack" aria-labelledby="samples-title">
                <h2 id="samples-title">Text samples</h2>
                {main.samples
                  .slice(-4)
                  .reverse()
                  .map((s) => (
                    <div key={s.step}>
                      <p class="small quiet">after {count(s.step)} steps</p>
                      <pre class="sample">{s.text}</pre>
                    </div>
                  ))}
              </section>
            )}
            <LayerCharts data={main} colours={colours} />
            {mainInfo && <Command run={mainInfo} />}
          </>
        )}
      </div>
    </>
  );
}
