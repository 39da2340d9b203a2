// The list of keys, as a dialog.
import { useEffect, useRef } from 'preact/hooks';

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

export function Keys({ open, close }: { open: boolean; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open && dialog.current?.open) dialog.current.close();
  }, [open]);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys-title">
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
          <button onClick={close}>Close</button>
        </div>
      </div>
    </dialog>
  );
}
