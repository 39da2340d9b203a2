// The small network: every unit as the surface it makes of the plane, every weight a line.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { brief, decodeF32, exact, toNumber } from '../engine/numbers';
import type { PlayAnswer } from '../engine/types';
import { theme } from '../state/theme';
import { magnitude, paint } from '../ui/palette';

const SIZE = 40;

function Unit({ values, grid, label }: { values: Float32Array; grid: number; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const shade = theme.value;
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const image = context.createImageData(grid, grid);
    const rows = new Uint32Array(grid * grid);
    // Of one feature: the same in every row.
    const plane = values.length === grid ? Float32Array.from(rows, (_, i) => values[i % grid]!) : values;
    paint(plane, magnitude(values), shade, rows);
    const pixels = new Uint32Array(image.data.buffer);
    for (let y = 0; y < grid; ++y) pixels.set(rows.subarray((grid - 1 - y) * grid, (grid - y) * grid), y * grid);
    context.putImageData(image, 0, 0);
  }, [values, grid, shade]);
  return (
    <span class="unit" role="img" aria-label={label} title={label}>
      <canvas ref={canvas} width={grid} height={grid} aria-hidden="true" />
    </span>
  );
}

export interface WeightAt {
  at: string;
  index: number[];
  value: number;
}

export function Network(props: { answer: PlayAnswer; features: readonly string[]; onWeight: (w: { at: string; index: number[]; set: number }) => void }) {
  const { answer } = props;
  const [chosen, setChosen] = useState<{ at: string; index: number[] } | undefined>(undefined);
  const weights = answer.params.filter((p) => p.shape.length === 2);
  const grid = answer.surface?.grid ?? 1;
  const layers = useMemo(() => answer.units.slice().sort((a, b) => a.layer - b.layer).map((u) => decodeF32(u.base64)), [answer.units]);
  const points = props.features.length === 1 ? grid : grid * grid;
  const sizes = [props.features.length, ...weights.map((w) => w.shape[0]!)];
  const most = Math.max(...sizes.map((n) => Math.min(n, 8)));
  const shownOf = (n: number): number => Math.min(n, 8);
  const [columnGap, rowGap] = [108, SIZE + 10];
  const height = most * rowGap + 8;
  const width = (sizes.length - 1) * columnGap + SIZE + 8;
  const at = (layer: number, unit: number): [number, number] => {
    const n = shownOf(sizes[layer]!);
    return [4 + layer * columnGap, 4 + (height - n * rowGap) / 2 + unit * rowGap];
  };
  /** Inputs as planes: x grows to the right, y upwards. */
  const inputs = useMemo(
    () =>
      props.features.slice(0, 2).map((_, f) => {
        const plane = new Float32Array(grid * grid);
        for (let i = 0; i < plane.length; ++i) plane[i] = ((f === 0 ? i % grid : Math.floor(i / grid)) / (grid - 1)) * 2 - 1;
        return plane;
      }),
    [grid, props.features.length],
  );
  const selected = chosen && answer.params.find((p) => p.name === chosen.at);
  const value = selected ? selected.values[chosen.index.length === 2 ? chosen.index[0]! * selected.shape[1]! + chosen.index[1]! : chosen.index[0]!] : undefined;
  return (
    <div class="stack">
      <div class="scroll" tabIndex={0} role="region" aria-label="Network">
        <div class="network" style={{ width: `${width}px`, height: `${height}px` }}>
          <svg width={width} height={height} aria-hidden="true">
            {weights.map((w, layer) => {
              const [outs, ins] = [shownOf(w.shape[0]!), shownOf(w.shape[1]!)];
              const lines = [];
              for (let o = 0; o < outs; ++o)
                for (let i = 0; i < ins; ++i) {
                  const v = toNumber(w.values[o * w.shape[1]! + i] ?? 0);
                  const [xa, ya] = at(layer, i);
                  const [xb, yb] = at(layer + 1, o);
                  const mine = chosen?.at === w.name && chosen.index[0] === o && chosen.index[1] === i;
                  const d = `M${xa + SIZE} ${ya + SIZE / 2}C${xa + SIZE + 34} ${ya + SIZE / 2} ${xb - 34} ${yb + SIZE / 2} ${xb} ${yb + SIZE / 2}`;
                  lines.push(
                    <g key={`${layer} ${o} ${i}`} class={`wire${mine ? ' chosen' : ''}`} onClick={() => setChosen({ at: w.name, index: [o, i] })}>
                      <path d={d} style={{ stroke: v < 0 ? 'var(--negative)' : 'var(--positive)', strokeWidth: Math.min(0.6 + Math.abs(v) * 1.7, 9) }} />
                      <path class="hit" d={d}>
                        <title>{`${w.name}[${o}, ${i}] = ${brief(v)}`}</title>
                      </path>
                    </g>,
                  );
                }
              return lines;
            })}
          </svg>
          {sizes.map((n, layer) =>
            Array.from({ length: shownOf(n) }, (_, unit) => {
              const [x, y] = at(layer, unit);
              const isOutput = layer === sizes.length - 1;
              const plane = layer === 0 ? inputs[unit] : layers[layer - 1]?.subarray(unit * points, (unit + 1) * points);
              const label = layer === 0 ? (props.features[unit] ?? `input ${unit}`) : isOutput ? `output ${unit}` : `layer ${layer}, unit ${unit}`;
              return (
                <div key={`${layer} ${unit}`} class="unit-at" style={{ left: `${x}px`, top: `${y}px` }}>
                  {plane && (plane.length === points || layer === 0) ? <Unit values={plane} grid={grid} label={label} /> : <span class="unit blank">{isOutput ? unit : ''}</span>}
                </div>
              );
            }),
          )}
        </div>
      </div>
      {sizes.some((n) => n > 8) && <p class="small quiet">Only the first eight units of each layer are shown.</p>}
      {chosen && selected && value !== undefined && (
        <label class="field weight-slider">
          <span>
            <span class="mono">
              {chosen.at}[{chosen.index.join(', ')}]
            </span>
            <b class="value mono">{exact(value)}</b>
          </span>
          <input
            type="range"
            min={Math.min(-3, toNumber(value))}
            max={Math.max(3, toNumber(value))}
            step="any"
            value={toNumber(value)}
            onInput={(e) => props.onWeight({ ...chosen, set: Math.fround(Number(e.currentTarget.value)) })}
          />
        </label>
      )}
      <details class="table">
        <summary>Weights as a table</summary>
        <div class="scroll short" tabIndex={0} role="region" aria-label="Weights">
          {answer.params.map((p) => (
            <table key={p.name}>
              <caption class="mono small">{p.name}</caption>
              <tbody>
                {Array.from({ length: p.shape.length === 2 ? p.shape[0]! : 1 }, (_, r) => {
                  const columns = p.shape[p.shape.length - 1] ?? 1;
                  return (
                    <tr key={r}>
                      {Array.from({ length: columns }, (_, c) => (
                        <td key={c} class="number">
                          <button
                            class="link mono"
                            aria-label={`${p.name} ${r}, ${c}: ${exact(p.values[r * columns + c]!)}`}
                            onClick={() => setChosen({ at: p.name, index: p.shape.length === 2 ? [r, c] : [c] })}
                          >
                            {brief(p.values[r * columns + c]!)}
                          </button>
                        </td>
                      ))}
                    </tr>
                  );
                })}
              </tbody>
            </table>
          ))}
        </div>
      </details>
    </div>
  );
}
