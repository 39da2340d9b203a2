// What is known of the chosen box of a graph.
import { ask } from '../engine/client';
import { count, shapeText, short } from '../engine/numbers';
import { setParams } from '../state/route';
import { model } from '../state/session';
import { Histogram, StatisticsLine } from '../ui/histogram';
import { useAsk } from '../ui/use-ask';
import type { Tree } from './folds';

function ValueLine({ tree, value }: { tree: Tree; value: number }) {
  const { values } = tree.graph;
  return (
    <li>
      <span class="mono">{values.name[value]}</span> <span class="quiet">{values.dtype[value]} {shapeText(values.shape[value]!)}</span>
    </li>
  );
}

/** Statistics and histogram of a parameter. */
function ParameterCard({ name }: { name: string }) {
  const id = model.value!.id;
  const { answer } = useAsk((abort) => ask('tensor', { model: id, value: name, bins: 40, as: 'base64' }, abort), [id, name]);
  if (!answer) return null;
  return (
    <div class="stack parameter-card">
      <h3 class="mono">{name.replace(/^%/, '')}</h3>
      <StatisticsLine of={answer.statistics} />
      <Histogram name={name} bins={answer.histogram} />
      <button class="link small" onClick={() => setParams({ tensor: name }, true)}>
        Show its values
      </button>
    </div>
  );
}

export function Details(props: { tree: Tree; at: string | undefined; open: ReadonlySet<string>; inside: boolean; onToggle: (id: string) => void }) {
  const { tree, at } = props;
  const { graph } = tree;
  if (at === undefined)
    return (
      <div class="stack">
        <h2>{graph.name || 'The whole graph'}</h2>
        <dl class="facts">
          <dt>ops</dt>
          <dd>{count(graph.nodes.op.length)}</dd>
          <dt>multiply-adds</dt>
          <dd>{count(graph.nodes.multiply_adds.reduce((a, b) => a + b, 0))}</dd>
          <dt>inputs</dt>
          <dd>{graph.values.kind.filter((k) => k === 'input').length}</dd>
          <dt>parameters</dt>
          <dd>{graph.values.kind.filter((k) => k === 'parameter').length} tensors</dd>
          <dt>outputs</dt>
          <dd>{graph.outputs.length}</dd>
        </dl>
        <p class="small quiet">Choose a box. Arrow keys move between boxes, Enter unfolds, / searches.</p>
      </div>
    );
  const index = Number(at.slice(1));
  if (at.startsWith('g')) {
    const g = tree.groups[index];
    if (!g) return null;
    const names = new Set<string>();
    const collect = (group: typeof g): void => {
      for (const op of group.ops)
        for (const v of graph.nodes.inputs[op]!) if (graph.values.kind[v] === 'parameter') names.add(graph.values.name[v]!);
      for (const inner of group.groups) collect(tree.groups[inner]!);
    };
    collect(g);
    const list = [...names];
    return (
      <div class="stack">
        <h2>{g.name}</h2>
        <p class="quiet small">
          {count(g.all)} ops · {count(g.parameters)} parameters
        </p>
        <div class="row">
          <button onClick={() => props.onToggle(at)}>{props.open.has(g.key) ? 'Fold' : 'Unfold'}</button>
        </div>
        {list.slice(0, 8).map((name) => (
          <ParameterCard key={name} name={name} />
        ))}
        {list.length > 8 && <p class="small quiet">and {list.length - 8} more: unfold it, or see the list below.</p>}
      </div>
    );
  }
  if (at.startsWith('n')) {
    const op = graph.nodes.op[index];
    if (op === undefined) return null;
    const inputs = graph.nodes.inputs[index]!;
    const parameters = inputs.filter((v) => graph.values.kind[v] === 'parameter');
    return (
      <div class="stack">
        <h2>{op}</h2>
        {graph.nodes.note[index] && <p class="mono small">{graph.nodes.note[index]}</p>}
        {graph.nodes.body[index] && !props.inside && (
          <div class="row">
            <button onClick={() => props.onToggle(at)}>Show its body</button>
          </div>
        )}
        <div>
          <h3>Inputs</h3>
          <ul class="plain-list">
            {inputs.map((v) => (
              <ValueLine key={v} tree={tree} value={v} />
            ))}
          </ul>
        </div>
        <div>
          <h3>Outputs</h3>
          <ul class="plain-list">
            {graph.nodes.outputs[index]!.map((v) => (
              <ValueLine key={v} tree={tree} value={v} />
            ))}
          </ul>
        </div>
        {(graph.nodes.multiply_adds[index] ?? 0) > 0 && (
          <p class="quiet small">{short(graph.nodes.multiply_adds[index]!)} multiply-adds for each example</p>
        )}
        {parameters.map((v) => (
          <ParameterCard key={v} name={graph.values.name[v]!} />
        ))}
      </div>
    );
  }
  const value = at.startsWith('o') ? graph.outputs[index]?.value : index;
  if (value === undefined || graph.values.name[value] === undefined) return null;
  return (
    <div class="stack">
      <h2>{at.startsWith('o') ? graph.outputs[index]!.name || 'output' : graph.values.name[value]}</h2>
      <dl class="facts">
        <dt>shape</dt>
        <dd>{shapeText(graph.values.shape[value]!)}</dd>
        <dt>type</dt>
        <dd>{graph.values.dtype[value]}</dd>
      </dl>
    </div>
  );
}
