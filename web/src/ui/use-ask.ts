// Asking the engine from a component: the newest request wins, the last answer stays until the next.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { sentence } from '../engine/client';

export interface Asked<T> {
  readonly answer: T | undefined;
  readonly error: string | undefined;
  readonly busy: boolean;
}

/**
 * Runs `work` whenever one of `keys` changes. A request that is overtaken is aborted. `work` undefined: nothing is asked and the
 * answer is dropped.
 */
export function useAsk<T>(work: ((abort: AbortSignal) => Promise<T>) | undefined, keys: readonly unknown[]): Asked<T> {
  const [state, setState] = useState<Asked<T>>({ answer: undefined, error: undefined, busy: work !== undefined });
  // Before the next frame: the engine computes while it is drawn.
  useLayoutEffect(() => {
    if (!work) {
      setState({ answer: undefined, error: undefined, busy: false });
      return;
    }
    const control = new AbortController();
    setState((s) => ({ ...s, busy: true }));
    work(control.signal).then(
      (answer) => control.signal.aborted || setState({ answer, error: undefined, busy: false }),
      (e: unknown) => {
        const error = sentence(e);
        // What was answered to another question is no answer to this one.
        if (!control.signal.aborted && error !== undefined) setState({ answer: undefined, error, busy: false });
      },
    );
    return () => control.abort();
  }, keys);
  return state;
}

/**
 * A function that sends the newest of a stream of requests, one at a time: those that come while one is under way are replaced by the
 * last of them. So a pen that moves faster than the engine answers never queues.
 */
export function useStream<Q, A>(work: (request: Q) => Promise<A>, got: (answer: A, request: Q) => void, failed?: (text: string) => void) {
  const state = useRef<{ busy: boolean; next: { request: Q } | undefined; alive: boolean }>({ busy: false, next: undefined, alive: true });
  const handlers = useRef({ work, got, failed });
  handlers.current = { work, got, failed };
  useEffect(() => {
    const own = state.current;
    own.alive = true;
    return () => {
      own.alive = false;
    };
  }, []);
  const run = useRef(async (request: Q): Promise<void> => {
    const own = state.current;
    if (own.busy) {
      own.next = { request };
      return;
    }
    own.busy = true;
    try {
      const answer = await handlers.current.work(request);
      if (own.alive) handlers.current.got(answer, request);
    } catch (e) {
      const text = sentence(e);
      if (own.alive && text !== undefined) handlers.current.failed?.(text);
    } finally {
      own.busy = false;
      const next = own.next;
      own.next = undefined;
      if (next && own.alive) void run.current(next.request);
    }
  });
  return (request: Q): void => void run.current(request);
}
