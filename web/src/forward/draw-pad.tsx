// A pad to draw a digit on, with the pointer or with keys; what the network sees beside it.
import { useEffect, useRef, useState } from 'preact/hooks';

import { shortest } from '../engine/numbers';
import { route, setParams } from '../state/route';
import { decodePixels, encodePixels } from '../state/subject';
import { theme } from '../state/theme';
import { Check } from '../ui/controls';
import { HeatMap } from '../ui/heat-map';
import { digitOf } from './centre';

const SIZE = 224; // of the pad's ink, in points; a multiple of 28

export function DrawPad(props: { columns: number; rows: number; onPixels: (pixels: Float32Array) => void }) {
  const { columns, rows } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const ink = useRef(new Float32Array(SIZE * SIZE));
  const last = useRef<{ x: number; y: number } | undefined>(undefined);
  const pen = useRef({ x: SIZE / 2, y: SIZE / 2, down: false });
  const frame = useRef(0);
  const centred = route.value.params['raw'] === undefined;
  const [pixels, setPixels] = useState<Float32Array>(() => Float32Array.from(decodePixels(route.peek().params['pixels'] ?? '', columns * rows)));
  const [cursor, setCursor] = useState<{ x: number; y: number } | undefined>(undefined);
  const shade = theme.value;

  const paint = (): void => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const image = context.createImageData(SIZE, SIZE);
    const [r, g, b] = shade === 'dark' ? [236, 237, 240] : [28, 29, 32];
    for (let i = 0; i < SIZE * SIZE; ++i) {
      image.data[4 * i] = r!;
      image.data[4 * i + 1] = g!;
      image.data[4 * i + 2] = b!;
      image.data[4 * i + 3] = Math.round(255 * ink.current[i]!);
    }
    context.putImageData(image, 0, 0);
  };
  // A drawing from the address that is not the pad's own, as after Back: each of its pixels a square of ink.
  const address = route.value.params['pixels'] ?? '';
  const drawn = useRef('');
  useEffect(() => {
    if (address === drawn.current) return;
    drawn.current = address;
    const named = Float32Array.from(decodePixels(address, columns * rows));
    setPixels(named);
    for (let y = 0; y < SIZE; ++y)
      for (let x = 0; x < SIZE; ++x) ink.current[y * SIZE + x] = named[Math.floor((y * rows) / SIZE) * columns + Math.floor((x * columns) / SIZE)]!;
    paint();
  }, [address]);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  useEffect(paint, [shade]);

  const update = (centre: boolean): void => {
    const made = digitOf(ink.current, SIZE, SIZE, columns, rows, centre);
    setPixels(made);
    props.onPixels(made);
  };
  const changed = (): void => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      paint();
      update(centred);
    });
  };
  const dot = (x: number, y: number): void => {
    const radius = SIZE / 19;
    for (let py = Math.max(Math.floor(y - radius - 2), 0); py < Math.min(y + radius + 2, SIZE); ++py)
      for (let px = Math.max(Math.floor(x - radius - 2), 0); px < Math.min(x + radius + 2, SIZE); ++px) {
        const v = Math.min(Math.max((radius - Math.hypot(px + 0.5 - x, py + 0.5 - y)) / 3 + 0.5, 0), 1);
        const i = py * SIZE + px;
        if (v > ink.current[i]!) ink.current[i] = v;
      }
  };
  const line = (x: number, y: number): void => {
    const from = last.current ?? { x, y };
    const steps = Math.max(Math.ceil(Math.hypot(x - from.x, y - from.y) / 2), 1);
    for (let i = 1; i <= steps; ++i) dot(from.x + ((x - from.x) * i) / steps, from.y + ((y - from.y) * i) / steps);
    last.current = { x, y };
    changed();
  };
  const place = (e: PointerEvent): { x: number; y: number } => {
    const box = canvas.current!.getBoundingClientRect();
    return { x: ((e.clientX - box.left) / box.width) * SIZE, y: ((e.clientY - box.top) / box.height) * SIZE };
  };
  const keep = (made: Float32Array): void => {
    drawn.current = encodePixels(made, 1);
    setParams({ pixels: drawn.current, from: 'draw' });
  };
  const finish = (): void => {
    if (!last.current) return;
    last.current = undefined;
    cancelAnimationFrame(frame.current);
    paint();
    const made = digitOf(ink.current, SIZE, SIZE, columns, rows, centred);
    setPixels(made);
    props.onPixels(made);
    keep(made);
  };
  const clear = (): void => {
    ink.current.fill(0);
    paint();
    update(centred);
    keep(new Float32Array(columns * rows));
  };
  const onKey = (e: KeyboardEvent): void => {
    const step = SIZE / 28;
    const moves: Record<string, [number, number]> = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const move = moves[e.key];
    const p = pen.current;
    if (move) {
      p.x = Math.min(Math.max(p.x + move[0], 0), SIZE);
      p.y = Math.min(Math.max(p.y + move[1], 0), SIZE);
      if (p.down) line(p.x, p.y);
    } else if (e.key === ' ' || e.key === 'Enter') {
      p.down = !p.down;
      if (p.down) line(p.x, p.y);
      else finish();
    } else if (e.key === 'Escape' || e.key === 'Delete') clear();
    else return;
    e.preventDefault();
    e.stopPropagation();
    setCursor({ x: p.x, y: p.y });
  };

  return (
    <div class="stack">
      <div class="pad-row">
        <div
          class="pad"
          role="application"
          aria-roledescription="drawing pad"
          aria-label="Draw a digit. Arrow keys move the pen, space puts it down or lifts it, Escape clears."
          tabIndex={0}
          onKeyDown={onKey}
          onBlur={() => setCursor(undefined)}
        >
          <canvas
            ref={canvas}
            width={SIZE}
            height={SIZE}
            aria-hidden="true"
            onPointerDown={(e) => {
              e.currentTarget.setPointerCapture(e.pointerId);
              const p = place(e);
              last.current = p;
              line(p.x, p.y);
            }}
            onPointerMove={(e) => {
              if (!(e.buttons & 1) || !last.current) return;
              for (const each of e.getCoalescedEvents?.().length ? e.getCoalescedEvents() : [e]) {
                const p = place(each);
                line(p.x, p.y);
              }
            }}
            onPointerUp={finish}
            onPointerCancel={finish}
          />
          {cursor && <i class="pad-pen" style={{ left: `${(100 * cursor.x) / SIZE}%`, top: `${(100 * cursor.y) / SIZE}%` }} />}
        </div>
        <div class="stack pad-seen">
          <span class="small quiet">The network’s input</span>
          <HeatMap
            name="input"
            values={pixels}
            rows={rows}
            columns={columns}
            width={112}
            scale={1}
            describe={(i) => `pixel ${Math.floor(i / columns)}, ${i % columns} = ${shortest(pixels[i]!)}`}
          />
        </div>
      </div>
      <div class="row">
        <button onClick={clear}>Clear</button>
        <Check
          label="centre and scale as MNIST"
          value={centred}
          onChange={(v) => {
            setParams({ raw: v ? undefined : '1' });
            const made = digitOf(ink.current, SIZE, SIZE, columns, rows, v);
            setPixels(made);
            props.onPixels(made);
            keep(made);
          }}
        />
      </div>
    </div>
  );
}
