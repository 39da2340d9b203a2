// The list of keys, as a dialog.
import type { RefObject } from 'preact';

const rows: [string, string][] = [
  ['1 to 9', 'open a view, in the order of the list'],
  ['/', 'search, in views that support it'],
  ['t', 'light or dark theme'],
  ['Tab', 'next control; each drawing is one control'],
  ['arrows', 'move within a drawing'],
  ['Enter', 'select the marked item'],
  ['Esc', 'clear the selection'],
  ['?', 'show this list'],
];

export function Keys({ dialog }: { dialog: RefObject<HTMLDialogElement | null> }) {
  return (
    <dialog ref={dialog} aria-labelledby="keys-title">
      <div class="stack">
        <h2 id="keys-title">Keys</h2>
        <dl class="facts">
          {rows.map(([key, what]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
        <div class="row">
          <button onClick={() => dialog.current?.close()}>Close</button>
        </div>
      </div>
    </dialog>
  );
}
