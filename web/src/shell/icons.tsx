// Line drawings of 16 by 16, one a view.
import type { JSX } from 'preact';

const paths: Record<string, string> = {
  graph: 'M8 2v3M8 5 4 9M8 5l4 4M4 9v3M12 9v3M6.5 2h3M2.5 12h3v2h-3zM10.5 12h3v2h-3z',
  forward: 'M2 3.5h3v9H2zM7 5.5h3v5H7zM12.5 7h1.5v2h-1.5zM5 8h2M10 8h2.5',
  whatif: 'M3 13l1-3.5L11 2.500l2.5 2.500L6.5 12zM9.5 4l2.5 2.5',
  backward: 'M14 8H3M7 4 3 8l4 4',
  transformers: 'M2 12a3 5 0 0 1 6 0M8 12a3 5 0 0 1 6 0M2 12a6 9 0 0 1 12 0',
  training: 'M2 2v12h12M4 5c1 5 3 6.5 9 6.8',
  compare: 'M2 3h5v10H2zM9 3h5v10H9zM9 7h5M2 7h5',
  playground: 'M2 14C5 14 6 9 8 8s4-1 6-6M4 5h.01M6 3h.01M11 12h.01M13 10h.01',
  lab: 'M6 2h4M7 2v4L3 13.500h10L9 6V2M5 10h6',
};

export function Icon({ name }: { name: string }): JSX.Element {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name] ?? ''} />
    </svg>
  );
}
