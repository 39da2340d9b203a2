// Every parameter with its statistics and histogram; one of them with its values as a heat map.
import { useEffect, useMemo, useRef } from 'preact/hooks';

import { ask } from '../engine/client';
import { brief, count, elements, exact, shapeText } from '../engine/numbers';
import { route, setParams } from '../state/route';
import { model } from '../state/session';
import { Problem } from '../ui/controls';
import { HeatMap } from '../ui/heat-map';
import { Histogram, StatisticsLine } from '../ui/histogram';
import { useAsk } from '../ui/use-ask';

/** The tensor as rows and columns: leading dimensions become rows. */
const matrix = (shape: readonly number[]): [number, number] => {
  const columns = shape[shape.length - 1] ?? 1;
  return [Math.max(shape.slice(0, -1).reduce((a, b) => a * b, 1), 1), columns];
};

function Tensor({ name }: { name: string }) {
  const id = model.value!.id;
  const { answer, error } = useAsk((abort) => ask('tensor', { model: id, value: name, bins: 64 }, abort), [id, name]);
  const values = useMemo(() => answer && elements(answer.values), [answer]);
  const sheet = useRef<HTMLDivElement>(null);
  // What it was opened from may be far above.
  useEffect(() => sheet.current?.scrollIntoView({ block: 'nearest' }), [answer]);
  if (!answer || !values) return <Problem text={error} />;
  const [, columns] = matrix(answer.values.shape);
  const rows = Math.floor(values.length / columns);
  return (
    <div class="sheet stack" ref={sheet}>
      <div class="row">
        <h2 class="mono">{name.replace(/^%/, '')}</h2>
        <span class="quiet small">
          {answer.values.dtype} {shapeText(answer.values.shape)}
        </span>
        <button class="plain" onClick={() => setParams({ tensor: undefined }, true)}>
          Close
        </button>
      </div>
      <StatisticsLine of={answer.statistics} />
      <Histogram name={name} bins={answer.histogram} height={90} />
      {rows > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Values of ${name}`}>
          <HeatMap
            name={name}
            values={values}
            rows={rows}
            columns={columns}
            width={Math.max(Math.min(720, columns * 12), Math.min(columns, 720))}
            describe={(i) => `[${rows > 1 ? `${Math.floor(i / columns)}, ` : ''}${i % columns}] = ${exact(answer.values.values?.[i] ?? values[i]!)}`}
          />
        </div>
      )}
      {!answer.values.complete && (
        <p class="small quiet">
          The first {count(values.length)} of {count(answer.statistics.count)} values.
        </p>
      )}
    </div>
  );
}

export function ParameterList() {
  const info = model.value;
  const { answer, error } = useAsk(info ? (abort) => ask('parameters', { model: info.id, bins: 30 }, abort) : undefined, [info?.id]);
  const open = route.value.params['tensor'];
  if (!info) return null;
  return (
    <section class="parameters stack" aria-labelledby="parameters-title">
      <h2 id="parameters-title">Parameters</h2>
      <Problem text={error} />
      {open && <Tensor key={open} name={open} />}
      {answer && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of parameters">
          <table>
            <thead>
              <tr>
                <th>name</th>
                <th>shape</th>
                <th class="number">mean</th>
                <th class="number">std</th>
                <th class="number">min</th>
                <th class="number">max</th>
                <th>values</th>
              </tr>
            </thead>
            <tbody>
              {answer.parameters.slice(0, 400).map((p) => (
                <tr key={p.value}>
                  <th scope="row">
                    <button class="link mono" aria-pressed={open === p.value} onClick={() => setParams({ tensor: p.value }, true)}>
                      {p.name}
                    </button>
                  </th>
                  <td class="quiet">
                    {p.dtype} {shapeText(p.shape)}
                  </td>
                  {([p.statistics.mean, p.statistics.std, p.statistics.min, p.statistics.max] as const).map((x, i) => (
                    <td key={i} class="number" title={exact(x)}>
                      {brief(x)}
                    </td>
                  ))}
                  <td class="spark">
                    <svg viewBox="0 0 30 10" preserveAspectRatio="none" aria-hidden="true">
                      {p.histogram.counts.map((c, i) => {
                        const most = Math.max(1, ...p.histogram.counts);
                        const n = p.histogram.counts.length;
                        return <rect key={i} x={(i * 30) / n} width={30 / n - 0.15} y={10 - (10 * c) / most} height={(10 * c) / most} />;
                      })}
                    </svg>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {answer.parameters.length > 400 && <p class="small quiet">The first 400 of {count(answer.parameters.length)}.</p>}
        </div>
      )}
    </section>
  );
}
