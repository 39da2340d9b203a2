// Every value of a pass as a heat map, layer by layer: of a forward pass, and of the gradients backwards.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';

import { brief, elements, exact, shapeText } from '../engine/numbers';
import type { Statistics, Values } from '../engine/types';
import { HeatMap } from '../ui/heat-map';

export interface Row {
  readonly value: string;
  readonly layer: string;
  readonly op: string;
  readonly shape: number[];
  readonly statistics: Statistics;
  readonly values?: Values;
}

export interface Grid {
  rows: number;
  columns: number;
  /** Elements of the last dimension: what an index counts units by. */
  units: number;
}

/** How a value lies on the page: one row of units becomes several short ones, more rows stay as they are. */
export function gridOf(shape: readonly number[], size: number, picture?: { height: number; width: number } | null): Grid {
  const units = shape[shape.length - 1] ?? 1;
  if (units > 0 && size > units) return { rows: Math.ceil(size / units), columns: units, units };
  if (picture && picture.height * picture.width === size) return { rows: picture.height, columns: picture.width, units };
  if (size <= 16) return { rows: 1, columns: Math.max(size, 1), units };
  const columns = size <= 64 ? 16 : size <= 512 ? 32 : 64;
  return { rows: Math.ceil(size / columns), columns, units };
}

/** "unit 5" of one row, "3, 5" of several. */
export function place(shape: readonly number[], size: number, index: number): string {
  const units = shape[shape.length - 1] ?? 1;
  return size > units ? `${Math.floor(index / units)}, ${index % units}` : `${index}`;
}

export function LayerRow(props: {
  row: Row;
  picture?: { height: number; width: number } | null;
  selected?: number | undefined;
  onPick?: ((index: number) => void) | undefined;
  aside?: ComponentChildren;
  names?: string[] | null;
}) {
  const { row } = props;
  const values = useMemo(() => (row.values ? elements(row.values) : undefined), [row.values]);
  const size = values?.length ?? 0;
  const grid = gridOf(row.shape, size, props.picture);
  const wide = grid.rows > 1 && size > grid.units;
  const cell = size <= 16 ? 34 : wide ? Math.max(Math.min(640 / grid.columns, 16), 1) : grid.columns >= 64 ? 10 : size <= 64 ? 24 : 19;
  return (
    <section class="layer" data-value={row.value} aria-label={`${row.layer || 'no layer'} ${row.op} ${row.value}`}>
      <header>
        <h3>{row.layer || row.op}</h3>
        <span class="quiet small">
          {row.layer && `${row.op} · `}
          {shapeText(row.shape)}
        </span>
        <span class="small quiet layer-stats" title={`mean ${exact(row.statistics.mean)}, std ${exact(row.statistics.std)}`}>
          mean {brief(row.statistics.mean, 3)} · std {brief(row.statistics.std, 3)} · {(100 * row.statistics.zero_share).toFixed(0)} % zeros
        </span>
        {props.aside}
      </header>
      {values && size > 0 ? (
        <HeatMap
          name={`${row.layer || row.op} ${row.value}`}
          values={values}
          rows={grid.rows}
          columns={grid.columns}
          width={grid.columns * cell}
          selected={props.selected}
          onPick={props.onPick && ((i) => i < size && props.onPick!(i))}
          describe={(i) =>
            i < size
              ? `${props.names?.[i] ?? (size > grid.units ? '' : 'unit ') + place(row.shape, size, i)} = ${exact(row.values?.values?.[i] ?? values[i]!)}`
              : 'no unit'
          }
        />
      ) : (
        <p class="small quiet">This value is too large to show.</p>
      )}
      {row.values && !row.values.complete && <p class="small quiet">The first {size} values.</p>}
    </section>
  );
}

/** The rows to look at: all ops, or for each stretch of one layer the last of them. */
export function ofLayers<R extends Row>(rows: readonly R[], all: boolean): R[] {
  if (all) return [...rows];
  return rows.filter((row, i) => {
    const next = rows[i + 1];
    return !next || next.layer !== row.layer || row.layer === '';
  });
}
