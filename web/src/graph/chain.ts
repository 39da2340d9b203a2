// The layout of a graph that is one chain, as most are while they are folded: box below box. It needs no worker, and takes no time.
import type { LayoutAnswer, LayoutRequest } from './layout';

/** As the worker leaves it between boxes: half of it above a label, half below. */
export const RANK_SEPARATION = 46;
export const LABEL_HEIGHT = 16;
export const MARGIN = 16;
const INSET = 24; // between an open box and what is in it
const TITLE = 30; // above that

/** Nothing for a graph that is no chain, or passes through an open box twice. */
export function chain({ boxes, edges }: Omit<LayoutRequest, 'id'>): Omit<LayoutAnswer, 'id'> | undefined {
  const places = new Map(boxes.map((box, i) => [box.id, i]));
  const open = new Set(boxes.map((box) => box.parent));
  const leaves = boxes.filter((box) => !open.has(box.id));
  const next = new Map<string, number>(); // the edge that leaves a box
  const ends = new Set<string>();
  edges.forEach((edge, i) => {
    next.set(edge.from, i);
    ends.add(edge.to);
  });
  // As many boxes that an edge leaves as there are edges, and as many that one enters: no box has two.
  const first = leaves.find((box) => !ends.has(box.id));
  if (!first || edges.length !== leaves.length - 1 || next.size !== edges.length || ends.size !== edges.length) return undefined;

  const widths = boxes.map((box) => box.width);
  for (let i = boxes.length - 1; i >= 0; --i) {
    const parent = places.get(boxes[i]!.parent ?? '');
    if (parent !== undefined) widths[parent] = Math.max(widths[parent]!, widths[i]! + 2 * INSET);
  }
  const widest = Math.max(...widths, ...edges.map((edge) => edge.width));
  const middle = MARGIN + widest / 2;
  const placed: LayoutAnswer['boxes'] = [];
  const lines: LayoutAnswer['edges'] = [];
  const put = (index: number, y: number, height: number): void => {
    placed[index] = { id: boxes[index]!.id, x: middle - widths[index]! / 2, y, width: widths[index]!, height };
  };
  /** The open boxes around a box, outermost first. */
  const around = (id: string): number[] => {
    const all: number[] = [];
    for (let at = boxes[places.get(id)!]!.parent; at !== undefined; at = boxes[places.get(at)!]!.parent) all.unshift(places.get(at)!);
    return all;
  };
  let y = MARGIN;
  let inside: number[] = [];
  const leave = (depth: number): void => {
    for (const index of inside.slice(depth).reverse()) {
      y += INSET;
      placed[index]!.height = y - placed[index]!.y;
    }
  };
  let reached = 0;
  let by: { edge: number; from: number } | undefined;
  for (let at: string | undefined = first.id; at !== undefined && reached < leaves.length; ++reached) {
    const own = around(at);
    let common = 0;
    while (common < inside.length && inside[common] === own[common]) ++common;
    leave(common);
    if (by) y += RANK_SEPARATION + LABEL_HEIGHT;
    for (const index of own.slice(common)) {
      if (placed[index]) return undefined;
      put(index, y, 0);
      y += TITLE;
    }
    inside = own;
    if (by) {
      const half = (by.from + y) / 2;
      lines[by.edge] = { points: [[middle, by.from], [middle, half], [middle, y]], x: middle, y: half };
    }
    const index = places.get(at)!;
    put(index, y, boxes[index]!.height);
    y += boxes[index]!.height;
    const edge: number | undefined = next.get(at);
    by = edge === undefined ? undefined : { edge, from: y };
    at = edge === undefined ? undefined : edges[edge]!.to;
  }
  leave(0);
  // What was not reached is a ring.
  return reached === leaves.length ? { boxes: placed, edges: lines, width: widest + 2 * MARGIN, height: y + MARGIN } : undefined;
}
