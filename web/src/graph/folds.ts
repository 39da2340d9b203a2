// What of a graph is shown when some of its groups are open: pure functions, from the engine's columns to boxes and edges.
import { count, shapeText, short } from '../engine/numbers';
import type { Graph } from '../engine/types';

/** A group of the engine, or one made here where a level has more boxes than one can look at. */
export interface Group {
  readonly key: string; // in the address
  readonly name: string;
  readonly kind: string;
  readonly parent: number; // -1: the whole
  readonly groups: number[];
  readonly ops: number[]; // its own, not those of its groups
  all: number; // ops in it
  parameters: number;
}

export interface Tree {
  readonly graph: Graph;
  readonly groups: Group[];
  readonly top: { groups: number[]; ops: number[] };
  /** The innermost group of each op, -1: none. */
  readonly of: number[];
}

/** More boxes than this in one level are put into groups of neighbours. */
const MOST_IN_LEVEL = 120;

export function treeOf(graph: Graph): Tree {
  const groups: Group[] = graph.groups.name.map((name, i) => ({
    key: name || `group ${i}`,
    name: name || `group ${i}`,
    kind: graph.groups.kind[i] ?? 'block',
    parent: graph.groups.parent[i] ?? -1,
    groups: [],
    ops: [],
    all: graph.groups.nodes[i] ?? 0,
    parameters: graph.groups.parameters[i] ?? 0,
  }));
  const top = { groups: [] as number[], ops: [] as number[] };
  groups.forEach((g, i) => (groups[g.parent]?.groups ?? top.groups).push(i));
  const of = graph.nodes.group.slice();
  of.forEach((g, node) => (groups[g]?.ops ?? top.ops).push(node));
  // Names that come twice get a number, so that the address tells them apart.
  const seen = new Map<string, number>();
  groups.forEach((g, i) => {
    const times = seen.get(g.key) ?? 0;
    seen.set(g.key, times + 1);
    if (times) groups[i] = { ...g, key: `${g.key}~${times}` };
  });
  const tree: Tree = { graph, groups, top, of };
  split(tree, -1);
  for (let i = 0; i < graph.groups.name.length; ++i) split(tree, i);
  return tree;
}

/** Puts the ops of a level that has too many into groups of neighbours, in order. */
function split(tree: Tree, level: number): void {
  const own = tree.groups[level] ?? tree.top;
  if (own.groups.length + own.ops.length <= MOST_IN_LEVEL) return;
  const size = Math.max(Math.ceil(Math.sqrt(own.ops.length)), 2);
  const ops = own.ops.splice(0);
  const name = level < 0 ? '' : `${tree.groups[level]!.key}/`;
  for (let i = 0; i < ops.length; i += size) {
    const part = ops.slice(i, i + size);
    const index = tree.groups.length;
    const label = `ops ${count(part[0]!)}–${count(part[part.length - 1]!)}`;
    let parameters = 0;
    for (const op of part) parameters += tree.graph.nodes.parameters[op] ?? 0;
    tree.groups.push({ key: `${name}${part[0]}`, name: label, kind: 'part', parent: level, groups: [], ops: part, all: part.length, parameters });
    own.groups.push(index);
    for (const op of part) tree.of[op] = index;
  }
}

/** The groups around an op, outermost first. */
export function around(tree: Tree, op: number): number[] {
  const found: number[] = [];
  for (let g = tree.of[op] ?? -1; g >= 0; g = tree.groups[g]!.parent) found.unshift(g);
  return found;
}

export interface Box {
  readonly id: string; // "n4" an op, "g2" a group, "v0" an input, "o1" an output
  readonly kind: 'op' | 'group' | 'open' | 'input' | 'output';
  readonly title: string;
  readonly detail: string;
  readonly parent: string | undefined;
}
export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}
export interface Shown {
  readonly boxes: Box[];
  readonly edges: Edge[];
}

/** Boxes and edges with the groups of `open` unfolded. */
export function shown(tree: Tree, open: ReadonlySet<string>): Shown {
  const { graph } = tree;
  const boxes: Box[] = [];
  const add = (level: { groups: number[]; ops: number[] }, parent: string | undefined): void => {
    for (const i of level.groups) {
      const g = tree.groups[i]!;
      const id = `g${i}`;
      const detail = `${count(g.all)} ${g.all === 1 ? 'op' : 'ops'}${g.parameters ? ` · ${short(g.parameters)} parameters` : ''}`;
      const isOpen = open.has(g.key);
      boxes.push({ id, kind: isOpen ? 'open' : 'group', title: g.name, detail, parent });
      if (isOpen) add(g, id);
    }
    for (const op of level.ops)
      boxes.push({ id: `n${op}`, kind: 'op', title: graph.nodes.op[op]!, detail: graph.nodes.note[op] ?? '', parent });
  };
  add(tree.top, undefined);

  /** The box that stands for an op: the outermost closed group around it, or itself. */
  const closed: number[] = []; // the outermost closed group of each group; those around it come before it
  tree.groups.forEach((g, i) => closed.push(g.parent >= 0 && closed[g.parent]! >= 0 ? closed[g.parent]! : open.has(g.key) ? -1 : i));
  const standing = tree.of.map((g, op) => (g >= 0 && closed[g]! >= 0 ? `g${closed[g]}` : `n${op}`));

  graph.values.kind.forEach((kind, v) => {
    if (kind !== 'input') return;
    const type = `${graph.values.dtype[v]} ${shapeText(graph.values.shape[v]!)}`;
    boxes.push({ id: `v${v}`, kind: 'input', title: graph.values.name[v]!, detail: type, parent: undefined });
  });
  const edges = new Map<string, { from: string; to: string; values: Set<number> }>();
  const connect = (from: string, to: string, value: number): void => {
    if (from === to) return;
    const key = `${from} ${to}`;
    const edge = edges.get(key) ?? { from, to, values: new Set() };
    edge.values.add(value);
    edges.set(key, edge);
  };
  for (const [from, to, value] of graph.edges) {
    if (from < 0 && graph.values.kind[-1 - from] !== 'input') continue; // parameters are part of what uses them
    connect(from < 0 ? `v${-1 - from}` : standing[from]!, standing[to]!, value);
  }
  graph.outputs.forEach(({ name, value }, i) => {
    const node = graph.values.node[value] ?? -1;
    const type = `${graph.values.dtype[value]} ${shapeText(graph.values.shape[value]!)}`;
    boxes.push({ id: `o${i}`, kind: 'output', title: name || 'output', detail: type, parent: undefined });
    connect(node < 0 ? `v${value}` : standing[node]!, `o${i}`, value);
  });
  return {
    boxes,
    edges: [...edges.values()].map(({ from, to, values }) => {
      const [first] = values;
      const label = shapeText(graph.values.shape[first!]!);
      return { from, to, label: values.size > 1 ? `${label} and ${values.size - 1} more` : label };
    }),
  };
}

/** What a name finds: ops, values, groups; at most `most`. */
export function find(tree: Tree, text: string, most = 50): { id: string; title: string; detail: string }[] {
  const want = text.trim().toLowerCase();
  if (!want) return [];
  const { graph } = tree;
  const found: { id: string; title: string; detail: string }[] = [];
  tree.groups.forEach((g, i) => {
    if (found.length < most && g.name.toLowerCase().includes(want))
      found.push({ id: `g${i}`, title: g.name, detail: `${count(g.all)} ops` });
  });
  for (let n = 0; n < graph.nodes.op.length && found.length < most; ++n) {
    const values = [...graph.nodes.outputs[n]!, ...graph.nodes.inputs[n]!.filter((v) => graph.values.kind[v] === 'parameter')];
    const hit = values.find((v) => graph.values.name[v]!.toLowerCase().includes(want));
    if (hit !== undefined || graph.nodes.op[n]!.toLowerCase().includes(want))
      found.push({ id: `n${n}`, title: graph.nodes.op[n]!, detail: graph.values.name[hit ?? values[0]!] ?? '' });
  }
  return found;
}
