// Graph: what a model is made of, folded as far as one likes.
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';

import { ask, sentence } from '../engine/client';
import { bytes, count, shapeText } from '../engine/numbers';
import type { Graph } from '../engine/types';
import { route, setParams } from '../state/route';
import { model } from '../state/session';
import { Heading, Problem } from '../ui/controls';
import { useAsk } from '../ui/use-ask';
import { RowsTable } from '../ui/value-table';
import { boxSize, GraphCanvas } from './canvas';
import { Details } from './details';
import { around, find, shown, treeOf, type Tree } from './folds';
import { layOut, type LayoutAnswer } from './layout';
import { ParameterList } from './parameter-list';
import './graph.css';

/** The groups that are open at first: as long as a level has one group alone, that one. */
function openAtFirst(tree: Tree): string[] {
  const open: string[] = [];
  let level: { groups: number[]; ops: number[] } = tree.top;
  while (level.groups.length === 1 && level.ops.length < 3) {
    const only = tree.groups[level.groups[0]!]!;
    if (only.all < 2) break;
    open.push(only.key);
    level = only;
  }
  return open;
}

function Drawing({ graph, name, inside }: { graph: Graph; name: string; inside: boolean }) {
  const tree = useMemo(() => treeOf(graph), [graph]);
  const { open: openText, at } = route.value.params;
  const open = useMemo(
    () => new Set(openText === undefined ? openAtFirst(tree) : openText.split('|').filter(Boolean)),
    [tree, openText],
  );
  const parts = useMemo(() => shown(tree, open), [tree, open]);
  const [laid, setLaid] = useState<{ layout: LayoutAnswer; parts: typeof parts } | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const [text, setText] = useState('');
  const found = useMemo(() => find(tree, text), [tree, text]);

  // Not useEffect, which would wait for the frame without a drawing.
  useLayoutEffect(() => {
    let alive = true;
    layOut({
      boxes: parts.boxes.map((b) => ({
        id: b.id,
        ...(b.kind === 'open' ? { width: 10, height: 10 } : boxSize(b)),
        ...(b.parent === undefined ? {} : { parent: b.parent }),
      })),
      edges: parts.edges.map((e) => ({ from: e.from, to: e.to, width: e.label.length * 6.2 + 8 })),
    }).then(
      (layout) => alive && (setLaid({ layout, parts }), setError(undefined)),
      (e: unknown) => alive && setError(sentence(e)),
    );
    return () => {
      alive = false;
    };
  }, [parts]);

  const setOpen = (next: ReadonlySet<string>, more: Record<string, string | undefined> = {}): void =>
    setParams({ open: [...next].join('|') || '|', ...more }, true);
  const toggle = (id: string): void => {
    if (id.startsWith('n') && graph.nodes.body[Number(id.slice(1))]) {
      // The engine numbers the ops of the whole function, not those of a body.
      if (!inside) setParams({ node: id.slice(1), open: undefined, at: undefined }, true);
      return;
    }
    const group = id.startsWith('g') ? tree.groups[Number(id.slice(1))] : undefined;
    if (!group) return;
    const next = new Set(open);
    if (!next.delete(group.key)) next.add(group.key);
    setOpen(next, { at: id });
  };
  const choose = (id: string): void => {
    const index = Number(id.slice(1));
    const next = new Set(open);
    const above = id.startsWith('n') ? around(tree, index) : [];
    for (let g = id.startsWith('g') ? tree.groups[index]!.parent : -1; g >= 0; g = tree.groups[g]!.parent) above.push(g);
    for (const g of above) next.add(tree.groups[g]!.key);
    setOpen(next, { at: id });
  };

  return (
    <div class="graph">
      <div class="row graph-bar">
        <div class="graph-find">
          <input
            type="search"
            placeholder="Find an op, a value, a layer"
            aria-label="Find"
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === 'Enter' && found[0]) choose(found[0].id);
              if (e.key === 'Escape') setText('');
            }}
          />
          {text && (
            <ul class="graph-found" aria-label="Found">
              {found.map((f) => (
                <li key={f.id}>
                  <button class="plain" onClick={() => (choose(f.id), setText(''))}>
                    <b>{f.title}</b> <span class="mono quiet">{f.detail}</span>
                  </button>
                </li>
              ))}
              {!found.length && <li class="quiet small">No matches.</li>}
            </ul>
          )}
        </div>
        <button onClick={() => setOpen(new Set(), { at: undefined })}>Fold all</button>
        <button
          disabled={tree.graph.nodes.op.length > 600}
          title={tree.graph.nodes.op.length > 600 ? 'Too many ops to lay out at once; unfold a part' : ''}
          onClick={() => setOpen(new Set(tree.groups.map((g) => g.key)))}
        >
          Unfold all
        </button>
        <span class="small quiet" role="status">
          {count(graph.nodes.op.length)} ops, {count(parts.boxes.length)} boxes shown
        </span>
      </div>
      <Problem text={error} />
      <div class="graph-main">
        {laid ? (
          <GraphCanvas
            name={`Graph of ${name}`}
            shown={laid.parts}
            layout={laid.layout}
            selected={at}
            onSelect={(id) => setParams({ at: id })}
            onToggle={toggle}
          />
        ) : (
          <div class="graph-canvas quiet">Computing the layout…</div>
        )}
        <aside class="graph-side" aria-label="Details">
          <Details tree={tree} at={at} onToggle={toggle} open={open} inside={inside} />
        </aside>
      </div>
      <RowsTable
        label="The graph as a table"
        name="the graph"
        head={['op', 'layer', 'inputs', 'outputs']}
        rows={() =>
          graph.nodes.op.map((op, i) => [
            `${op} ${graph.nodes.note[i] ?? ''}`,
            tree.groups[tree.of[i] ?? -1]?.name ?? '',
            graph.nodes.inputs[i]!.map((v) => graph.values.name[v]).join(', '),
            graph.nodes.outputs[i]!.map((v) => `${graph.values.name[v]} ${shapeText(graph.values.shape[v]!)}`).join(', '),
          ])
        }
      />
    </div>
  );
}

export function GraphView() {
  const info = model.value;
  const node = route.value.params['node'];
  const body = node === undefined ? undefined : Number(node);
  const functional = info?.kind === 'model';
  const { answer, error } = useAsk(
    functional
      ? (abort) => ask('graph', body === undefined ? { model: info.id } : { model: info.id, node: body }, abort)
      : undefined,
    [info?.id, functional, body],
  );
  if (!info) return <Heading title="Graph">Open a model: drop a .safetensors, .onnx or .npz file on this page.</Heading>;
  return (
    <>
      <Heading
        title="Graph"
        aside={
          <span class="quiet small">
            {count(info.parameters)} parameters · {bytes(info.bytes)}
            {functional && ` · ${count(info.ops)} ops`}
          </span>
        }
      >
        {functional
          ? 'Every op of the model, folded by layer. Click a box for details; + unfolds it.'
          : 'This file has tensors but no function.'}
      </Heading>
      {body !== undefined && (
        <nav class="row crumbs" aria-label="Bodies">
          <button class="link" onClick={() => setParams({ node: undefined, open: undefined, at: undefined }, true)}>
            {info.name}
          </button>
          <span aria-hidden="true">/</span>
          <span>{answer?.name ?? `op ${body}`}</span>
        </nav>
      )}
      <Problem text={error} />
      {answer && <Drawing key={`${info.id} ${body}`} graph={answer} name={answer.name || info.name} inside={body !== undefined} />}
      <ParameterList />
    </>
  );
}
