// Where an example comes from: a data set, a pen, numbers, a text.
import { useEffect, useMemo, useState } from 'preact/hooks';

import { ask } from '../engine/client';
import { brief, count, exact, rounded, toNumber } from '../engine/numbers';
import type { ExampleInfo, InputSpec, ModelInfo, Num } from '../engine/types';
import { route, setParams } from '../state/route';
import { firstText, inputSize, inputSpec, notANumber, parseNumbers, setText, source, sources } from '../state/subject';
import { Choice, NumberField, Problem, Slider } from '../ui/controls';
import { HeatMap } from '../ui/heat-map';
import { useAsk } from '../ui/use-ask';
import { useTyped } from '../ui/use-typed';
import { DrawPad } from './draw-pad';

const names = { data: 'Data set', draw: 'Draw', numbers: 'Numbers', text: 'Text' } as const;
/** More numbers than this have no sliders. */
const MOST_SLIDERS = 24;

export interface InputPanelProps {
  info: ModelInfo;
  /** What the engine said of the example. */
  example: ExampleInfo | null | undefined;
  /** The example while a pen or a slider moves; what stays is in the address. */
  onLive?: (input: InputSpec) => void;
}

function FromData({ info, example }: InputPanelProps) {
  const spec = inputSpec.value as { part: string; index: number };
  const size = example?.size;
  const to = (index: number): void => {
    const last = size === undefined ? Infinity : size - 1;
    setParams({ from: 'data', index: String(index < 0 ? (size ?? 1) - 1 : index > last ? 0 : index) });
  };
  const { answer, error } = useAsk(
    info.data
      ? (abort) => ask('data', { data: info.data!, part: spec.part as 'test', first: spec.index, count: 1, model: info.id }, abort)
      : undefined,
    [info.data, spec.part, spec.index],
  );
  const shown = answer?.examples[0];
  const values = useMemo(() => shown?.values.map(toNumber) ?? [], [shown]);
  const picture = answer?.picture ?? info.picture;
  return (
    <div class="stack">
      <div class="row">
        <select
          aria-label="Training, validation or test set"
          value={spec.part}
          onChange={(e) => setParams({ from: 'data', part: e.currentTarget.value, index: '0' })}
        >
          <option value="test">test</option>
          <option value="validation">validation</option>
          <option value="train">training</option>
        </select>
        <button class="icon" aria-label="Previous example" onClick={() => to(spec.index - 1)}>
          ‹
        </button>
        <NumberField
          label="Example"
          class="index"
          min={0}
          value={String(spec.index)}
          onChange={(text) => to(Math.min(Math.max(Math.trunc(Number(text)) || 0, 0), (size ?? Infinity) - 1))}
        />
        <button class="icon" aria-label="Next example" onClick={() => to(spec.index + 1)}>
          ›
        </button>
        <button onClick={() => to(Math.floor(Math.random() * (size ?? answer?.size ?? 100)))}>Any</button>
      </div>
      <p class="small quiet">
        {answer ? `${answer.name}, ${count(answer.size)} examples` : info.data}
        {(example?.label ?? shown?.label) != null && (
          <>
            {' · target '}
            <strong>{example?.label ?? shown?.label}</strong>
          </>
        )}
      </p>
      <Problem text={error} />
      {shown?.text !== undefined ? (
        <pre class="sample">{shown.text}</pre>
      ) : picture && values.length === picture.height * picture.width ? (
        <HeatMap
          name="input"
          values={values}
          rows={picture.height}
          columns={picture.width}
          width={224}
          describe={(i) => `pixel ${Math.floor(i / picture.width)}, ${i % picture.width} = ${exact(shown!.values[i]!)}`}
        />
      ) : (
        shown &&
        values.length <= 64 && (
          <dl class="facts">
            {shown.values.map((v, i) => (
              <>
                <dt>{answer?.features?.[i] ?? `input ${i}`}</dt>
                <dd title={exact(v)}>{brief(v)}</dd>
              </>
            ))}
          </dl>
        )
      )}
    </div>
  );
}

function ManyNumbers({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  return <textarea ref={useTyped<HTMLTextAreaElement>(value)} rows={7} class="mono" onChange={(e) => onChange(e.currentTarget.value)} />;
}

function FromNumbers({ info, onLive }: InputPanelProps) {
  const spec = inputSpec.value as { values: Num[] };
  const [values, setValues] = useState<Num[]>(spec.values);
  const [wrong, setWrong] = useState<string | undefined>(undefined);
  const size = inputSize(info);
  const address = route.value.params['values'];
  useEffect(() => setValues(spec.values), [address]); // as after Back
  const { answer } = useAsk(
    info.data ? (abort) => ask('data', { data: info.data!, first: 0, count: 100, model: info.id }, abort) : undefined,
    [info.data],
  );
  const ranges = useMemo(
    () =>
      Array.from({ length: size }, (_, i) => {
        const all = (answer?.examples ?? []).map((e) => toNumber(e.values[i] ?? 0)).filter(Number.isFinite);
        return all.length && Math.max(...all) > Math.min(...all) ? [Math.min(...all), Math.max(...all)] : [-3, 3];
      }),
    [answer, size],
  );
  const set = (next: Num[]): void => {
    setValues(next);
    onLive?.({ values: next });
    setParams({ from: 'numbers', values: next.map(exact).join(',') });
  };
  useEffect(() => {
    // The data's first example is a better beginning than zeros.
    const first = answer?.examples[0];
    if (first && route.peek().params['values'] === undefined && first.values.length === size) set(first.values);
  }, [answer]);
  if (size > MOST_SLIDERS)
    return (
      <div class="stack">
      <label class="field">
        <span>
          {count(size)} numbers; missing ones are 0<b class="value">{count(parseNumbers(route.value.params['values'] ?? '').length)} given</b>
        </span>
        <ManyNumbers
          value={route.value.params['values'] ?? ''}
          onChange={(text) => {
            const word = notANumber(text);
            setWrong(word === undefined ? undefined : `Expected numbers, got ${word}.`);
            if (word !== undefined) return;
            const given = parseNumbers(text).slice(0, size);
            setParams({ from: 'numbers', values: given.map(exact).join(',') });
          }}
        />
      </label>
      <Problem text={wrong} />
      </div>
    );
  return (
    <div class="stack sliders">
      {Array.from({ length: size }, (_, i) => {
        const [low, high] = ranges[i]!;
        const name = info.features?.[i] ?? `input ${i}`;
        const v = toNumber(values[i] ?? 0);
        const change = (x: number): void => set(values.map((old, k) => (k === i ? rounded(x, info.inputs[0]?.dtype) : old)));
        return (
          <div key={i} class="slider-row">
            <Slider
              label={name}
              value={v}
              min={Math.min(low!, v)}
              max={Math.max(high!, v)}
              step="any"
              shown=""
              onInput={(x) => change(Number(x.toPrecision(4)))}
            />
            <NumberField label={`${name}, exactly`} step="any" value={exact(values[i] ?? 0)} onChange={(text) => change(Number(text))} />
          </div>
        );
      })}
    </div>
  );
}

function FromText({ onLive }: InputPanelProps) {
  const address = route.value.params['text'] ?? firstText();
  const [text, setOwn] = useState(address);
  useEffect(() => setOwn(address), [address]); // as after Back
  return (
    <label class="field">
      <span>Text</span>
      <textarea
        rows={3}
        value={text}
        onInput={(e) => {
          const next = e.currentTarget.value;
          setOwn(next);
          if (!next) return;
          onLive?.({ text: next });
          setText(next);
        }}
      />
    </label>
  );
}

export function InputPanel(props: InputPanelProps) {
  const list = sources(props.info);
  const picture = props.info.picture;
  return (
    <section class="input-panel stack" aria-label="Input">
      <div class="row">
        <h2>Input</h2>
        {list.length > 1 && (
          <Choice
            label="Where the example comes from"
            value={source.value}
            options={list.map((s) => [s, names[s]] as const)}
            onChange={(from) => setParams({ from }, true)}
          />
        )}
      </div>
      {source.value === 'data' && <FromData {...props} />}
      {source.value === 'draw' && picture && (
        <DrawPad
          columns={picture.width}
          rows={picture.height}
          onPixels={(pixels) => props.onLive?.({ values: Array.from(pixels) })}
        />
      )}
      {source.value === 'numbers' && <FromNumbers {...props} />}
      {source.value === 'text' && <FromText {...props} />}
    </section>
  );
}
