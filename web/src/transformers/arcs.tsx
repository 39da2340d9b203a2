// Attention as arcs between tokens, on a canvas: so that thousands of them stay smooth.
import { useLayoutEffect, useRef } from 'preact/hooks';

import { percent, shortest, visible } from '../engine/numbers';
import type { Token } from '../engine/types';
import { theme } from '../state/theme';
import { RowsTable } from '../ui/value-table';

export const tokenText = (t: Token): string => visible(t.text);

const STEP = 26; // pixels between tokens, where there is room

/** `weights`: queries x keys. `query` undefined: all of them, faintly. */
export function Arcs(props: {
  tokens: readonly Token[];
  weights: ArrayLike<number>;
  keys: number;
  query: number | undefined;
  onQuery: (query: number | undefined) => void;
  name: string;
}) {
  const { tokens, weights, keys, query } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const shade = theme.value;
  const n = tokens.length;
  const step = Math.max(Math.min(STEP, 16_000 / n), 2);
  const height = Math.max(n * step, 40);
  const width = 260;
  useLayoutEffect(() => {
    const node = canvas.current;
    const context = node?.getContext('2d');
    if (!node || !context) return;
    const ratio = Math.min(devicePixelRatio || 1, 30_000 / height);
    node.width = width * ratio;
    node.height = height * ratio;
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    context.strokeStyle = style.getPropertyValue('--accent').trim();
    const from = query ?? 0;
    const to = query === undefined ? n : query + 1;
    // Of very many arcs only those that one would see.
    const least = query === undefined ? Math.max(0.02, n > 256 ? 0.15 : 0) : 0.002;
    for (let q = from; q < to; ++q)
      for (let k = 0; k < Math.min(keys, n); ++k) {
        const w = weights[q * keys + k] ?? 0;
        if (!(w > least)) continue;
        const [ya, yb] = [(k + 0.5) * step, (q + 0.5) * step];
        const reach = Math.min(12 + Math.abs(ya - yb) * 0.55, width - 6);
        context.globalAlpha = Math.min(w * (query === undefined ? 0.6 : 1) + 0.04, 1);
        context.lineWidth = 0.6 + 3 * w;
        context.beginPath();
        if (k === q) {
          context.arc(8, ya, 4, 0, 2 * Math.PI);
        } else {
          context.moveTo(0, ya);
          context.bezierCurveTo(reach, ya, reach, yb, 0, yb);
        }
        context.stroke();
      }
  }, [tokens, weights, keys, query, shade, height]);
  const strongest = (q: number): string => {
    let best = 0;
    for (let k = 1; k < keys; ++k) if ((weights[q * keys + k] ?? 0) > (weights[q * keys + best] ?? 0)) best = k;
    return `token ${q} ${tokenText(tokens[q]!)} attends most to token ${best} ${tokens[best] ? tokenText(tokens[best]!) : ''}, ${percent(weights[q * keys + best] ?? 0)}`;
  };
  return (
    <div>
      <div
        class="arcs"
        role="application"
        aria-roledescription="attention arcs"
        aria-label={`${props.name}, ${n} tokens${query === undefined || !tokens[query] ? '' : `: ${strongest(query)}`}`}
        tabIndex={0}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown' || e.key === 'ArrowRight') props.onQuery(Math.min((query ?? -1) + 1, n - 1));
          else if (e.key === 'ArrowUp' || e.key === 'ArrowLeft') props.onQuery(Math.max((query ?? n) - 1, 0));
          else if (e.key === 'Escape') props.onQuery(undefined);
          else return;
          e.preventDefault();
          e.stopPropagation();
        }}
      >
        {step >= 9 ? (
          <ol class="arc-tokens">
            {tokens.map((t, i) => {
              const w = query === undefined ? 0 : (weights[query * keys + i] ?? 0);
              return (
                <li key={i} class={i === query ? 'chosen' : ''} style={{ height: `${step}px` }} onClick={() => props.onQuery(i === query ? undefined : i)}>
                  <span class="mono" style={w > 0 && i !== query ? { background: `color-mix(in srgb, var(--accent) ${Math.round(w * 55)}%, transparent)` } : {}}>
                    {tokenText(t)}
                  </span>
                </li>
              );
            })}
          </ol>
        ) : null}
        <canvas ref={canvas} aria-hidden="true" style={{ width: `${width}px`, height: `${height}px` }} />
      </div>
      <RowsTable
        name={props.name}
        head={['query', 'key', 'weight']}
        rows={() => {
          const list: [string, string, number][] = [];
          for (let q = query ?? 0; q < (query === undefined ? n : query + 1) && list.length < 1000; ++q)
            for (let k = 0; k < keys && k < n; ++k) {
              const w = weights[q * keys + k] ?? 0;
              if (w > 0) list.push([`${q} ${tokenText(tokens[q]!)}`, `${k} ${tokenText(tokens[k]!)}`, shortest(w)]);
            }
          return list;
        }}
      />
    </div>
  );
}
