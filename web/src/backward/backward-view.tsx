// Backward: the gradient of an output or of the loss by everything before it, and the chain rule op by op.
import { useEffect, useState } from 'preact/hooks';

import { ask } from '../engine/client';
import { exact } from '../engine/numbers';
import type { ExampleInfo, GradientAnswer, GradientRequest, InputSpec } from '../engine/types';
import { InputPanel } from '../forward/input-panel';
import { LayerRow } from '../forward/layers';
import { route, setParams } from '../state/route';
import { model } from '../state/session';
import { edits, inputSpec, source } from '../state/subject';
import { Check, Heading, Problem } from '../ui/controls';
import { useAsk, useStream } from '../ui/use-ask';
import '../forward/forward.css';

const ruleWords = (row: GradientAnswer['rows'][number]): string =>
  row.from.length
    ? row.from.map((f) => `back through ${f.op}${f.rule ? `, ${f.rule}` : ''}`).join('; ')
    : 'start: the gradient of the value with respect to itself is 1.';

export function BackwardView() {
  const info = model.value!;
  const input = inputSpec.value;
  const { of, params: showParams, at } = route.value.params;
  const outputs = info.outputs[0]?.shape[info.outputs[0].shape.length - 1] ?? 1;
  const canLoss = info.task !== null && (source.value === 'data' || info.task === 'next_token' || info.task === 'classification');
  const what = of ?? (canLoss && source.value === 'data' ? 'loss' : '0');
  const [answer, setAnswer] = useState<GradientAnswer | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);

  const target = (): GradientRequest['of'] => {
    if (what === 'loss') return { loss: { target: null } };
    if (what.startsWith('loss:')) return { loss: { target: Number(what.slice(5)) } };
    return { output: Number(what) || 0 };
  };
  const stream = useStream(
    (q: InputSpec) => ask('gradient', { model: info.id, input: q, edits: edits.peek(), of: target(), values: 4096 }),
    (a) => {
      setAnswer(a);
      setError(undefined);
    },
    setError,
  );
  useEffect(() => stream(input), [input, what, edits.value, info.id]);
  const { answer: forward } = useAsk((abort) => ask('forward', { model: info.id, input, values: 0 }, abort), [input, info.id]);
  const example: ExampleInfo | null | undefined = forward?.input;

  const isParameter = (value: string): boolean => /\.(weight|bias|scale|offset)$/.test(value) || /^%[a-z].*\./i.test(value);
  const rows = (answer?.rows ?? []).filter((r) => showParams === '1' || !isParameter(r.value));
  const step = Math.min(Math.max(Number(at ?? -1), -1), rows.length - 1);
  const name = (i: number): string => info.classes?.[i] ?? String(i);
  const inputRow = answer?.rows.find((r) => info.inputs.some((x) => r.value === `%${x.name}`));
  return (
    <>
      <Heading title="Backward" aside={<Check label="parameters, too" value={showParams === '1'} onChange={(v) => setParams({ params: v ? '1' : undefined })} />}>
        The gradient: how much each number inside the network changes one output, or the loss. It is computed from the output back to the input.
      </Heading>
      <div class="forward">
        <div class="forward-input stack">
          <div class="sheet">
            <InputPanel info={info} example={example} onLive={stream} />
          </div>
          <div class="sheet stack">
            <label class="field">
              <span>Gradient of</span>
              <select value={what} onChange={(e) => setParams({ of: e.currentTarget.value, at: undefined })}>
                {canLoss && source.value === 'data' && <option value="loss">the loss, by the example’s target</option>}
                {info.task === 'classification' &&
                  source.value !== 'data' &&
                  Array.from({ length: Math.min(outputs, 100) }, (_, i) => (
                    <option key={`loss ${i}`} value={`loss:${i}`}>
                      the loss, with the target {name(i)}
                    </option>
                  ))}
                {Array.from({ length: Math.min(outputs, 200) }, (_, i) => (
                  <option key={i} value={String(i)}>
                    output {name(i)}
                  </option>
                ))}
              </select>
            </label>
            {answer && (
              <dl class="facts">
                <dt>its value</dt>
                <dd class="mono" data-number="value" title={answer.value.hex}>
                  {exact(answer.value.value)}
                </dd>
              </dl>
            )}
          </div>
          {inputRow?.values && (
            <div class="sheet">
              <LayerRow row={{ ...inputRow, layer: 'by the input', op: 'saliency' }} picture={info.picture} names={info.features} />
            </div>
          )}
        </div>
        <div class="forward-layers stack">
          <Problem text={error} />
          {rows.length > 0 && (
            <div class="sheet stack">
              <div class="row">
                <h2>Chain rule</h2>
                <span class="row push-right">
                  <button disabled={step < 0} onClick={() => setParams({ at: step <= 0 ? undefined : String(step - 1) })}>
                    Back
                  </button>
                  <button disabled={step >= rows.length - 1} onClick={() => setParams({ at: String(step + 1) })}>
                    {step < 0 ? 'Step through' : 'One op further'}
                  </button>
                </span>
              </div>
              <p class="quiet" role="status">
                {step < 0 ? (
                  'All gradients at once. Step through to see each op pass its gradient back.'
                ) : (
                  <>
                    <b class="mono">{rows[step]!.value}</b> {rows[step]!.op} {rows[step]!.layer}: {ruleWords(rows[step]!)}
                  </>
                )}
              </p>
            </div>
          )}
          <div class="sheet layers">
            {(step < 0 ? rows : rows.slice(0, step + 1)).map((r, i) => (
              <div key={r.value} class={i === step ? 'now' : ''}>
                <LayerRow row={r} picture={r.op === 'input' ? info.picture : null} names={r.shape[r.shape.length - 1] === info.classes?.length ? info.classes : null} />
                {r.from.length > 0 && (
                  <p class="small quiet rule">
                    {r.from.map((f) => (
                      <span key={f.value}>
                        back through {f.op} <span class="mono">{f.value}</span>
                        {f.rule && <span class="mono"> = {f.rule}</span>}
                        <br />
                      </span>
                    ))}
                  </p>
                )}
              </div>
            ))}
          </div>
        </div>
      </div>
    </>
  );
}
