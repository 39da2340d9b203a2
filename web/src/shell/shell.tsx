// The frame around the views: what is open, where one is, keys, files dropped anywhere.
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { reachable } from '../engine/client';
import { count, short } from '../engine/numbers';
import { formatRoute, go, route } from '../state/route';
import { chooseModel, closeModel, loadSession, missing, model, models, modelTitle, notice, openFiles, reopen, runs, session, sessionError } from '../state/session';
import { subjectParams } from '../state/subject';
import { theme, toggleTheme } from '../state/theme';
import { useInSight } from '../ui/use-in-sight';
import { Icon } from './icons';
import { Keys } from './keys';
import { views, type View } from './views';

function Logo() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path d="M9 10 23 16M9 22 23 16M9 10v12" fill="none" stroke="var(--accent-ink)" stroke-width="1.6" opacity=".75" />
      <circle cx="9" cy="10" r="3" fill="var(--accent-ink)" />
      <circle cx="9" cy="22" r="3" fill="var(--accent-ink)" />
      <circle cx="23" cy="16" r="3.6" fill="var(--accent-ink)" />
    </svg>
  );
}

function Subject() {
  const shown = model.value;
  if (!shown) return <div class="subject" />;
  return (
    <div class="subject">
      {models.value.length > 1 ? (
        <select aria-label="Model" value={shown.id} onChange={(e) => chooseModel(e.currentTarget.value)}>
          {models.value.map((m) => (
            <option key={m.id} value={m.id}>
              {modelTitle(m)}
            </option>
          ))}
        </select>
      ) : (
        <strong>{shown.name}</strong>
      )}
      {shown.origin !== 'named' && shown.origin !== 'run' && (
        <button class="plain icon" aria-label={`Close ${modelTitle(shown)}`} title="Close this model" onClick={() => void closeModel(shown.id)}>
          ×
        </button>
      )}
      <span title={`${count(shown.parameters)} parameters`}>{short(shown.parameters)} parameters</span>
    </div>
  );
}

function ThemeButton() {
  const dark = theme.value === 'dark';
  return (
    <button class="plain icon" onClick={toggleTheme} aria-label={dark ? 'Light colours' : 'Dark colours'} title="Light or dark (t)">
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {dark ? (
          <path d="M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.500M8 13.500V15M1 8h1.500M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" />
        ) : (
          <path d="M13.5 9.800A5.8 5.8 0 0 1 6.2 2.5 5.8 5.8 0 1 0 13.5 9.8" />
        )}
      </svg>
    </button>
  );
}

function OpenButton() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button class="plain" onClick={() => input.current?.click()} title="Open a .safetensors, .onnx or .npz file, or drop it on the page">
        Open…
      </button>
      <input
        ref={input}
        type="file"
        accept=".safetensors,.onnx,.npz"
        multiple
        hidden
        aria-label="File to open"
        onChange={(e) => {
          void openFiles(e.currentTarget.files ?? []);
          e.currentTarget.value = '';
        }}
      />
    </>
  );
}

/** A view that fails says so; the others still work. */
class Guard extends Component<{ children: ComponentChildren }, { failed: string | undefined }> {
  static override getDerivedStateFromError(e: unknown) {
    return { failed: e instanceof Error ? e.message : String(e) };
  }
  override render() {
    if (this.state.failed === undefined) return this.props.children;
    return (
      <div class="stack">
        <h1>This view failed</h1>
        <p>{this.state.failed}</p>
        <div class="row">
          <button class="primary" onClick={() => (go(route.peek().view), this.setState({ failed: undefined }))}>
            Open it without the rest of the address
          </button>
        </div>
      </div>
    );
  }
}

/** The views that have something to show, in order. */
export function available() {
  const hasModel = models.value.some((m) => m.kind === 'model');
  return views.filter(
    (v) =>
      v.needs === 'nothing' ||
      (v.needs === 'model' && hasModel) ||
      (v.needs === 'text' && model.value?.text != null) ||
      (v.needs === 'file' && models.value.length > 0) ||
      (v.needs === 'run' && (runs.value.length > 0 || session.value?.folder !== null)),
  );
}

/** What goes along into another view: the model and the example. */
const kept = (v: View): Record<string, string> =>
  v.needs === 'model' || v.needs === 'text' ? subjectParams() : v.needs === 'file' && model.value ? { model: model.value.id } : {};

function Rail({ current }: { current: string }) {
  const strip = useInSight(`${current} of ${available().length}`); // more come with the models
  return (
    <nav class="rail" aria-label="Views" ref={strip}>
      <ul>
        {available().map((v, i) => (
          <li key={v.name} class={v.name === 'playground' && i > 0 ? 'apart' : ''}>
            <a href={formatRoute({ view: v.name, params: kept(v) })} aria-current={v.name === current ? 'page' : undefined}>
              <Icon name={v.name} />
              {v.title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function Shell() {
  // Only the dialog knows whether it is open: a state beside it may lag, and then ? opens nothing any more.
  const keys = useRef<HTMLDialogElement>(null);
  const showKeys = (): void => {
    if (!keys.current?.open) keys.current?.showModal();
  };
  const main = useRef<HTMLElement>(null);
  useEffect(() => void loadSession(), []);

  const list = available();
  const view = list.find((v) => v.name === route.value.view) ?? list[0];
  const Body = view?.body;

  const lost = missing.value[0];
  useEffect(() => {
    if (lost !== undefined) void reopen(lost);
  }, [lost]);

  useEffect(() => {
    document.title = view ? `${view.title} · Limpid` : 'Limpid';
  }, [view]);

  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      const at = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input, textarea, select, dialog')) return;
      if (e.key === '?') showKeys();
      else if (e.key === 't') toggleTheme();
      else if (e.key === '/') {
        const find = document.querySelector<HTMLInputElement>('.view input[type=search]');
        find?.focus();
        if (find) e.preventDefault();
      } else if (/^[1-9]$/.test(e.key)) {
        const next = available()[Number(e.key) - 1];
        if (next) go(next.name, kept(next));
      }
    };
    const onDrop = (e: DragEvent) => {
      if (!e.dataTransfer?.files.length) return;
      e.preventDefault();
      if ((e.target as HTMLElement).closest('[data-drop]')) return; // a place that takes files of its own
      void openFiles(e.dataTransfer.files);
    };
    const onOver = (e: DragEvent) => e.preventDefault();
    addEventListener('keydown', onKey);
    addEventListener('drop', onDrop);
    addEventListener('dragover', onOver);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('drop', onDrop);
      removeEventListener('dragover', onOver);
    };
  }, []);

  return (
    <div class="shell">
      <a class="skip" href="#view" onClick={(e) => (e.preventDefault(), main.current?.focus())}>
        Skip to the view
      </a>
      <header class="bar">
        <a class="brand" href="#/" aria-label="Limpid">
          <Logo />
          <b>Limpid</b>
        </a>
        <Subject />
        <div class="push row">
          <OpenButton />
          <button class="plain icon" onClick={showKeys} aria-label="Keys" title="Keys (?)">
            ?
          </button>
          <ThemeButton />
        </div>
      </header>
      <Rail current={view?.name ?? ''} />
      <main class="view" ref={main} tabIndex={-1} id="view">
        {sessionError.value !== undefined ? (
          <div class="stack">
            <h1>No engine</h1>
            <p>{sessionError.value}</p>
            <div class="row">
              <button class="primary" onClick={() => void loadSession()}>
                Try again
              </button>
            </div>
          </div>
        ) : lost !== undefined ? (
          <p class="quiet" role="status">
            Computing the model {lost}…
          </p>
        ) : session.value && Body && view ? (
          <Guard key={`${view.name} ${view.needs === 'nothing' ? '' : (model.value?.id ?? '')}`}>
            <Body />
          </Guard>
        ) : (
          <p class="quiet" role="status">
            Opening…
          </p>
        )}
      </main>
      <div aria-live="polite">
        {notice.value !== undefined && <div class="toast">{notice.value}</div>}
        {!reachable.value && session.value && <div class="toast">The engine does not answer. Is `limpid view` still running?</div>}
      </div>
      <Keys dialog={keys} />
    </div>
  );
}
