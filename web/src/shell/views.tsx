// The views by the names that the address has for them, in the order of the rail.
import type { ComponentType } from 'preact';

import { BackwardView } from '../backward/backward-view';
import { CompareView } from '../compare/compare-view';
import { ForwardView } from '../forward/forward-view';
import { GraphView } from '../graph/graph-view';
import { LabView } from '../lab/lab-view';
import { PlaygroundView } from '../playground/playground-view';
import { TrainingView } from '../training/training-view';
import { TransformersView } from '../transformers/transformers-view';
import { WhatIfView } from '../whatif/whatif-view';

export interface View {
  readonly name: string;
  readonly title: string;
  /** What it needs: a model that runs, one of text, any file, a run, or nothing. */
  readonly needs: 'model' | 'text' | 'file' | 'run' | 'nothing';
  readonly body: ComponentType;
}

export const views: readonly View[] = [
  { name: 'graph', title: 'Graph', needs: 'file', body: GraphView },
  { name: 'forward', title: 'Forward', needs: 'model', body: ForwardView },
  { name: 'whatif', title: 'What if', needs: 'model', body: WhatIfView },
  { name: 'backward', title: 'Backward', needs: 'model', body: BackwardView },
  { name: 'transformers', title: 'Transformers', needs: 'text', body: TransformersView },
  { name: 'training', title: 'Training', needs: 'run', body: TrainingView },
  { name: 'compare', title: 'Compare', needs: 'file', body: CompareView },
  { name: 'playground', title: 'Playground', needs: 'nothing', body: PlaygroundView },
  { name: 'lab', title: 'Lab', needs: 'nothing', body: LabView },
];
