// The list of keys, as a dialog.
import { useEffect, useRef } from 'preact/hooks';

const rows: [string, string][] = [
  ['1 to 9', 'the views, in the order of the list'],
  ['/', 'find, where a view has it'],
  ['t', 'light or dark'],
  ['Tab', 'the next control; each drawing is one'],
  ['arrows', 'move within a drawing'],
  ['Enter', 'choose what the mark is on'],
  ['Esc', 'let go of the choice'],
  ['?', 'this list'],
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
