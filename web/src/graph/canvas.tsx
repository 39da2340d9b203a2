// The drawing of a laid-out graph: pan, zoom, choose, fold; arrow keys go to the nearest box in their direction.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { reducedMotion } from '../state/theme';
import type { Box, Edge, Shown } from './folds';
import type { LayoutAnswer } from './layout';

type Placed = LayoutAnswer['boxes'][number];
interface Camera {
  x: number;
  y: number;
  scale: number;
}

export const boxSize = (box: Box): { width: number; height: number } => {
  const chars = Math.max(box.title.length * 7.7, box.detail.length * 6.5);
  return { width: Math.min(Math.max(chars + 34, 92), 280), height: box.detail ? 50 : 34 };
};

const clip = (text: string, width: number, size: number): string => {
  const most = Math.max(Math.floor((width - 28) / size), 3);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
};

/** A smooth line through the points that dagre gives. */
function path(points: readonly (readonly [number, number])[]): string {
  if (points.length < 2) return '';
  const [x0, y0] = points[0]!;
  let d = `M${x0} ${y0}`;
  for (let i = 1; i < points.length - 1; ++i) {
    const [x, y] = points[i]!;
    const [nx, ny] = points[i + 1]!;
    const last = i === points.length - 2;
    d += `Q${x} ${y} ${last ? nx : (x + nx) / 2} ${last ? ny : (y + ny) / 2}`;
  }
  if (points.length === 2) d += `L${points[1]![0]} ${points[1]![1]}`;
  return d;
}

export function GraphCanvas(props: {
  name: string;
  shown: Shown;
  layout: LayoutAnswer;
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
  onToggle: (id: string) => void;
}) {
  const { shown, layout, selected } = props;
  const root = useRef<SVGSVGElement>(null);
  const [camera, setCamera] = useState<Camera>({ x: 0, y: 0, scale: 1 });
  const [dragging, setDragging] = useState(false);
  const drag = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);
  const kinds = new Map(shown.boxes.map((b) => [b.id, b]));
  const places = new Map(layout.boxes.map((b) => [b.id, b]));

  const size = (): { width: number; height: number } => {
    const box = root.current?.getBoundingClientRect();
    return { width: box?.width || 600, height: box?.height || 400 };
  };
  const fit = (): void => {
    const { width, height } = size();
    const scale = Math.min(Math.max(Math.min(width / layout.width, height / layout.height, 1.15), 0.3), 1.15);
    setCamera({ scale, x: (width - layout.width * scale) / 2, y: layout.height * scale < height ? (height - layout.height * scale) / 2 : 8 });
  };
  const zoom = (by: number, at?: { x: number; y: number }): void => {
    const { width, height } = size();
    const c = at ?? { x: width / 2, y: height / 2 };
    setCamera((m) => {
      const scale = Math.min(Math.max(m.scale * by, 0.05), 4);
      return { scale, x: c.x - ((c.x - m.x) * scale) / m.scale, y: c.y - ((c.y - m.y) * scale) / m.scale };
    });
  };
  /** Brings a box into sight; what is in sight stays where it is. */
  const reveal = (place: Placed): void => {
    const { width, height } = size();
    setCamera((m) => {
      const x = place.x * m.scale + m.x;
      const y = place.y * m.scale + m.y;
      const inside = x >= 8 && y >= 8 && x + place.width * m.scale <= width - 8 && y + Math.min(place.height * m.scale, height / 2) <= height - 8;
      if (inside) return m;
      return { ...m, x: width / 2 - (place.x + place.width / 2) * m.scale, y: height / 3 - place.y * m.scale };
    });
  };

  const before = useRef<{ layout: LayoutAnswer; camera: Camera } | undefined>(undefined);
  useLayoutEffect(() => {
    // The box that was folded or unfolded stays under the pointer.
    const old = before.current?.layout.boxes.find((b) => b.id === selected);
    const now = selected === undefined ? undefined : places.get(selected);
    if (old && now)
      setCamera((m) => ({ ...m, x: m.x + (old.x + old.width / 2 - now.x - now.width / 2) * m.scale, y: m.y + (old.y - now.y) * m.scale }));
    else fit();
    before.current = { layout, camera };
  }, [layout]);
  useEffect(() => {
    const place = selected === undefined ? undefined : places.get(selected);
    if (place) reveal(place);
  }, [selected, layout]);

  const nearest = (key: string): string | undefined => {
    const from = selected === undefined ? undefined : places.get(selected);
    if (!from) return shown.boxes.find((b) => b.kind === 'input')?.id ?? shown.boxes[0]?.id;
    const cx = from.x + from.width / 2;
    const cy = from.y + (kinds.get(selected!)?.kind === 'open' ? 0 : from.height / 2);
    let best: { id: string; cost: number } | undefined;
    for (const p of layout.boxes) {
      if (p.id === selected) continue;
      const dx = p.x + p.width / 2 - cx;
      const dy = p.y + (kinds.get(p.id)?.kind === 'open' ? 0 : p.height / 2) - cy;
      const [along, across] = key === 'ArrowDown' ? [dy, dx] : key === 'ArrowUp' ? [-dy, dx] : key === 'ArrowRight' ? [dx, dy] : [-dx, dy];
      if (along <= 1) continue;
      const cost = along + 2.2 * Math.abs(across);
      if (!best || cost < best.cost) best = { id: p.id, cost };
    }
    return best?.id;
  };
  const onKey = (e: KeyboardEvent): void => {
    if (e.key.startsWith('Arrow')) {
      const next = nearest(e.key);
      if (next) props.onSelect(next);
    } else if ((e.key === 'Enter' || e.key === ' ') && selected !== undefined) props.onToggle(selected);
    else if (e.key === 'Escape') props.onSelect(undefined);
    else if (e.key === '+' || e.key === '=') zoom(1.25);
    else if (e.key === '-') zoom(0.8);
    else if (e.key === '0') fit();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  useEffect(() => {
    const svg = root.current;
    if (!svg) return undefined;
    const onWheel = (e: WheelEvent): void => {
      const box = svg.getBoundingClientRect();
      if (e.ctrlKey || e.metaKey) {
        e.preventDefault();
        zoom(Math.exp(-e.deltaY / 240), { x: e.clientX - box.left, y: e.clientY - box.top });
      } else if (layout.height > 0 && document.activeElement === svg) {
        e.preventDefault();
        setCamera((m) => ({ ...m, x: m.x - e.deltaX, y: m.y - e.deltaY }));
      }
    };
    svg.addEventListener('wheel', onWheel, { passive: false });
    return () => svg.removeEventListener('wheel', onWheel);
  }, [layout]);

  const chosen = selected === undefined ? undefined : kinds.get(selected);
  const near = (edge: Edge): boolean => edge.from === selected || edge.to === selected;
  return (
    <div class="graph-canvas">
      <svg
        ref={root}
        role="application"
        aria-roledescription="graph"
        aria-label={`${props.name}: ${shown.boxes.length} boxes${chosen ? `; ${chosen.title}, ${chosen.detail}` : ''}`}
        tabindex={0}
        class={dragging ? 'dragging' : ''}
        onKeyDown={onKey}
        onPointerDown={(e) => {
          drag.current = { x: e.clientX, y: e.clientY, moved: false };
        }}
        onPointerMove={(e) => {
          const d = drag.current;
          if (!d || !(e.buttons & 1)) return;
          const [dx, dy] = [e.clientX - d.x, e.clientY - d.y];
          if (!d.moved && Math.hypot(dx, dy) < 4) return;
          if (!d.moved) {
            root.current?.setPointerCapture(e.pointerId);
            setDragging(true);
          }
          drag.current = { x: e.clientX, y: e.clientY, moved: true };
          setCamera((m) => ({ ...m, x: m.x + dx, y: m.y + dy }));
        }}
        onPointerUp={() => {
          setDragging(false);
          setTimeout(() => (drag.current = undefined));
        }}
        onClick={(e) => {
          if (drag.current?.moved) return;
          const id = (e.target as Element).closest('[data-id]')?.getAttribute('data-id') ?? undefined;
          props.onSelect(id);
        }}
        onDblClick={(e) => {
          const id = (e.target as Element).closest('[data-id]')?.getAttribute('data-id');
          if (id) props.onToggle(id);
        }}
      >
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
            <path d="M0 .8 7 4 0 7.2" />
          </marker>
        </defs>
        <g transform={`translate(${camera.x} ${camera.y}) scale(${camera.scale})`} class={reducedMotion() || dragging ? '' : 'glide'}>
          {shown.boxes
            .filter((b) => b.kind === 'open')
            .map((b) => {
              const p = places.get(b.id);
              return (
                p && (
                  <g key={b.id} data-id={b.id} class={`box open${b.id === selected ? ' chosen' : ''}`} transform={`translate(${p.x} ${p.y})`}>
                    <rect width={p.width} height={p.height} rx="12" />
                    <text x="14" y="20" class="title">
                      {clip(b.title, p.width, 7.4)}
                    </text>
                    <g class="fold" data-toggle="1" transform={`translate(${p.width - 24} 6)`} onClick={(e) => (e.stopPropagation(), props.onToggle(b.id))}>
                      <rect width="18" height="18" rx="5" />
                      <path d="M5 9h8" />
                    </g>
                  </g>
                )
              );
            })}
          {shown.edges.map((edge, i) => {
            const made = layout.edges[i];
            return (
              made && (
                <g key={`${edge.from} ${edge.to}`} class={`edge${near(edge) ? ' near' : ''}`}>
                  <path d={path(made.points)} marker-end="url(#arrow)" />
                  <text x={made.x} y={made.y + 4}>
                    {edge.label}
                  </text>
                </g>
              )
            );
          })}
          {shown.boxes
            .filter((b) => b.kind !== 'open')
            .map((b) => {
              const p = places.get(b.id);
              return (
                p && (
                  <g key={b.id} data-id={b.id} class={`box ${b.kind}${b.id === selected ? ' chosen' : ''}`} transform={`translate(${p.x} ${p.y})`}>
                    {b.kind === 'group' && <rect class="under" x="4" y="4" width={p.width} height={p.height} rx="9" />}
                    <rect width={p.width} height={p.height} rx={b.kind === 'input' || b.kind === 'output' ? p.height / 2 : 9} />
                    <text x={p.width / 2} y={b.detail ? 21 : p.height / 2 + 5} class="title">
                      {clip(b.title, p.width, 7.4)}
                    </text>
                    {b.detail && (
                      <text x={p.width / 2} y={38} class="detail">
                        {clip(b.detail, p.width, 6)}
                      </text>
                    )}
                    {b.kind === 'group' && (
                      <g class="fold" data-toggle="1" transform={`translate(${p.width - 13} -7)`} onClick={(e) => (e.stopPropagation(), props.onToggle(b.id))}>
                        <rect width="20" height="20" rx="10" />
                        <path d="M5.5 10h9M10 5.500v9" />
                      </g>
                    )}
                  </g>
                )
              );
            })}
        </g>
      </svg>
      <div class="graph-zoom">
        <button class="icon" aria-label="Zoom in" onClick={() => zoom(1.25)}>
          +
        </button>
        <button class="icon" aria-label="Zoom out" onClick={() => zoom(0.8)}>
          {'\u2212'}
        </button>
        <button aria-label="Fit the whole graph" onClick={fit}>
          Fit
        </button>
      </div>
    </div>
  );
}
