// Any step of a run again: computed anew from the nearest checkpoint, with the bits that it had.
import { useState } from 'preact/hooks';

import { ask } from '../engine/client';
import { brief, count, exact } from '../engine/numbers';
import type { RunStepAnswer } from '../engine/types';
import { go, route, setParams } from '../state/route';
import { addModel, loadSession } from '../state/session';
import { Problem } from '../ui/controls';
import { useStream } from '../ui/use-ask';

export function TimeMachine({ run, name, last }: { run: string; name: string; last: number }) {
  const step = Math.min(Math.max(Number(route.value.params['step'] ?? last) || 0, 0), last);
  const [answer, setAnswer] = useState<RunStepAnswer | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const stream = useStream(
    (to: number) => ask('run/step', { run, step: to }),
    (a) => {
      setAnswer(a);
      addModel(a.model);
      void loadSession(); // an old one may not be open any more
      setError(undefined);
      setBusy(false);
    },
    (text) => {
      setError(text);
      setBusy(false);
    },
  );
  const to = (next: number): void => {
    const at = Math.min(Math.max(Math.trunc(next) || 0, 0), last);
    setParams({ step: String(at) });
    setBusy(true);
    stream(at);
  };
  return (
    <section class="sheet stack" aria-labelledby="time-title">
      <h2 id="time-title">Time machine</h2>
      <p class="quiet small">Recompute any step of {name}, even if no checkpoint was saved: training is a pure function, so the bits are the same.</p>
      <form
        class="time-row"
        onSubmit={(e) => {
          e.preventDefault();
          to(step);
        }}
      >
        <input
          type="range"
          min="0"
          max={last}
          value={step}
          aria-label="Step"
          onInput={(e) => setParams({ step: e.currentTarget.value })}
          onChange={(e) => to(Number(e.currentTarget.value))}
        />
        <input type="number" class="index" min="0" max={last} value={step} aria-label="Step, exactly" onInput={(e) => setParams({ step: e.currentTarget.value })} />
        <button type="submit" disabled={busy}>
          {busy ? 'Computing…' : 'Go there'}
        </button>
      </form>
      <Problem text={error} />
      {answer && (
        <div class="stack" role="status">
          <dl class="facts">
            <dt>step</dt>
            <dd data-number="step">
              {count(answer.step)} of {count(answer.steps)}, from step {count(answer.from)} in {answer.seconds.toFixed(2)} s
            </dd>
            {answer.loss !== null && (
              <>
                <dt>loss of its batch</dt>
                <dd title={exact(answer.loss)} data-number="loss">
                  {brief(answer.loss, 6)}
                </dd>
              </>
            )}
            <dt>hash</dt>
            <dd class="mono" data-number="hash">
              {answer.hash}
            </dd>
            {answer.verified !== null && (
              <>
                <dt>saved checkpoint</dt>
                <dd>{answer.verified ? 'the same bits' : <strong class="negative">other bits</strong>}</dd>
              </>
            )}
          </dl>
          <div class="row">
            <button onClick={() => go('forward', { model: answer.model.id })}>Its activations</button>
            <button onClick={() => go('graph', { model: answer.model.id })}>Its weights</button>
          </div>
        </div>
      )}
    </section>
  );
}
