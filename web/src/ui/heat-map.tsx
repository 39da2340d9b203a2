// A matrix as colours on a canvas: a focusable drawing with a mark that arrow keys and the pointer move.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { shortest } from '../engine/numbers';
import { theme } from '../state/theme';
import { magnitude, paint } from './palette';
import { ValueTable } from './value-table';

export interface HeatMapProps {
  /** What it shows: its name for everybody who does not see it. */
  name: string;
  values: ArrayLike<number>;
  rows: number;
  columns: number;
  /** The value of full colour; left out: the greatest magnitude. */
  scale?: number | undefined;
  /** Width on the page in pixels; cells are square, or at least `minCell` high. */
  width: number;
  minCell?: number;
  selected?: number | undefined;
  onPick?: ((index: number) => void) | undefined;
  /** What an element is called: "unit 5 = 0.25". */
  describe: (index: number) => string;
  /** Whether a table of all values can be opened below. */
  table?: boolean;
}

export function HeatMap(props: HeatMapProps) {
  const { name, values, rows, columns, width, onPick, describe, selected } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [mark, setMark] = useState<number | undefined>(undefined);
  const shade = theme.value;
  const cell = Math.max(width / columns, props.minCell ?? 0);
  const [w, h] = [Math.round(cell * columns), Math.max(Math.round(cell * rows), props.minCell ?? 1)];

  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || rows * columns === 0) return;
    const image = context.createImageData(columns, rows);
    paint(values, props.scale ?? magnitude(values), shade, new Uint32Array(image.data.buffer));
    context.putImageData(image, 0, 0);
  }, [values, rows, columns, props.scale, shade]);

  useEffect(() => {
    if (mark !== undefined && mark >= rows * columns) setMark(undefined);
  }, [rows, columns, mark]);

  const at = (e: PointerEvent): number => {
    const box = canvas.current!.getBoundingClientRect();
    const column = Math.min(Math.max(Math.floor(((e.clientX - box.left) / box.width) * columns), 0), columns - 1);
    const row = Math.min(Math.max(Math.floor(((e.clientY - box.top) / box.height) * rows), 0), rows - 1);
    return row * columns + column;
  };
  const move = (by: number): void => setMark((m) => Math.min(Math.max((m ?? selected ?? 0) + by, 0), rows * columns - 1));
  const onKey = (e: KeyboardEvent): void => {
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -columns,
      ArrowDown: columns,
      Home: -rows * columns,
      End: rows * columns,
      PageUp: -10 * columns,
      PageDown: 10 * columns,
    };
    const step = steps[e.key];
    if (step !== undefined) move(mark === undefined && Math.abs(step) < rows * columns ? 0 : step);
    else if ((e.key === 'Enter' || e.key === ' ') && mark !== undefined) onPick?.(mark);
    else if (e.key === 'Escape') setMark(undefined);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  const box = (index: number) => ({
    left: `${((index % columns) / columns) * 100}%`,
    top: `${(Math.floor(index / columns) / rows) * 100}%`,
    width: `${100 / columns}%`,
    height: `${100 / rows}%`,
  });
  const label = mark === undefined ? '' : describe(mark);
  return (
    <div class="heat" style={{ width: `${w}px` }}>
      <div
        class={`heat-root${onPick ? ' pick' : ''}`}
        role="application"
        aria-roledescription="heat map"
        aria-label={`${name}, ${rows} by ${columns}${label ? `: ${label}` : ''}`}
        tabIndex={0}
        onKeyDown={onKey}
        onPointerMove={(e) => e.pointerType === 'mouse' && setMark(at(e))}
        onPointerLeave={() => setMark(undefined)}
        onBlur={() => setMark(undefined)}
        onClick={(e) => onPick?.(at(e as unknown as PointerEvent))}
      >
        <canvas ref={canvas} width={columns} height={rows} aria-hidden="true" style={{ width: `${w}px`, aspectRatio: `${w} / ${h}` }} />
        {selected !== undefined && selected < rows * columns && <i class="heat-mark chosen" style={box(selected)} />}
        {mark !== undefined && mark < rows * columns && <i class="heat-mark" style={box(mark)} />}
        {label && (
          <span class={`tip${mark! % columns > columns / 2 ? ' tip-left' : ''}`} style={{ left: box(mark!).left, top: box(mark!).top }}>
            {label}
          </span>
        )}
      </div>
      <span class="hidden" role="status">
        {document.activeElement?.getAttribute('aria-roledescription') === 'heat map' ? label : ''}
      </span>
      {props.table !== false && <ValueTable name={name} count={rows * columns} describe={describe} value={(i) => (values instanceof Float32Array && i < values.length ? shortest(values[i]!) : values[i])} />}
    </div>
  );
}
