// Forward: an example on its way through the network, and the arithmetic of any of its neurons.
import { useEffect, useRef, useState } from 'preact/hooks';

import { ask } from '../engine/client';
import { count } from '../engine/numbers';
import type { ForwardAnswer, InputSpec, TraceRow } from '../engine/types';
import { route, setParams } from '../state/route';
import { model } from '../state/session';
import { edits, inputSpec, setEdits } from '../state/subject';
import { Check, Heading, Problem } from '../ui/controls';
import { useStream } from '../ui/use-ask';
import { AnswerPanel } from './answer';
import { InputPanel } from './input-panel';
import { LayerRow, ofLayers } from './layers';
import { growFrom, Neuron } from './neuron';
import './forward.css';

/** Elements of a value that are sent. */
const VALUES = 4096;

const rowsOf = (r: TraceRow): number => r.shape.slice(0, -1).reduce((a, b) => a * b, 1);

export function ForwardView() {
  const info = model.value!;
  const input = inputSpec.value;
  const { cell, row: rowText, all } = route.value.params;
  const [answer, setAnswer] = useState<ForwardAnswer | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const [live, setLive] = useState<InputSpec | undefined>(undefined);
  const root = useRef<HTMLDivElement>(null);

  const stream = useStream(
    (q: InputSpec) => ask('forward', { model: info.id, input: q, edits: edits.peek(), values: VALUES }),
    (a) => {
      setAnswer(a);
      setError(undefined);
    },
    setError,
  );
  useEffect(() => {
    setLive(undefined);
    stream(input);
  }, [input, edits.value, info.id]);

  const shownInput = live ?? input;
  const at = cell?.lastIndexOf(':') ?? -1;
  const [cellLayer, cellIndex] = cell ? [cell.slice(0, at), Number(cell.slice(at + 1))] : [undefined, undefined];
  // A picture is in the panel of the input already.
  const rows = answer ? ofLayers(answer.rows, all === '1').filter((r) => r.op !== 'input' || !info.picture) : [];
  const pick = (r: TraceRow) => (index: number) => {
    const units = r.shape[r.shape.length - 1] ?? 1;
    const box = root.current?.querySelector(`[data-value="${r.value}"] .heat-mark`)?.getBoundingClientRect();
    growFrom(box);
    setParams({ cell: `${r.layer}:${index % units}`, row: rowsOf(r) > 1 ? String(Math.floor(index / units)) : undefined }, true);
  };
  /** The element of a value that the chosen neuron is. */
  const chosenOf = (r: TraceRow): number | undefined => {
    if (r.layer !== cellLayer || cellIndex === undefined || !info.layers.includes(r.layer)) return undefined;
    const last = rowsOf(r) - 1;
    return Math.min(Number(rowText ?? last) || 0, last) * (r.shape[r.shape.length - 1] ?? 1) + cellIndex;
  };
  return (
    <>
      <Heading title="Forward" aside={<Check label="every op" value={all === '1'} onChange={(v) => setParams({ all: v ? '1' : undefined })} />}>
        One example, layer by layer. Blue: above zero; orange: below. Click a cell for its arithmetic.
      </Heading>
      {edits.value.length > 0 && (
        <p class="note row">
          {edits.value.length} {edits.value.length === 1 ? 'edit is' : 'edits are'} applied.
          <button class="link" onClick={() => setEdits([])}>
            Without
          </button>
        </p>
      )}
      <div class="forward" ref={root}>
        <div class="forward-input stack">
          <div class="sheet">
            <InputPanel
              info={info}
              example={answer?.input}
              onLive={(spec) => {
                setLive(spec);
                stream(spec);
              }}
            />
          </div>
          {answer && (
            <div class={`sheet ${error === undefined ? '' : 'stale'}`}>
              <AnswerPanel info={info} answer={answer.answer} />
            </div>
          )}
        </div>
        <div class="forward-layers stack">
          <Problem text={error} />
          {cell && <Neuron key={cell} info={info} input={shownInput} edits={edits.value} cell={cell} row={Number(rowText ?? -1)} />}
          {!answer && error === undefined && (
            <p class="quiet" role="status">
              Computing…
            </p>
          )}
          <div class={answer ? `sheet layers ${error === undefined ? '' : 'stale'}` : 'hidden'}>
            {rows.map((r, i) => {
              const last = i === rows.length - 1;
              const known = info.layers.includes(r.layer);
              return (
                <LayerRow
                  key={r.value}
                  row={r}
                  selected={chosenOf(r)}
                  onPick={known ? pick(r) : undefined}
                  names={last ? info.classes : null}
                />
              );
            })}
            {answer && (
              <p class="small quiet">
                {count(answer.rows.length)} ops in {(answer.seconds * 1000).toFixed(1)} ms.
              </p>
            )}
          </div>
        </div>
      </div>
    </>
  );
}
