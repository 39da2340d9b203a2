// What a model says of an example: classes with probabilities, or its numbers.
import { brief, exact, percent, toNumber, visible } from '../engine/numbers';
import type { Answer, ModelInfo } from '../engine/types';

export function AnswerPanel({ info, answer, before }: { info: ModelInfo; answer: Answer; before?: Answer | undefined }) {
  if (answer.probabilities) {
    // Of the last row, where a model answers at every token.
    const logits = (answer.outputs[0]?.values.values ?? []).slice(-answer.probabilities.length);
    const many = answer.probabilities.length > 12;
    const order = answer.probabilities.map((p, i) => [toNumber(p), i] as const);
    if (many) order.sort((a, b) => b[0] - a[0]);
    const names = info.classes ?? info.targets;
    const nameOf = (i: number): string => {
      const token = answer.likeliest?.find((t) => t.class === i);
      return token ? visible(token.label) : (names?.[i] ?? String(i));
    };
    return (
      <section class="answer stack" aria-label="Prediction">
        {answer.class === undefined ? (
          <p class="quiet">Each label by itself:</p>
        ) : (
          <p class="answer-line" role="status">
            <span class="quiet">{answer.likeliest ? 'Next token:' : 'Prediction:'}</span>
            <strong data-number="class">{answer.likeliest ? nameOf(answer.class) : (answer.label ?? nameOf(answer.class))}</strong>
          </p>
        )}
        <ol class="bars" aria-label="Probabilities">
          {order.slice(0, 12).map(([p, i]) => (
            <li key={i} class={i === answer.class ? 'first' : ''}>
              <span class={`bar-name ${answer.likeliest ? 'mono' : ''}`}>{nameOf(i)}</span>
              <span class="bar-track">
                <i style={{ width: `${100 * p}%` }} />
                {before?.probabilities && <u style={{ left: `${100 * toNumber(before.probabilities[i] ?? 0)}%` }} />}
              </span>
              <span
                class="bar-value"
                title={`${exact(answer.probabilities![i]!)}${logits[i] === undefined ? '' : `, logit ${exact(logits[i])}`}`}
                data-probability={exact(answer.probabilities![i]!)}
                data-logit={logits[i] === undefined ? '' : exact(logits[i])}
              >
                {percent(p)}
              </span>
            </li>
          ))}
        </ol>
      </section>
    );
  }
  return (
    <section class="answer stack" aria-label="Prediction">
      {answer.outputs.map((o) => (
        <dl key={o.name} class="facts">
          {(o.values.values ?? []).slice(0, 16).map((v, i) => (
            <>
              <dt>{info.targets?.[i] ?? (o.values.values!.length > 1 ? `${o.name || 'output'} ${i}` : o.name || 'output')}</dt>
              <dd class="mono" title={brief(v)} data-number="output">
                {exact(v)}
              </dd>
            </>
          ))}
        </dl>
      ))}
    </section>
  );
}
