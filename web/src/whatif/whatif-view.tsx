// What if: change any activation, weight or unit, and see what follows from it, exactly.
import { useEffect, useState } from 'preact/hooks';

import { ask, sentence } from '../engine/client';
import { brief, count, elements, exact, rounded, toNumber } from '../engine/numbers';
import type { Edit, EditText, ForwardAnswer, InputSpec, TraceRow } from '../engine/types';
import { AnswerPanel } from '../forward/answer';
import { InputPanel } from '../forward/input-panel';
import { LayerRow, ofLayers } from '../forward/layers';
import { route, setParams } from '../state/route';
import { addModel, chooseModel, model, tell } from '../state/session';
import { edits, inputSpec, setEdits } from '../state/subject';
import { Check, Choice, CopyText, Heading, Problem, Slider } from '../ui/controls';
import { useAsk, useStream } from '../ui/use-ask';
import '../forward/forward.css';
import './whatif.css';

/** A value's name as it is shown: parameters without the mark. */
const nameOf = (at: string): string => at.replace(/^%(?!\d+$)/, '');

/** "%1 [0, 5]: set to 0". */
export function editText(e: Edit): string {
  const at = `${nameOf(e.at)}${e.index ? ` [${e.index.map((i) => (i < 0 ? 'all' : i)).join(', ')}]` : ''}`;
  if (e.set !== undefined) return `${at}: set to ${exact(e.set)}`;
  if (e.scale !== undefined) return `${at}: times ${exact(e.scale)}`;
  if (e.add !== undefined) return `${at}: plus ${exact(e.add)}`;
  if (e.noise) return `${at}: noise of ${brief(e.noise.std)}, seed ${e.noise.seed}`;
  if (e.patch) return `${at}: patched from ${'index' in e.patch ? `example ${e.patch.index}` : 'another example'}`;
  return at;
}

/** Whether a value's name is that of a parameter of the shown model. */
const isParameter = (at: string): boolean => !/^%\d+$/.test(at) && !model.value?.inputs.some((x) => at === x.value);

interface Place {
  at: string;
  dtype: string;
  shape: number[];
  element: number;
  now: number;
}

function Editor({ place: p, now, onEdit, onClose }: { place: Place; now: number; onEdit: (e: Edit) => void; onClose: () => void }) {
  const [scope, setScope] = useState<'one' | 'unit' | 'row' | 'all'>('one');
  const weight = isParameter(p.at);
  const [value, setValue] = useState(String(p.now));
  const [factor, setFactor] = useState(2);
  const [noise, setNoise] = useState(0.1);
  const [other, setOther] = useState(1);
  const indices: number[] = [];
  let rest = p.element;
  for (let d = p.shape.length - 1; d >= 0; --d) {
    indices.unshift(rest % p.shape[d]!);
    rest = Math.floor(rest / p.shape[d]!);
  }
  const kept = scope === 'unit' ? indices.length - 1 : 0;
  const index = scope === 'one' ? indices : scope === 'all' ? undefined : indices.map((v, d) => (d === kept ? v : -1));
  const put = (change: Omit<Edit, 'at' | 'index'>): void => onEdit({ at: p.at, ...(index ? { index } : {}), ...change });
  return (
    <section class="sheet stack editor" aria-label="Edit">
      <div class="row">
        <h2>
          <span class="mono">{nameOf(p.at)}</span> [{indices.join(', ')}]
        </h2>
        <span class="mono quiet" data-number="now">
          = {exact(now)}
        </span>
        <button class="push-right" onClick={onClose}>
          Close
        </button>
      </div>
      <Choice
        label="What to change"
        value={scope}
        onChange={setScope}
        options={[
          ['one', 'this number'],
          ...(p.shape.length > 1 && weight ? ([['row', 'all weights of this unit'], ['unit', 'all weights of this input']] as const) : []),
          ...(p.shape.length > 1 && !weight ? ([['unit', 'the unit in every row']] as const) : []),
          ['all', 'the whole tensor'],
        ]}
      />
      <div class="edit-grid">
        <form
          class="row"
          onSubmit={(e) => {
            e.preventDefault();
            if (value.trim() !== '') put({ set: rounded(Number(value), p.dtype) });
          }}
        >
          <input type="number" step="any" required aria-label="Value" value={value} onInput={(e) => setValue(e.currentTarget.value)} />
          <button type="submit">Set</button>
          <button type="button" onClick={() => put({ set: 0 })}>
            Zero
          </button>
        </form>
        <div class="row">
          <div class="grow">
            <Slider label="Times" value={factor} min={-4} max={4} step={0.1} onInput={setFactor} />
          </div>
          <button onClick={() => put({ scale: rounded(factor, p.dtype) })}>Scale</button>
        </div>
        <div class="row">
          <div class="grow">
            <Slider label="Standard deviation" value={noise} min={0.01} max={2} step={0.01} onInput={setNoise} />
          </div>
          <button onClick={() => put({ noise: { std: noise, seed: Math.floor(Math.random() * 1e6) } })}>Noise</button>
        </div>
        {model.value?.data && (
          <form
            class="row"
            onSubmit={(e) => {
              e.preventDefault();
              put({ patch: { part: 'test', index: other } });
            }}
          >
            <label class="field">
              <span>from test example</span>
              <input type="number" min="0" value={other} onInput={(e) => setOther(Math.max(Math.trunc(Number(e.currentTarget.value)) || 0, 0))} />
            </label>
            <button type="submit">Patch in</button>
          </form>
        )}
      </div>
    </section>
  );
}

/** The parameter of an edit by hand: a weight of a layer. */
function WeightPicker({ onPick }: { onPick: (p: Place) => void }) {
  const info = model.value!;
  const { answer } = useAsk((abort) => ask('parameters', { model: info.id, bins: 1 }, abort), [info.id]);
  const [name, setName] = useState('');
  const [index, setIndex] = useState('0, 0');
  const pick = async (): Promise<void> => {
    const p = answer?.parameters.find((q) => q.value === (name || answer.parameters[0]?.value));
    if (!p) return;
    const full = index.trim().split(/[\s,]+/).map(Number);
    if (full.length !== p.shape.length || !full.every((i, d) => Number.isInteger(i) && i >= 0 && i < p.shape[d]!))
      return tell(`Expected ${p.shape.length} indices below ${p.shape.join(', ')}, got ${index || 'none'}.`);
    try {
      const got = await ask('tensor', { model: info.id, value: p.value, box: { first: full, count: p.shape.map(() => 1) } });
      const element = p.shape.reduce((sum, n, d) => sum * n + full[d]!, 0);
      onPick({ at: p.value, dtype: p.dtype, shape: p.shape, element, now: toNumber(got.values.values?.[0] ?? 0) });
    } catch (e) {
      tell(sentence(e));
    }
  };
  return (
    <form
      class="row"
      aria-label="Choose a weight"
      onSubmit={(e) => {
        e.preventDefault();
        void pick();
      }}
    >
      <select aria-label="Parameter" value={name || answer?.parameters[0]?.value} onChange={(e) => setName(e.currentTarget.value)}>
        {(answer?.parameters ?? []).map((p) => (
          <option key={p.value} value={p.value}>
            {p.name} {p.shape.join(' × ')}
          </option>
        ))}
      </select>
      <input type="text" class="index" aria-label="Indices" value={index} onInput={(e) => setIndex(e.currentTarget.value)} />
      <button type="submit" disabled={!answer}>
        Edit this weight
      </button>
    </form>
  );
}

export function WhatIfView() {
  const info = model.value!;
  const input = inputSpec.value;
  const list = edits.value;
  const { all, show } = route.value.params;
  const [after, setAfter] = useState<ForwardAnswer | undefined>(undefined);
  const [before, setBefore] = useState<ForwardAnswer | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const [chosen, setChosen] = useState<Place | undefined>(undefined);
  const [texts, setTexts] = useState<EditText | undefined>(undefined);
  const [name, setName] = useState('');
  const stream = useStream(
    async (q: InputSpec) => {
      const plain = ask('forward', { model: info.id, input: q, values: 4096 });
      const edited = edits.peek().length ? ask('forward', { model: info.id, input: q, edits: edits.peek(), values: 4096, compare: true }) : plain;
      return Promise.all([plain, edited]);
    },
    ([a, b]) => {
      setBefore(a);
      setAfter(b);
      setError(undefined);
    },
    setError,
  );
  useEffect(() => {
    stream(input);
    setTexts(undefined);
  }, [input, list, info.id]);

  // The number of the chosen place with the edits: of a weight too.
  const weight = chosen && isParameter(chosen.at) ? chosen : undefined;
  const { answer: edited } = useAsk(
    weight
      ? (abort) => {
          let rest = weight.element;
          const first = weight.shape.map(() => 0);
          for (let d = first.length - 1; d >= 0; --d) {
            first[d] = rest % weight.shape[d]!;
            rest = Math.floor(rest / weight.shape[d]!);
          }
          return ask('tensor', { model: info.id, value: weight.at, input, edits: list, box: { first, count: first.map(() => 1) } }, abort);
        }
      : undefined,
    [weight, input, list, info.id],
  );
  const now = (place: Place): number => {
    const shown = weight ? edited?.values : after?.rows.find((r) => r.value === place.at)?.values;
    return (shown && elements(shown)[weight ? 0 : place.element]) ?? place.now;
  };
  const difference = show === 'difference';
  const rows: TraceRow[] = (after ? ofLayers(after.rows, all === '1') : []).filter((r) => r.op !== 'input' || !info.picture).map((r) => {
    if (!difference) return r;
    const old = before?.rows.find((o) => o.value === r.value);
    if (!r.values || !old?.values) return r;
    const [x, y] = [elements(r.values), elements(old.values)];
    return { ...r, values: { ...r.values, values: Array.from(x, (v, i) => v - (y[i] ?? 0)) } };
  });
  const add = (e: Edit): void => setEdits([...list, e]);
  const keep = async (): Promise<void> => {
    try {
      const kept = await ask('keep', { model: info.id, edits: list, input, name: name.trim() || `${info.name} edited` });
      addModel(kept);
      tell(`Kept as ${kept.name}.`);
      setEdits([]);
      setName('');
      chooseModel(kept.id);
    } catch (e) {
      tell(sentence(e));
    }
  };
  const pick = (r: TraceRow) => (element: number) => {
    const source = after?.rows.find((o) => o.value === r.value)?.values;
    const now = source ? elements(source)[element] : undefined;
    setChosen({ at: r.value, dtype: r.dtype, shape: r.shape, element, now: now ?? 0 });
  };
  return (
    <>
      <Heading
        title="What if"
        aside={
          <span class="row">
            <Choice
              label="Show"
              value={difference ? 'difference' : 'values'}
              onChange={(v) => setParams({ show: v === 'values' ? undefined : v })}
              options={[
                ['values', 'values'],
                ['difference', 'difference'],
              ]}
            />
            <Check label="every op" value={all === '1'} onChange={(v) => setParams({ all: v ? '1' : undefined })} />
          </span>
        }
      >
        Change any number inside the network and see the effect on everything after it. Click a cell to edit it.
      </Heading>
      <div class="forward">
        <div class="forward-input stack">
          <div class="sheet">
            <InputPanel info={info} example={after?.input} onLive={stream} />
          </div>
          <div class="sheet stack">
            <h2>Edits</h2>
            {list.length === 0 && <p class="quiet small">None. Click a cell of a layer, or choose a weight.</p>}
            <ol class="edits">
              {list.map((e, i) => (
                <li key={i}>
                  <span class="mono small">{editText(e)}</span>
                  <button class="link small" aria-label={`Remove edit ${i + 1}`} onClick={() => setEdits(list.filter((_, k) => k !== i))}>
                    remove
                  </button>
                </li>
              ))}
            </ol>
            <div class="row">
              <button disabled={!list.length} onClick={() => setEdits(list.slice(0, -1))}>
                Undo
              </button>
              <button disabled={!list.length} onClick={() => setEdits([])}>
                Reset
              </button>
              <button
                disabled={!list.length}
                onClick={() => void ask('edit', { model: info.id, input, edits: list }).then(setTexts, (e: unknown) => tell(sentence(e)))}
              >
                As code
              </button>
            </div>
            <form
              class="row"
              aria-label="Keep the edited model"
              onSubmit={(e) => {
                e.preventDefault();
                void keep();
              }}
            >
              <input
                type="text"
                class="grow"
                aria-label="Name of the variant"
                placeholder={`${info.name} edited`}
                value={name}
                disabled={!list.length}
                onInput={(e) => setName(e.currentTarget.value)}
              />
              <button type="submit" disabled={!list.length}>
                Keep as a model
              </button>
            </form>
            <WeightPicker onPick={setChosen} />
          </div>
          {after && (
            <div class="sheet">
              <AnswerPanel info={info} answer={after.answer} before={list.length ? before?.answer : undefined} />
              {list.length > 0 && after.answer.probabilities && <p class="small quiet marks">The marks show the values before the edits.</p>}
            </div>
          )}
        </div>
        <div class="forward-layers stack">
          <Problem text={error} />
          {chosen && <Editor key={`${chosen.at} ${chosen.element}`} place={chosen} now={now(chosen)} onEdit={add} onClose={() => setChosen(undefined)} />}
          {texts && (
            <section class="sheet stack" aria-label="The edits as code">
              <h2>The edits in C++</h2>
              <CopyText text={texts.cpp} label="C++" />
              {texts.command !== null ? (
                <>
                  <h2>The edits as a command</h2>
                  <CopyText text={texts.command} label="the command" />
                </>
              ) : (
                <p class="small quiet">No command of the tool makes these edits on this model and input.</p>
              )}
            </section>
          )}
          {!after && error === undefined && (
            <p class="quiet" role="status">
              Computing…
            </p>
          )}
          <div class={after ? `sheet layers ${error === undefined ? '' : 'stale'}` : 'hidden'}>
            {rows.map((r, i) => (
              <LayerRow
                key={r.value}
                row={r}
                selected={chosen?.at === r.value ? chosen.element : undefined}
                onPick={r.op === 'input' ? undefined : pick(r)}
                names={i === rows.length - 1 ? info.classes : null}
                aside={
                  list.length > 0 && r.changed !== undefined ? (
                    <span class={`tag ${r.changed ? 'changed' : ''}`}>
                      {r.changed ? `${count(r.changed)} changed` : 'unchanged'}
                    </span>
                  ) : null
                }
              />
            ))}
          </div>
        </div>
      </div>
    </>
  );
}
