// A form that starts a run: the keys of a configuration, first those that one changes most.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import { ask, sentence } from '../engine/client';
import { isRounded } from '../engine/numbers';
import { addRun, session } from '../state/session';
import { Problem } from '../ui/controls';
import { useAsk } from '../ui/use-ask';

type Config = Record<string, unknown>;
const FIRST = ['data', 'model.name', 'model.hidden', 'model.activation', 'epochs', 'batch', 'optimizer.name', 'optimizer.lr', 'seed'];

/** {"optimizer.lr": 0.1} of {"optimizer": {"lr": 0.1}}. */
export function flat(config: Config, before = ''): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) Object.assign(all, flat(value as Config, `${before}${key}.`));
    else all[before + key] = value;
  }
  return all;
}

function nested(all: Record<string, unknown>): Config {
  const config: Config = {};
  for (const [path, value] of Object.entries(all)) {
    const names = path.split('.');
    let at = config;
    for (const name of names.slice(0, -1)) at = (at[name] ??= {}) as Config;
    at[names[names.length - 1]!] = value;
  }
  return config;
}

const shown = (value: unknown): string => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return /^[\d.eE+-]+(\s*,\s*[\d.eE+-]+)+$/.test(text) ? text.split(',').map(Number) : text;
  }
}

export function StartForm(props: { from: Config | undefined; changes: Record<string, unknown>; name: string; onDone: (id: string | undefined) => void }) {
  const first = useMemo(() => {
    const all: Record<string, string> = {};
    for (const [key, value] of Object.entries({ ...flat(props.from ?? {}), ...props.changes })) all[key] = shown(value);
    return all;
  }, []);
  const [values, setValues] = useState<Record<string, string>>(
    Object.keys(first).length ? first : { data: 'moons', 'model.hidden': '[16, 16]', epochs: '20', 'optimizer.lr': '0.05' },
  );
  const [name, setName] = useState(props.name);
  const [error, setError] = useState<string | undefined>(undefined);
  const { answer } = useAsk((abort) => ask('run/keys', {}, abort), []);
  const keys = answer?.keys ?? Object.keys(values).map((path) => ({ path, help: '', otherwise: '', kind: '', choices: null }));
  const start = async (): Promise<void> => {
    setError(undefined);
    const all: Record<string, unknown> = {};
    for (const [key, text] of Object.entries(values)) {
      // JavaScript would send another seed.
      if (isRounded(text)) return setError(`${key}: expected an integer of at most ${Number.MAX_SAFE_INTEGER}, got ${text}`);
      if (text !== '') all[key] = parsed(text);
    }
    try {
      const info = await ask('run/start', { name, config: nested(all) });
      addRun(info);
      props.onDone(info.id);
    } catch (e) {
      setError(sentence(e));
    }
  };
  const row = (key: (typeof keys)[number]) => (
    <label key={key.path} class="field" title={key.help}>
      <span>
        <span class="mono">{key.path}</span>
        {values[key.path] !== undefined && first[key.path] !== values[key.path] && <em class="tag">changed</em>}
      </span>
      {key.choices ? (
        <select value={values[key.path] ?? ''} onChange={(e) => setValues({ ...values, [key.path]: e.currentTarget.value })}>
          <option value="">{key.otherwise ? `default: ${key.otherwise}` : 'default'}</option>
          {key.choices.map((c) => (
            <option key={c} value={c}>
              {c}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          value={values[key.path] ?? ''}
          placeholder={key.otherwise ? `default: ${key.otherwise}` : ''}
          onInput={(e) => setValues({ ...values, [key.path]: e.currentTarget.value })}
        />
      )}
    </label>
  );
  const main = FIRST.flatMap((path) => keys.filter((k) => k.path === path));
  const changed = keys.filter((k) => k.path in props.changes && !FIRST.includes(k.path));
  const rest = keys.filter((k) => !main.includes(k) && !changed.includes(k));
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // It stands above what it was opened from.
    form.current?.querySelector<HTMLInputElement>('input')?.focus();
  }, []);
  if (session.value?.folder === null) return <p class="note">To start runs from this page, name a folder for them: limpid view --runs FOLDER.</p>;
  return (
    <form
      ref={form}
      class="sheet stack"
      aria-label="Start a run"
      onSubmit={(e) => {
        e.preventDefault();
        void start();
      }}
    >
      <div class="row">
        <h2>Start a run</h2>
        <span class="small quiet">in {session.value?.folder}</span>
      </div>
      <div class="form-grid">
        <label class="field">
          <span>name</span>
          <input type="text" value={name} required pattern="[A-Za-z0-9_\-]+" title="letters, digits, - and _" onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        {[...changed, ...main].map(row)}
      </div>
      {rest.length > 0 && (
        <details>
          <summary class="small">All {keys.length} keys</summary>
          <div class="form-grid">{rest.map(row)}</div>
        </details>
      )}
      <Problem text={error} />
      <div class="row">
        <button class="primary" type="submit">
          Start
        </button>
        <button type="button" onClick={() => props.onDone(undefined)}>
          Cancel
        </button>
      </div>
    </form>
  );
}
