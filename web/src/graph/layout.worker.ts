// Lays out a graph off the page's thread, so that typing and scrolling go on.
import { Graph, layout } from '@dagrejs/dagre';

import { LABEL_HEIGHT, MARGIN, RANK_SEPARATION } from './chain';
import type { LayoutAnswer, LayoutRequest } from './layout';

self.onmessage = (event: MessageEvent<LayoutRequest>) => {
  const { id, boxes, edges } = event.data;
  const g = new Graph({ compound: true, multigraph: true });
  g.setGraph({ rankdir: 'TB', nodesep: 28, ranksep: RANK_SEPARATION, edgesep: 14, marginx: MARGIN, marginy: MARGIN });
  for (const box of boxes) g.setNode(box.id, { width: box.width, height: box.height });
  for (const box of boxes) if (box.parent !== undefined) g.setParent(box.id, box.parent);
  edges.forEach((edge, i) => {
    g.setEdge(edge.from, edge.to, { width: edge.width, height: LABEL_HEIGHT, labelpos: 'c' }, String(i));
  });
  layout(g);
  const placed = boxes.map((box) => {
    const { x = 0, y = 0, width = 0, height = 0 } = g.node(box.id) as Partial<Record<'x' | 'y' | 'width' | 'height', number>>;
    return { id: box.id, x: x - width / 2, y: y - height / 2, width, height };
  });
  // Room for the title of a box with boxes in it; those inside come later in the list.
  const index = new Map(boxes.map((box, i) => [box.id, i]));
  const tops = placed.map((p) => p.y);
  for (let i = boxes.length - 1; i >= 0; --i) {
    const own = placed[i]!;
    if (tops[i]! < own.y) {
      const top = Math.min(own.y, tops[i]! - 8) - 18;
      own.height += own.y - top;
      own.y = top;
    }
    const parent = index.get(boxes[i]!.parent ?? '');
    if (parent !== undefined) tops[parent] = Math.min(tops[parent]!, own.y, placed[parent]!.y - 0.01);
  }
  const answer: LayoutAnswer = {
    id,
    boxes: placed,
    edges: edges.map((edge, i) => {
      const made = g.edge(edge.from, edge.to, String(i)) as { points?: { x: number; y: number }[]; x?: number; y?: number };
      return { points: (made.points ?? []).map((p) => [p.x, p.y] as const), x: made.x ?? 0, y: made.y ?? 0 };
    }),
    width: Number(g.graph().width ?? 0),
    height: Number(g.graph().height ?? 0),
  };
  self.postMessage(answer);
};
