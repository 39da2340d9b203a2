// Bars of counts, with what they are of below.
import { brief, count, exact } from '../engine/numbers';
import type { Histogram as Bins, Statistics } from '../engine/types';
import { RowsTable } from './value-table';

export function Histogram({ name, bins, height = 64 }: { name: string; bins: Bins; height?: number }) {
  const most = Math.max(1, ...bins.counts);
  const n = bins.counts.length;
  const first = bins.edges[0] ?? 0;
  const last = bins.edges[bins.edges.length - 1] ?? 0;
  const zero = first < 0 && last > 0 ? (-first / (last - first)) * 100 : undefined;
  return (
    <figure class="histogram">
      <svg
        viewBox={`0 0 100 ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Histogram of ${name}: ${count(bins.counts.reduce((a, b) => a + b, 0))} values from ${brief(first)} to ${brief(last)}`}
        style={{ height: `${height}px` }}
      >
        {bins.counts.map((c, i) => {
          const h = c === 0 ? 0 : Math.max((c / most) * (height - 2), 0.75);
          return <rect key={i} x={(i * 100) / n + 0.1} width={100 / n - 0.2} y={height - h} height={h} />;
        })}
        {zero !== undefined && <path d={`M${zero} 0V${height}`} vector-effect="non-scaling-stroke" />}
      </svg>
      <figcaption>
        <span>{brief(first)}</span>
        <RowsTable
          name={`histogram of ${name}`}
          head={['from', 'to', 'count']}
          rows={() => bins.counts.map((c, i) => [bins.edges[i] ?? '', bins.edges[i + 1] ?? '', c])}
        />
        <span>{brief(last)}</span>
      </figcaption>
    </figure>
  );
}

/** mean, standard deviation, least, greatest, zeros; NaN and infinities where there are some. */
export function StatisticsLine({ of }: { of: Statistics }) {
  return (
    <dl class="stats">
      <div>
        <dt>mean</dt>
        <dd title={exact(of.mean)}>{brief(of.mean)}</dd>
      </div>
      <div>
        <dt>std</dt>
        <dd title={exact(of.std)}>{brief(of.std)}</dd>
      </div>
      <div>
        <dt>min</dt>
        <dd title={exact(of.min)}>{brief(of.min)}</dd>
      </div>
      <div>
        <dt>max</dt>
        <dd title={exact(of.max)}>{brief(of.max)}</dd>
      </div>
      <div>
        <dt>zeros</dt>
        <dd>{(100 * of.zero_share).toFixed(1)} %</dd>
      </div>
      {of.nans > 0 && (
        <div class="negative">
          <dt>NaN</dt>
          <dd>{count(of.nans)}</dd>
        </div>
      )}
      {of.infs > 0 && (
        <div class="negative">
          <dt>inf</dt>
          <dd>{count(of.infs)}</dd>
        </div>
      )}
    </dl>
  );
}

