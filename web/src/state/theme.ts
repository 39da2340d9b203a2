// Light or dark: the system's choice until somebody chooses here.
import { computed, effect, signal } from '@preact/signals';

export type Theme = 'light' | 'dark';
const KEY = 'limpid.theme';

const system = matchMedia('(prefers-color-scheme: dark)');
const systemTheme = signal<Theme>(system.matches ? 'dark' : 'light');
system.addEventListener('change', () => {
  systemTheme.value = system.matches ? 'dark' : 'light';
});

function stored(): Theme | undefined {
  try {
    const text = localStorage.getItem(KEY);
    return text === 'light' || text === 'dark' ? text : undefined;
  } catch {
    return undefined; // a browser that keeps nothing
  }
}

const chosen = signal<Theme | undefined>(stored());
export const theme = computed<Theme>(() => chosen.value ?? systemTheme.value);

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
});

export function toggleTheme(): void {
  const next: Theme = theme.peek() === 'dark' ? 'light' : 'dark';
  chosen.value = next === systemTheme.peek() ? undefined : next;
  try {
    if (chosen.value) localStorage.setItem(KEY, chosen.value);
    else localStorage.removeItem(KEY);
  } catch {
    // Not kept then.
  }
}

const reduce = matchMedia('(prefers-reduced-motion: reduce)');
/** Whether somebody asked their system for less motion. */
export const reducedMotion = (): boolean => reduce.matches;
