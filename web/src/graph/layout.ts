// The page's side of the layout worker.
import { chain } from './chain';

export interface LayoutRequest {
  id: number;
  boxes: { id: string; width: number; height: number; parent?: string }[];
  edges: { from: string; to: string; width: number }[];
}
export interface LayoutAnswer {
  id: number;
  boxes: { id: string; x: number; y: number; width: number; height: number }[];
  edges: { points: (readonly [number, number])[]; x: number; y: number }[];
  width: number;
  height: number;
}

let worker: Worker | undefined;
let last = 0;

/** Lays out; a request that is overtaken by a newer one never answers. */
export function layOut(request: Omit<LayoutRequest, 'id'>): Promise<LayoutAnswer> {
  const id = ++last;
  const straight = chain(request);
  if (straight) return Promise.resolve({ id, ...straight });
  worker ??= new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module', name: 'layout' });
  const own = worker;
  return new Promise((resolve, reject) => {
    own.onerror = (e) => reject(new Error(`The layout failed: ${e.message}`));
    own.onmessage = (e: MessageEvent<LayoutAnswer>) => {
      if (e.data.id === id) resolve(e.data);
    };
    own.postMessage({ id, ...request } satisfies LayoutRequest);
  });
}
