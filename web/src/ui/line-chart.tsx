// Lines over a common axis, on uPlot: a focusable drawing whose cursor arrow keys move, with a table behind it.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { brief, count } from '../engine/numbers';
import { theme } from '../state/theme';
import { RowsTable } from './value-table';

export interface Series {
  readonly name: string;
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
  readonly colour: string;
  readonly dots?: boolean;
  /** Dots alone, however many. */
  readonly scatter?: boolean;
  readonly faint?: boolean;
  readonly dash?: boolean;
}

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The series over one axis that has every x of any of them. */
function aligned(series: readonly Series[], log = false): uPlot.AlignedData {
  const shared = series[0]?.x;
  if (series.every((s) => s.x === shared)) return [Array.from(shared ?? []), ...series.map((s) => clean(s.y, log))];
  return uPlot.join(series.map((s) => [Array.from(s.x), clean(s.y, log)]));
}
/** What is drawn: finite numbers; of a logarithmic chart their logarithms, which no zero has. */
const clean = (y: ArrayLike<number>, log: boolean): (number | null)[] =>
  Array.from(y, (v) => (!Number.isFinite(v) || (log && v <= 0) ? null : log ? Math.log10(v) : v));

/** A mark of an axis, without zeros at its end. */
const axisText = (t: number): string =>
  (t === 0 || (Math.abs(t) >= 1e-4 && Math.abs(t) < 1e6) ? String(Number(t.toPrecision(6))) : String(Number(t.toPrecision(3)).toExponential())).replace(/-/g, '\u2212');

/** Logarithms of powers of ten, at most eight of them; within two of them of 1, 2 and 5 times each. */
function decades(low: number, high: number): number[] {
  const span = Math.ceil(high) - Math.floor(low);
  const step = Math.max(Math.ceil(span / 8), 1);
  const marks: number[] = [];
  for (let e = Math.floor(low / step) * step; e <= high; e += step)
    for (const m of span <= 2 ? [1, 2, 5] : [1]) {
      const v = e + Math.log10(m);
      if (v >= low - 1e-9 && v <= high + 1e-9) marks.push(v);
    }
  return marks;
}

/** Which colour is which. */
export function Legend({ series }: { series: readonly Pick<Series, 'name' | 'colour'>[] }) {
  return (
    <ul class="legend">
      {series.map((s) => (
        <li key={s.name}>
          <i style={{ background: s.colour }} />
          {s.name}
        </li>
      ))}
    </ul>
  );
}

export function LineChart(props: {
  name: string;
  xName: string;
  series: readonly Series[];
  height?: number;
  log?: boolean;
  sync?: string;
}) {
  const { name, series, log } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [said, setSaid] = useState('');
  const shade = theme.value;
  const height = props.height ?? 240;
  const shape = series.map((s) => `${s.name}|${s.colour}|${s.dots && s.x.length <= 60}|${s.scatter}|${s.faint}|${s.dash}`).join('\n');
  const latest = useRef(series);
  latest.current = series;

  useEffect(() => {
    const node = host.current;
    if (!node) return undefined;
    const grid = { stroke: css('--line'), width: 1 };
    const text = css('--ink-2');
    const font = `11.5px ${css('--font')}`;
    const own = new uPlot(
      {
        width: Math.max(node.clientWidth, 120),
        height,
        padding: [8, 22, 0, 0],
        legend: { show: false },
        cursor: {
          ...(props.sync ? { sync: { key: props.sync } } : {}),
          points: { size: 7 },
          drag: { x: true, y: false, uni: 12 },
        },
        scales: {
          x: { time: false },
        },
        axes: [
          { stroke: text, font, grid, ticks: { show: false }, size: 28, gap: 6 },
          {
            stroke: text,
            font,
            grid,
            ticks: { show: false },
            size: 58,
            gap: 6,
            ...(log ? { splits: (_u: uPlot, _axis: number, low: number, high: number) => decades(low, high) } : {}),
            values: (_, ticks) => ticks.map((t) => (t === null ? '' : axisText(log ? Number((10 ** t).toPrecision(6)) : t))),
          },
        ],
        series: [
          {},
          ...latest.current.map((s) => ({
            label: s.name,
            stroke: s.colour,
            width: s.faint ? 1 : 2,
            alpha: s.faint ? 0.28 : 1,
            ...(s.dash ? { dash: [6, 4] } : {}),
            ...(s.scatter ? { paths: () => null } : {}),
            points: { show: s.scatter === true || (s.dots === true && s.x.length <= 60), size: s.scatter ? 4 : 6, fill: s.colour },
            spanGaps: true,
          })),
        ],
        hooks: {
          setCursor: [
            (u) => {
              const i = u.cursor.idx;
              if (i == null) return setSaid('');
              const x = u.data[0][i];
              if (x === undefined) return setSaid('');
              const parts = latest.current.flatMap((s, k) => {
                const v = u.data[k + 1]?.[i];
                return v == null || s.faint ? [] : [`${s.name} ${brief(log ? 10 ** v : v)}`];
              });
              setSaid(`${props.xName} ${Number.isInteger(x) ? count(x) : brief(x)}: ${parts.join(', ')}`);
            },
          ],
        },
      },
      aligned(latest.current, log),
      node,
    );
    plot.current = own;
    const observer = new ResizeObserver(() => own.setSize({ width: Math.max(node.clientWidth, 120), height }));
    observer.observe(node);
    return () => {
      observer.disconnect();
      own.destroy();
      plot.current = undefined;
    };
  }, [shape, shade, log, height, props.xName]);

  useEffect(() => {
    const own = plot.current;
    if (!own) return;
    const zoomed = own.scales['x'];
    const all = own.data[0];
    // Somebody's zoom stays; what follows the data goes on to follow it.
    const kept = zoomed?.min != null && zoomed.max != null && all.length > 1 && (zoomed.min > all[0]! || zoomed.max < all[all.length - 1]!);
    own.setData(aligned(series, log), !kept);
    if (kept) own.redraw();
  }, [series]);

  const onKey = (e: KeyboardEvent): void => {
    const own = plot.current;
    if (!own) return;
    const n = own.data[0].length;
    const now = own.cursor.idx ?? -1;
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -Math.ceil(n / 20), PageDown: Math.ceil(n / 20), Home: -n, End: n };
    const step = steps[e.key];
    if (step !== undefined && n > 0) {
      const i = Math.min(Math.max(now + step, 0), n - 1);
      const y = own.data.slice(1).find((s) => s[i] != null)?.[i] ?? 0;
      own.setCursor({ left: own.valToPos(own.data[0][i]!, 'x'), top: own.valToPos(y, 'y') });
    } else if (e.key === 'Escape') own.setCursor({ left: -10, top: -10 });
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  return (
    <figure class="chart">
      <figcaption>
        <span>{name}</span>
        <output aria-live="polite">{said}</output>
      </figcaption>
      <div
        class="plot"
        ref={host}
        role="application"
        aria-roledescription="chart"
        aria-label={`${name} over ${props.xName}: ${series.filter((s) => !s.faint).map((s) => s.name).join(', ') || 'empty'}`}
        tabIndex={0}
        style={{ minHeight: `${height}px` }}
        onKeyDown={onKey}
        onDblClick={() => plot.current?.setData(aligned(series, log), true)}
      />
      <RowsTable
        name={name}
        head={[props.xName, ...series.map((s) => s.name)]}
        rows={() => {
          const data = aligned(series);
          return Array.from(data[0], (x, i) => [x, ...data.slice(1).map((s) => s[i] ?? '')]);
        }}
      />
    </figure>
  );
}
