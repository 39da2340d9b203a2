// Transformers: tokens, attention, what each block would already answer, and the next token.
import { useEffect, useMemo, useState } from 'preact/hooks';

import { ask, sentence } from '../engine/client';
import { brief, bytes, count, elements, exact, percent, shortest, toNumber } from '../engine/numbers';
import type { InputSpec, LanguageAnswer } from '../engine/types';
import { route, setParams } from '../state/route';
import { model } from '../state/session';
import { edits, firstText, setText as setTextParam, textSpec } from '../state/subject';
import { Choice, Heading, Problem, Slider } from '../ui/controls';
import { HeatMap } from '../ui/heat-map';
import { useAsk, useStream } from '../ui/use-ask';
import { Arcs, tokenText } from './arcs';
import './transformers.css';

const LENS_TOKENS = 14;

function Next({ answer }: { answer: LanguageAnswer }) {
  const { temperature = '1', top_k = '0', top_p = '1' } = route.value.params;
  const most = Math.max(...answer.next.map((t) => toNumber(t.probability)), 1e-9);
  return (
    <section class="sheet stack" aria-labelledby="next-title">
      <h2 id="next-title">Next token</h2>
      <Slider label="Temperature" value={Number(temperature)} min={0.1} max={3} step={0.05} onInput={(v) => setParams({ temperature: String(v) })} />
      <Slider
        label="Top-k"
        value={Number(top_k)}
        min={0}
        max={50}
        shown={Number(top_k) === 0 ? 'all' : top_k}
        onInput={(v) => setParams({ top_k: v ? String(v) : undefined })}
      />
      <Slider label="Top-p" value={Number(top_p)} min={0.05} max={1} step={0.01} onInput={(v) => setParams({ top_p: v === 1 ? undefined : String(v) })} />
      <ol class="bars next-tokens" aria-label="Probabilities of the next token">
        {answer.next.slice(0, 16).map((t, i) => (
          <li key={t.id} class={`${i === 0 ? 'first' : ''} ${t.kept ? '' : 'cut'}`}>
            <span class="bar-name mono">{tokenText(t)}</span>
            <span class="bar-track">
              <i style={{ width: `${(100 * toNumber(t.probability)) / most}%` }} />
            </span>
            <span class="bar-value" title={`${exact(t.probability)}; logit ${exact(t.logit.value)}`} data-probability={exact(t.probability)} data-logit={exact(t.logit.value)}>
              {percent(t.probability)}
            </span>
          </li>
        ))}
      </ol>
      <p class="small quiet">Faint tokens are cut off by top-k or top-p.</p>
    </section>
  );
}

function Generation({ answer }: { answer: LanguageAnswer }) {
  const { temperature = '1', top_k = '0', top_p = '1', drawn: drawnText, seed: seedText } = route.value.params;
  const [error, setError] = useState<string | undefined>(undefined);
  const [ended, setEnded] = useState(false);
  const [busy, setBusy] = useState(false);
  const seed = Math.max(Math.trunc(Number(seedText)) || 0, 0);
  const shown = answer.cache;
  useEffect(() => setEnded(false), [answer]);
  const add = async (many: number): Promise<void> => {
    setBusy(true);
    const before = route.peek().params;
    // Every token of a text has a number of its own to be drawn by, as `limpid generate` does it.
    const drawn = Number(drawnText) || 0;
    try {
      const made = await ask('generate', {
        model: model.value!.id,
        // Of the text as it is now: the answer that is shown may be of one before.
        ...textSpec(),
        temperature: Number(temperature),
        ...(Number(top_k) ? { top_k: Number(top_k) } : {}),
        ...(Number(top_p) < 1 ? { top_p: Number(top_p) } : {}),
        seed,
        count: many,
        drawn,
      });
      setError(undefined);
      const now = route.peek().params;
      // What was typed meanwhile stays.
      if (now['text'] === before['text'] && now['tokens'] === before['tokens'] && made.added.length)
        setParams({ from: 'text', text: made.text, tokens: made.tokens.map((t) => t.id).join('.'), drawn: String(drawn + made.added.length) });
      setEnded(made.added.length < many);
    } catch (e) {
      setError(sentence(e));
    } finally {
      setBusy(false);
    }
  };
  const share = shown.capacity ? shown.length / shown.capacity : 0;
  return (
    <section class="sheet stack" aria-labelledby="generate-title">
      <h2 id="generate-title">Generate</h2>
      <div class="row">
        <button class="primary" disabled={busy} onClick={() => void add(1)}>
          Next token
        </button>
        <button disabled={busy} onClick={() => void add(16)}>
          16 tokens
        </button>
        <label class="row small quiet">
          Seed
          <input type="number" class="index" min="0" value={seed} onInput={(e) => setParams({ seed: e.currentTarget.value === '0' ? undefined : e.currentTarget.value, drawn: undefined })} />
        </label>
      </div>
      <Problem text={error} />
      {ended && (
        <p class="small quiet" role="status">
          The model ended the text here.
        </p>
      )}
      <div class="field">
        <span>
          KV cache
          <b class="value">
            {count(shown.length)} of {count(shown.capacity)} tokens, {bytes(shown.bytes)}
          </b>
        </span>
        <span class="bar-track">
          <i style={{ width: `${100 * share}%` }} />
        </span>
      </div>
    </section>
  );
}

function Attention({ answer, input }: { answer: LanguageAnswer; input: InputSpec }) {
  const info = model.value!;
  const p = route.value.params;
  const layer = Math.min(Math.max(Number(p['layer'] ?? 0) || 0, 0), answer.attention.length - 1);
  const heads = answer.attention[layer]?.heads ?? 1;
  const head = Math.min(Math.max(Number(p['head'] ?? 0) || 0, 0), heads - 1);
  const query = p['query'] === undefined ? undefined : Math.min(Number(p['query']) || 0, answer.tokens.length - 1);
  const as = p['as'] === 'matrix' ? 'matrix' : 'arcs';
  const { answer: got, error } = useAsk(
    (abort) => ask('attention', { model: info.id, input, edits: edits.value, layer, head, as: 'base64' }, abort),
    [info.id, answer, layer, head],
  );
  const weights = useMemo(() => got && elements(got.weights), [got]);
  const most = Math.max(...answer.attention.map((a) => a.heads));
  /** Mean entropy of every head: layers are rows. */
  const entropy = useMemo(
    () =>
      Float64Array.from(answer.attention.flatMap((a) =>
        Array.from({ length: most }, (_, h) => {
          const list = a.entropy[h] ?? [];
          return list.length ? list.reduce<number>((s, v) => s + toNumber(v), 0) / list.length : NaN;
        }),
      )),
    [answer],
  );
  const n = answer.tokens.length;
  return (
    <section class="sheet stack" aria-labelledby="attention-title">
      <div class="row">
        <h2 id="attention-title">Attention</h2>
        <span class="quiet small">
          {answer.attention[layer]?.name}, head {head}
        </span>
        <span class="push-right">
          <Choice
            label="Show attention as"
            value={as}
            onChange={(v) => setParams({ as: v === 'arcs' ? undefined : v })}
            options={[
              ['arcs', 'arcs'],
              ['matrix', 'matrix'],
            ]}
          />
        </span>
      </div>
      <div class="attention">
        <div class="stack attention-heads">
          <span class="small quiet">Attention entropy of every head. Strong colour: it attends to all tokens equally; none: to one.</span>
          <HeatMap
            name="entropy of heads"
            values={entropy}
            rows={answer.attention.length}
            columns={most}
            width={Math.min(most * 30, 260)}
            scale={1}
            selected={layer * most + head}
            onPick={(i) => setParams({ layer: String(Math.floor(i / most)), head: String(i % most) })}
            describe={(i) => `layer ${Math.floor(i / most)}, head ${i % most} = ${brief(entropy[i] ?? NaN)}`}
          />
        </div>
        <div class="attention-main">
          <Problem text={error} />
          {weights && got && as === 'arcs' && (
            <Arcs
              name={`attention of layer ${layer}, head ${head}`}
              tokens={answer.tokens.slice(0, got.queries)}
              weights={weights}
              keys={got.keys}
              query={query}
              onQuery={(q) => setParams({ query: q === undefined ? undefined : String(q) })}
            />
          )}
          {weights && got && as === 'matrix' && (
            <HeatMap
              name={`attention of layer ${layer}, head ${head}`}
              values={weights}
              rows={got.queries}
              columns={got.keys}
              width={Math.min(got.keys * 22, 560)}
              scale={1}
              onPick={(i) => setParams({ query: String(Math.floor(i / got.keys)) })}
              describe={(i) => {
                const [q, k] = [Math.floor(i / got.keys), i % got.keys];
                return `${q} ${answer.tokens[q] ? tokenText(answer.tokens[q]!) : ''} to ${k} ${answer.tokens[k] ? tokenText(answer.tokens[k]!) : ''} = ${exact(shortest(weights[i]!))}`;
              }}
            />
          )}
          {got && n > got.queries && <p class="small quiet">The last {count(got.queries)} tokens.</p>}
        </div>
      </div>
    </section>
  );
}

function Blocks({ answer }: { answer: LanguageAnswer }) {
  const n = answer.tokens.length;
  const norms = useMemo(() => Float64Array.from(answer.blocks.flatMap((b) => b.norms.map(toNumber))), [answer]);
  const columns = answer.blocks[0]?.norms.length ?? 0;
  const from = Math.max(n - LENS_TOKENS, 0);
  return (
    <>
      <section class="sheet stack">
        <h2 id="lens-title">Prediction after each block</h2>
        <p class="small quiet">The model’s last layer applied to the residual stream after each block (logit lens): the most probable next token. Stronger colour: more probable.</p>
        <div class="scroll" tabIndex={0} role="region" aria-labelledby="lens-title">
          <table class="lens">
            <thead>
              <tr>
                <th>after</th>
                {answer.tokens.slice(from).map((t, i) => (
                  <th key={i} class="mono">
                    {tokenText(t)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {answer.blocks
                .slice()
                .reverse()
                .map((b) => (
                  <tr key={b.name}>
                    <th scope="row">{b.name}</th>
                    {b.lens.slice(-Math.min(LENS_TOKENS, n)).map((list, i) => {
                      const first = list[0];
                      const p = first ? toNumber(first.probability) : 0;
                      return (
                        <td
                          key={i}
                          class="mono"
                          title={list.map((t) => `${tokenText(t)} ${percent(t.probability)}`).join('\n')}
                          style={{ background: `color-mix(in srgb, var(--accent) ${Math.round(p * 45)}%, transparent)` }}
                        >
                          {first ? tokenText(first) : ''}
                        </td>
                      );
                    })}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </section>
      {columns > 0 && (
        <section class="sheet stack" aria-labelledby="stream-title">
          <h2 id="stream-title">Residual stream</h2>
          <p class="small quiet">Its norm at every token, after every block.</p>
          <HeatMap
            name="norm of the residual stream"
            values={norms}
            rows={answer.blocks.length}
            columns={columns}
            width={Math.min(columns * 26, 560)}
            minCell={columns > 100 ? 1 : 8}
            describe={(i) => `${answer.blocks[Math.floor(i / columns)]?.name ?? ''}, token ${i % columns} = ${brief(norms[i] ?? NaN)}`}
          />
        </section>
      )}
    </>
  );
}

export function TransformersView() {
  const info = model.value!;
  const p = route.value.params;
  const [text, setText] = useState(p['text'] ?? firstText());
  const [answer, setAnswer] = useState<LanguageAnswer | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const input: InputSpec = useMemo(textSpec, [p['text'], p['tokens'], info.id]);
  const options = [p['temperature'], p['top_k'], p['top_p']].join();
  const stream = useStream(
    (q: InputSpec) =>
      ask('language', {
        model: info.id,
        input: q,
        edits: edits.peek(),
        temperature: Number(p['temperature'] ?? 1),
        ...(p['top_k'] ? { top_k: Number(p['top_k']) } : {}),
        ...(p['top_p'] ? { top_p: Number(p['top_p']) } : {}),
      }),
    (a) => {
      setAnswer(a);
      setError(undefined);
    },
    setError,
  );
  useEffect(() => stream(input), [input, options, edits.value, info.id]);
  useEffect(() => {
    if (p['text'] !== undefined && p['text'] !== text) setText(p['text']);
  }, [p['text']]);
  return (
    <>
      <Heading title="Transformers">
        A text in a transformer: what every head attends to, what each block predicts, and the next token.
      </Heading>
      <div class="transformers">
        <div class="stack">
          <section class="sheet stack" aria-label="Input">
            <label class="field">
              <span>
                Text
                {answer && <b class="value">{count(answer.tokens.length)} tokens</b>}
              </span>
              <textarea
                rows={3}
                value={text}
                onInput={(e) => {
                  setText(e.currentTarget.value);
                  if (e.currentTarget.value) setTextParam(e.currentTarget.value);
                }}
              />
            </label>
            <Problem text={error} />
            {answer && (
              <ol class="tokens" aria-label="Tokens">
                {answer.tokens.slice(0, 400).map((t, i) => (
                  <li key={i} title={`position ${i}, token ${t.id}`}>
                    <button class="mono" aria-pressed={p['query'] === String(i)} onClick={() => setParams({ query: p['query'] === String(i) ? undefined : String(i) })}>
                      {tokenText(t)}
                    </button>
                  </li>
                ))}
              </ol>
            )}
          </section>
          <div class={`stack ${error === undefined ? '' : 'stale'}`}>
            {answer && answer.attention.length > 0 && <Attention answer={answer} input={input} />}
            {answer && answer.blocks.length > 0 && <Blocks answer={answer} />}
          </div>
        </div>
        {answer && (
          <div class={`stack side ${error === undefined ? '' : 'stale'}`}>
            <Next answer={answer} />
            <Generation answer={answer} />
          </div>
        )}
      </div>
    </>
  );
}
