// The table behind a drawing. It is made when it is opened.
import { useState } from 'preact/hooks';

import { exact } from '../engine/numbers';

const MOST = 1000;

export function ValueTable(props: { name: string; count: number; describe: (index: number) => string; value: (index: number) => number | undefined }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="table" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary aria-label={`Table of ${props.name}`}>table</summary>
      {open && (
        <div class="scroll short" tabIndex={0} role="region" aria-label={`Values of ${props.name}`}>
          <table>
            <thead>
              <tr>
                <th>what</th>
                <th class="number">value</th>
              </tr>
            </thead>
            <tbody>
              {Array.from({ length: Math.min(props.count, MOST) }, (_, i) => (
                <tr key={i}>
                  <th scope="row">{props.describe(i).split(' = ')[0]}</th>
                  <td class="number mono">{exact(props.value(i) ?? NaN)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {props.count > MOST && <p class="small quiet">The first {MOST} of {props.count}.</p>}
        </div>
      )}
    </details>
  );
}

/** A table of rows for a drawing of another kind. */
export function RowsTable(props: { name: string; label?: string; head: readonly string[]; rows: () => readonly (readonly (string | number)[])[] }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="table" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary aria-label={props.label ?? `Table of ${props.name}`}>{props.label ?? 'table'}</summary>
      {open && (
        <div class="scroll short" tabIndex={0} role="region" aria-label={`Values of ${props.name}`}>
          <table>
            <thead>
              <tr>
                {props.head.map((h, i) => (
                  <th key={h} class={i ? 'number' : ''}>
                    {h}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {props
                .rows()
                .slice(0, MOST)
                .map((row, i) => (
                  <tr key={i}>
                    {row.map((cell, k) => (
                      <td key={k} class={k ? 'number mono' : ''}>
                        {typeof cell === 'number' ? exact(cell) : cell}
                      </td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
