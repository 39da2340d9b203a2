// Backward: the gradient of an output or of the loss by everything before it, and the chain rule op by op.
import { useEffect, useState } from 'preact/hooks';

import { ask } from '../engine/client';
import { exact, visible } from '../engine/numbers';
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
  const { answer: forward } = useAsk((abort) => ask('forward', { model: info.id, input, values: 0 }, abort), [input, info.id]);
  const example: ExampleInfo | null | undefined = forward?.input;
  const likeliest = forward?.answer.likeliest;
  const name = (i: number): string => {
    const token = likeliest?.find((t) => t.class === i);
    return token ? visible(token.label) : (info.classes?.[i] ?? info.targets?.[i] ?? String(i));
  };
  const losses: [string, string][] =
    source.value === 'data'
      ? canLoss
        ? [['loss', 'the loss, by the example’s target']]
        : []
      : info.task === 'classification'
        ? Array.from({ length: Math.min(outputs, 100) }, (_, i) => [`loss:${i}`, `the loss, with the target ${name(i)}`])
        : [];
  // Of a text, the likeliest next tokens.
  const shownOutputs = likeliest?.map((t) => t.class) ?? Array.from({ length: Math.min(outputs, 200) }, (_, i) => i);
  const choices: [string, string][] = [
    ...losses,
    ...shownOutputs.map((i): [string, string] => [String(i), likeliest ? `next token ${name(i)}` : `output ${name(i)}`]),
  ];
  // What another input had may be none of this one's.
  const possible = of !== undefined && (choices.some(([value]) => value === of) || (/^\d+$/.test(of) && Number(of) < outputs));
  const what = possible ? of : (losses.find(([value]) => value === 'loss')?.[0] ?? choices[losses.length]?.[0] ?? '0');
  const asked = info.task === 'next_token' && forward === undefined ? undefined : what;
  const lastRow = (forward?.answer.outputs[0]?.values.shape ?? []).slice(0, -1).reduce((a, b) => a * b, 1) - 1;
  const row = forward?.answer.row ?? lastRow;
  const [answer, setAnswer] = useState<GradientAnswer | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);

  const target = (): GradientRequest['of'] => {
    if (what === 'loss') return { loss: { target: null } };
    if (what.startsWith('loss:')) return { loss: { target: Number(what.slice(5)) } };
    // An output of several rows, one for each token: of the one that predicts the next token.
    return { output: (info.task === 'next_token' ? Math.max(row, 0) * outputs : 0) + (Number(what) || 0) };
  };
  const stream = useStream(
    (q: InputSpec) => ask('gradient', { model: info.id, input: q, edits: edits.peek(), of: target(), values: 4096 }),
    (a) => {
      setAnswer(a);
      setError(undefined);
    },
    setError,
  );
  useEffect(() => {
    if (asked !== undefined) stream(input);
  }, [input, asked, row, edits.value, info.id]);

  const isInput = (value: string): boolean => info.inputs.some((x) => value === x.value);
  const rows = (answer?.rows ?? []).filter((r) => showParams === '1' || r.node >= 0 || isInput(r.value));
  const step = Math.min(Math.max(Number(at ?? -1), -1), rows.length - 1);
  const inputRow = answer?.rows.find((r) => isInput(r.value));
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
                {(choices.some(([value]) => value === what) ? choices : [...choices, [what, `output ${what}`] as const]).map(([value, text]) => (
                  <option key={value} value={value}>
                    {text}
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
          {!answer && error === undefined && (
            <p class="quiet" role="status">
              Computing…
            </p>
          )}
          <div class={answer ? `sheet layers ${error === undefined ? '' : 'stale'}` : 'hidden'}>
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
