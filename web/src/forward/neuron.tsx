// One neuron's arithmetic, term by term, to the last digit.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { ask } from '../engine/client';
import { brief, count, exact, toNumber } from '../engine/numbers';
import type { Edit, InputSpec, ModelInfo, Neuron as Answer, Term } from '../engine/types';
import { setParams } from '../state/route';
import { reducedMotion } from '../state/theme';
import { Choice, CopyText, Problem } from '../ui/controls';
import { HeatMap } from '../ui/heat-map';
import { useAsk } from '../ui/use-ask';

/** Where the overview's cell was when it was clicked: the formula grows out of it. */
let origin: DOMRect | undefined;
export const growFrom = (box: DOMRect | undefined): void => {
  origin = box;
};

function Terms({ neuron, onBack }: { neuron: Answer; onBack: ((term: Term) => void) | undefined }) {
  const most = Math.max(...neuron.terms.map((t) => Math.abs(toNumber(t.product))), 1e-30);
  return (
    <div class="scroll terms" tabIndex={0} role="region" aria-label="Terms">
      <table>
        <thead>
          <tr>
            <th>input</th>
            <th class="number">value</th>
            <th aria-hidden="true" />
            <th class="number">weight</th>
            <th aria-hidden="true" />
            <th class="number">product</th>
            <th>
              <span class="hidden">size</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {neuron.terms.map((t) => {
            const product = toNumber(t.product);
            return (
              <tr key={t.index}>
                <th scope="row">
                  {onBack ? (
                    <button class="link" onClick={(e) => (growFrom(e.currentTarget.getBoundingClientRect()), onBack(t))}>
                      {t.name ?? t.index}
                    </button>
                  ) : (
                    (t.name ?? t.index)
                  )}
                </th>
                <td class="number mono" title={t.input.hex}>
                  {exact(t.input.value)}
                </td>
                <td class="quiet">×</td>
                <td class="number mono" title={t.weight.hex}>
                  {exact(t.weight.value)}
                </td>
                <td class="quiet">=</td>
                <td class={`number mono ${product < 0 ? 'negative' : 'positive'}`}>{exact(t.product)}</td>
                <td class="bar-cell" aria-hidden="true">
                  <i class={product < 0 ? 'minus' : 'plus'} style={{ width: `${(50 * Math.abs(product)) / most}%` }} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

export function Neuron(props: { info: ModelInfo; input: InputSpec; edits: Edit[]; cell: string; row: number }) {
  const at = props.cell.lastIndexOf(':');
  const [layer, index] = [props.cell.slice(0, at), Number(props.cell.slice(at + 1))];
  const [how, setHow] = useState<'terms' | 'picture' | 'text'>('terms');
  const [most, setMost] = useState(24);
  const { info, row } = props;
  const want = how === 'picture' ? 4096 : most;
  const { answer, error } = useAsk(
    (abort) => ask('neuron', { model: info.id, input: props.input, edits: props.edits, layer, index, row, terms: want }, abort),
    [info.id, props.input, props.edits, layer, index, row, want],
  );
  const panel = useRef<HTMLElement>(null);
  const first = useRef(true);
  useLayoutEffect(() => {
    if (!answer || !first.current) return;
    first.current = false;
    const from = origin;
    origin = undefined;
    const to = panel.current?.getBoundingClientRect();
    panel.current?.scrollIntoView({ block: 'nearest', behavior: reducedMotion() ? 'auto' : 'smooth' });
    if (!from || !to || reducedMotion()) return;
    // The panel's surface starts as the cell and becomes the sheet.
    panel.current?.animate(
      [
        {
          transformOrigin: '0 0',
          transform: `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(${from.width / to.width}, ${from.height / to.height})`,
          opacity: 0.3,
        },
        { transformOrigin: '0 0', transform: 'none', opacity: 1 },
      ],
      { duration: 340, easing: 'cubic-bezier(.2, .8, .2, 1)' },
    );
  }, [answer]);

  const picture = info.picture && answer && answer.count === info.picture.height * info.picture.width && !answer.source ? info.picture : undefined;
  const products = useMemo(() => {
    if (!answer || how !== 'picture') return undefined;
    const all = new Float64Array(answer.count);
    for (const t of answer.terms) if (t.index < all.length) all[t.index] = toNumber(t.product);
    return all;
  }, [answer, how]);

  const back = answer?.source
    ? (term: Term): void => setParams({ cell: `${answer.source!.layer}:${term.index}` }, true)
    : undefined;
  const step = (by: number): void =>
    setParams({ cell: `${layer}:${(index + by + (answer?.neurons ?? 1)) % (answer?.neurons ?? 1)}` });
  return (
    <section class="sheet neuron stack" ref={panel} aria-label={`Neuron ${layer}:${index}`}>
      <div class="row">
        <h2>
          {layer}, neuron {index}
        </h2>
        {answer && (
          <span class="quiet small">
            of {count(answer.neurons)}
            {answer.rows > 1 && `, row ${answer.row}`}
          </span>
        )}
        <span class="row push-right">
          <button class="icon" aria-label="Previous neuron" onClick={() => step(-1)}>
            ‹
          </button>
          <button class="icon" aria-label="Next neuron" onClick={() => step(1)}>
            ›
          </button>
          <button onClick={() => setParams({ cell: undefined, row: undefined }, true)}>Close</button>
        </span>
      </div>
      <Problem text={error} />
      {answer && (
        <>
          <div class="formula" role="group" aria-label="Sum, bias, activation">
            <span>
              <small>sum of {count(answer.count)} products</small>
              <b>
                {answer.from} · w<sub>{index}</sub>
              </b>
            </span>
            {answer.bias && (
              <>
                <i>+</i>
                <span>
                  <small>bias</small>
                  <b class="mono" title={answer.bias.hex} data-number="bias">
                    {exact(answer.bias.value)}
                  </b>
                </span>
              </>
            )}
            <i>=</i>
            <span>
              <small>z</small>
              <b class="mono" title={answer.z.hex} data-number="z">
                {exact(answer.z.value)}
              </b>
            </span>
            {answer.activation && (
              <>
                <i>→</i>
                <span class="result">
                  <small>{answer.activation.op}(z)</small>
                  <b class="mono" title={answer.activation.value.hex} data-number="activation">
                    {exact(answer.activation.value.value)}
                  </b>
                </span>
              </>
            )}
          </div>
          <div class="row">
            <Choice
              label="How"
              value={how}
              onChange={setHow}
              options={[
                ['terms', 'Terms'],
                ['picture', picture ? 'Picture' : 'Map'],
                ['text', 'As the tool prints it'],
              ]}
            />
            {back && how === 'terms' && <span class="small quiet">Click an input to go one layer back.</span>}
          </div>
          {how === 'terms' && (
            <>
              <Terms neuron={answer} onBack={back} />
              {answer.terms.length < answer.count && (
                <p class="small quiet">
                  {count(answer.count - answer.terms.length)} smaller products sum to {brief(answer.rest)}.{' '}
                  <button class="link" onClick={() => setMost(most * 4)}>
                    Show more
                  </button>
                </p>
              )}
            </>
          )}
          {how === 'picture' && products && (
            <>
              <HeatMap
                name={`products of ${layer}:${index}`}
                values={products}
                rows={picture?.height ?? Math.ceil(products.length / 32)}
                columns={picture?.width ?? Math.min(products.length, 32)}
                width={picture ? 280 : Math.min(products.length, 32) * 14}
                describe={(i) => `input ${i} = ${brief(products[i] ?? 0)}`}
                onPick={
                  back &&
                  ((i) => {
                    const term = answer.terms.find((t) => t.index === i);
                    if (term) back(term);
                  })
                }
              />
              {answer.terms.length < answer.count && (
                <p class="small quiet">The {count(answer.count - answer.terms.length)} smallest products are drawn as 0.</p>
              )}
            </>
          )}
          {how === 'text' && <CopyText text={answer.text} label="Arithmetic" />}
        </>
      )}
    </section>
  );
}
