// Sliders, choices and the like, each with its label.
import type { ComponentChildren } from 'preact';

import { useTyped } from './use-typed';

export function Slider(props: {
  label: string;
  value: number;
  min: number;
  max: number;
  step?: number | 'any';
  shown?: string;
  onInput: (value: number) => void;
}) {
  return (
    <label class="field">
      <span>
        {props.label}
        <b class="value">{props.shown ?? props.value}</b>
      </span>
      <input
        type="range"
        min={props.min}
        max={props.max}
        step={props.step ?? 1}
        value={props.value}
        onInput={(e) => props.onInput(Number(e.currentTarget.value))}
      />
    </label>
  );
}

export function NumberField(props: { label?: string; value: string; min?: number; step?: 'any'; class?: string; onChange: (text: string) => void }) {
  return (
    <input
      ref={useTyped<HTMLInputElement>(props.value)}
      type="number"
      class={props.class}
      min={props.min}
      step={props.step}
      aria-label={props.label}
      onChange={(e) => props.onChange(e.currentTarget.value)}
    />
  );
}

export function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <div class="segmented" role="group" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button key={value} aria-pressed={value === props.value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Select(props: {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
  inline?: boolean;
}) {
  return (
    <label class={props.inline ? 'row small quiet' : 'field'}>
      <span>{props.label}</span>
      <select value={props.value} onChange={(e) => props.onChange(e.currentTarget.value)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Check(props: { label: string; value: boolean; onChange: (value: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={props.value} onChange={(e) => props.onChange(e.currentTarget.checked)} />
      {props.label}
    </label>
  );
}

/** The heading of a view with a line on what it is for. */
export function Heading(props: { title: string; children?: ComponentChildren; aside?: ComponentChildren }) {
  return (
    <header>
      <h1>{props.title}</h1>
      {props.aside}
      {props.children && <p>{props.children}</p>}
    </header>
  );
}

/** One sentence on what went wrong, or nothing. */
export function Problem({ text }: { text: string | undefined }) {
  return (
    <div role="alert" class={text === undefined ? 'hidden' : 'note bad'}>
      {text}
    </div>
  );
}

export function CopyText({ text, label }: { text: string; label: string }) {
  return (
    <div class="copy">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <button
        aria-label={`Copy ${label}`}
        onClick={(e) => {
          const button = e.currentTarget;
          void navigator.clipboard.writeText(text).then(() => {
            button.textContent = 'Copied';
            setTimeout(() => (button.textContent = 'Copy'), 1500);
          });
        }}
      >
        Copy
      </button>
    </div>
  );
}
