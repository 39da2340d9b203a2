// The views by the names that the address has for them, in the order of the rail.
import type { ComponentType } from 'preact';

export interface View {
  readonly name: string;
  readonly title: string;
  /** What it needs: a model that runs, any file, a run, or nothing. */
  readonly needs: 'model' | 'file' | 'run' | 'nothing';
  readonly body: ComponentType;
}

export const views: readonly View[] = [];
