// What a network answers at every point of the plane, as colours, with the examples on it.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { brief } from '../engine/numbers';
import { theme } from '../state/theme';
import { classColours, colour, paint } from '../ui/palette';
import { RowsTable } from '../ui/value-table';

export interface Plane {
  /** Values row by row, from the lowest y up; `outputs` at each point. */
  readonly values: Float32Array;
  readonly grid: number;
  readonly outputs: number;
  readonly box: readonly [number, number, number, number];
}
export interface Point {
  readonly x: number;
  readonly y: number;
  readonly target: number;
  readonly test: boolean;
}

const hex = (text: string): [number, number, number] => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)) as [number, number, number];

/** One number a point for two classes and for regression, from -1 to 1. */
export function signedValues(plane: Plane, classes: number): Float32Array {
  const n = plane.grid * plane.grid;
  const made = new Float32Array(n);
  for (let i = 0; i < n; ++i) {
    const at = i * plane.outputs;
    if (classes === 2 && plane.outputs === 2) made[i] = plane.values[at + 1]! - plane.values[at]!;
    else if (classes === 2) made[i] = 2 * plane.values[at]! - 1;
    else made[i] = plane.values[at]!;
  }
  return made;
}

/** Draws a plane as an image of grid by grid, its highest y at the top. */
export function drawPlane(canvas: HTMLCanvasElement, plane: Plane, classes: number, shade: 'light' | 'dark', scale?: number): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const { grid } = plane;
  if (canvas.width !== grid) canvas.width = canvas.height = grid;
  const image = context.createImageData(grid, grid);
  const pixels = new Uint32Array(image.data.buffer);
  const rows = new Uint32Array(grid * grid);
  if (classes <= 2) {
    const values = signedValues(plane, classes);
    let most = scale ?? 1;
    if (classes < 2 && scale === undefined) {
      most = 1e-6;
      for (const v of values) most = Math.max(most, Math.abs(v));
    }
    paint(values, most * 1.7, shade, rows);
  } else {
    const colours = classColours[shade].map(hex);
    const ground = shade === 'dark' ? 28 : 250;
    for (let i = 0; i < rows.length; ++i) {
      let [r, g, b] = [0, 0, 0];
      for (let k = 0; k < plane.outputs; ++k) {
        const p = plane.values[i * plane.outputs + k]!;
        const c = colours[k % colours.length]!;
        r += p * c[0];
        g += p * c[1];
        b += p * c[2];
      }
      const soft = (v: number): number => Math.round(ground + (v - ground) * 0.62);
      rows[i] = (255 << 24) | (soft(b) << 16) | (soft(g) << 8) | soft(r);
    }
  }
  for (let y = 0; y < grid; ++y) pixels.set(rows.subarray((grid - 1 - y) * grid, (grid - y) * grid), y * grid);
  context.putImageData(image, 0, 0);
}

export function Surface(props: { name: string; plane: Plane; classes: number; names: readonly string[]; points: readonly Point[]; features: readonly string[]; range: number }) {
  const { plane, points, classes, names } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [mark, setMark] = useState<{ c: number; r: number } | undefined>(undefined);
  const shade = theme.value;
  useLayoutEffect(() => {
    if (canvas.current) drawPlane(canvas.current, plane, classes, shade, classes < 2 ? props.range : undefined);
  }, [plane, classes, shade, props.range]);
  const [x0, x1, y0, y1] = plane.box;
  const px = (x: number): number => (100 * (x - x0)) / (x1 - x0);
  const py = (y: number): number => 100 - (100 * (y - y0)) / (y1 - y0);
  const dot = (target: number): string =>
    classes < 2 ? colour(target, props.range * 1.1, shade) : classes === 2 ? (target > 0 ? 'var(--positive)' : 'var(--negative)') : classColours[shade][target % 10]!;
  const nameOf = (target: number): string => names[target] ?? String(target);
  // Made anew when the points move, not with each surface. Those of training are above: a truth table's test set has the same places.
  const dots = useMemo(
    () =>
      [...points].sort((a, b) => Number(b.test) - Number(a.test)).map((p, i) => (
        <circle
          key={i}
          cx={px(p.x)}
          cy={py(p.y)}
          r={points.length < 20 ? 2.4 : p.test ? 0.75 : 0.95}
          class={p.test ? 'test' : ''}
          style={{ fill: p.test ? 'var(--sheet)' : dot(p.target), stroke: p.test ? dot(p.target) : 'var(--sheet)' }}
        />
      )),
    [points, plane.box.join(), shade, classes, props.range],
  );
  const say = ({ c, r }: { c: number; r: number }): string => {
    const at = (r * plane.grid + c) * plane.outputs;
    const values = Array.from(plane.values.slice(at, at + plane.outputs), (v) => brief(v));
    const x = x0 + ((x1 - x0) * (c + 0.5)) / plane.grid;
    const y = y0 + ((y1 - y0) * (r + 0.5)) / plane.grid;
    return `(${brief(x, 3)}, ${brief(y, 3)}): ${values.join(', ')}`;
  };
  const label = mark ? say(mark) : '';
  const move = (dc: number, dr: number): void =>
    setMark((m) => {
      const from = m ?? { c: Math.floor(plane.grid / 2), r: Math.floor(plane.grid / 2) };
      const clamp = (v: number): number => Math.min(Math.max(v, 0), plane.grid - 1);
      return { c: clamp(from.c + dc), r: clamp(from.r + dr) };
    });
  return (
    <div class="surface">
      <div
        class="surface-root"
        role="application"
        aria-roledescription="decision surface"
        aria-label={`${props.name}, ${points.length} examples${label ? `: ${label}` : ''}`}
        tabIndex={0}
        onKeyDown={(e) => {
          const step = Math.max(Math.round(plane.grid / 24), 1);
          const moves: Record<string, [number, number]> = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
          const by = moves[e.key];
          if (!by) return;
          move(by[0], by[1]);
          e.preventDefault();
        }}
        onPointerMove={(e) => {
          const box = e.currentTarget.getBoundingClientRect();
          const at = (v: number, size: number): number => Math.min(Math.max(Math.floor((v / size) * plane.grid), 0), plane.grid - 1);
          setMark({ c: at(e.clientX - box.left, box.width), r: at(box.bottom - e.clientY, box.height) });
        }}
        onPointerLeave={() => setMark(undefined)}
        onBlur={() => setMark(undefined)}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <svg viewBox="0 0 100 100" aria-hidden="true">
          {dots}
          {mark && (
            <path
              class="cross"
              d={`M${(100 * (mark.c + 0.5)) / plane.grid} 0V100M0 ${100 - (100 * (mark.r + 0.5)) / plane.grid}H100`}
              vector-effect="non-scaling-stroke"
            />
          )}
        </svg>
      </div>
      {classes > 1 && (
        <ul class="legend">
          {Array.from({ length: Math.min(classes, 10) }, (_, i) => (
            <li key={i}>
              <i style={{ background: dot(i) }} />
              {nameOf(i)}
            </li>
          ))}
        </ul>
      )}
      <div class="axis-names small quiet">
        <span>
          {props.features[0] ?? 'x'} {brief(x0, 3)} … {brief(x1, 3)}
        </span>
        <output>{label}</output>
        <span>
          {props.features[1] ?? 'y'} {brief(y0, 3)} … {brief(y1, 3)}
        </span>
      </div>
      <RowsTable
        name={props.name}
        head={[props.features[0] ?? 'x', props.features[1] ?? 'y', 'target', 'part']}
        rows={() => points.map((p) => [brief(p.x), brief(p.y), classes > 1 ? nameOf(p.target) : p.target, p.test ? 'test' : 'training'])}
      />
    </div>
  );
}
