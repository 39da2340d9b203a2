// What is shown, in the fragment of the address: #/forward?example=3&cell=layers.1:5. A link reopens the view.
import { signal } from '@preact/signals';

export interface Route {
  readonly view: string;
  readonly params: Readonly<Record<string, string>>;
}

/** Reads a fragment; anything unexpected is an empty view, which the shell replaces by its first. */
export function parseRoute(fragment: string): Route {
  const text = fragment.replace(/^#\/?/, '');
  const at = text.indexOf('?');
  const view = at < 0 ? text : text.slice(0, at);
  const params: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(at < 0 ? '' : text.slice(at + 1))) params[key] = value;
  return { view, params };
}

/** The fragment of a route; parameters keep their order, empty ones are left out. */
export function formatRoute(route: Route): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(route.params)) if (value !== '') query.set(key, value);
  // Characters that a fragment may hold as they are stay readable.
  const text = query.toString().replace(/%3A/g, ':').replace(/%2C/g, ',').replace(/%2F/g, '/').replace(/%7C/g, '|');
  return `#/${route.view}${text ? `?${text}` : ''}`;
}

export const route = signal<Route>(parseRoute(location.hash));

addEventListener('hashchange', () => {
  route.value = parseRoute(location.hash);
});

/** Shows another view. It starts with `params`, what other views had set is kept in the browser's history. */
export function go(view: string, params: Record<string, string> = {}): void {
  location.hash = formatRoute({ view, params });
}

/**
 * Changes parameters of the view that is shown; undefined or "" removes one. `push` makes a step that the browser's Back undoes: a
 * choice does, a slider does not.
 */
export function setParams(patch: Record<string, string | undefined>, push = false): void {
  const params: Record<string, string> = { ...route.peek().params };
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || value === '') delete params[key];
    else params[key] = value;
  }
  const next = { view: route.peek().view, params };
  const fragment = formatRoute(next);
  if (fragment === location.hash) return;
  if (push) history.pushState(null, '', fragment);
  else history.replaceState(null, '', fragment);
  route.value = next;
}

addEventListener('popstate', () => {
  route.value = parseRoute(location.hash);
});
