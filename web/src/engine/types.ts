// The engine's requests and answers, as /api/ speaks them. Hand-written beside
// limpid/view; one interface for each JSON object.

// ---- numbers

/** Shortest digits that read back as the same number of its dtype; what JSON cannot write is text. */
export type Num = number | 'nan' | 'inf' | '-inf';
export type Dtype = 'f32' | 'f64' | 'bf16' | 'i8' | 'u8' | 'i32' | 'i64' | 'bool' | string;
export interface TensorType { dtype: Dtype; shape: number[] }

/** Of all elements, in f64. */
export interface Statistics {
  count: number; min: Num; mean: Num; std: Num; max: Num;
  zero_share: number; nans: number; infs: number;
}

/** Which part of a tensor: a box. Left out: all of it, as far as the limit goes. */
export interface Box { first: number[]; count: number[] }

/** Elements, row by row, of a box of a tensor. */
export interface Values {
  dtype: Dtype;
  shape: number[];         // of the whole tensor
  box: Box;                // that these are of
  values?: Num[];          // as: 'numbers'
  hex?: string[];          // as: 'hex': the bits of each, "3f800000"
  base64?: string;         // as: 'base64': little-endian elements of the dtype
  complete: boolean;       // false: the limit cut the box short (leading dimension)
}
export type As = 'numbers' | 'hex' | 'base64';

// ---- errors: any answer but 2xx

export interface Failure { error: { code: ErrorCode; message: string } | string }   // one sentence, for people; a string is the server's own
export type ErrorCode = 'invalid_argument' | 'not_found' | 'shape' | 'dtype' | 'parse' | 'format' |
  'unsupported' | 'io' | 'forbidden' | 'too_large' | 'busy' | 'internal';

// ---- session

export interface Session {
  version: string; isa: string; threads: number;
  models: ModelInfo[]; runs: RunInfo[];
  folder: string | null;          // where runs started from the page go; null: none may be started
  limits: Limits;
}
export interface Limits { body: number; values: number; nodes: number; file: number; steps: number }

/** `id` names it in every request: "m0", "m1" of the command line and of dropped files; "r0" is the
 *  model of run r0; "r0@120" that of the run after 120 steps (the time machine). */
export interface ModelInfo {
  id: string;
  name: string;                   // of the file
  kind: 'model' | 'tensors';      // tensors: names and values without a function
  origin: 'named' | 'dropped' | 'run' | 'step' | 'variant';
  parameters: number; bytes: number; ops: number;
  inputs: InputType[];            // the data, of one example
  outputs: NamedType[];
  task: 'classification' | 'multilabel' | 'regression' | 'next_token' | null;
  picture: { height: number; width: number } | null;   // where the input is a square picture
  classes: string[] | null;       // names, or "0".."9"
  features: string[] | null;      // names of the input's numbers
  targets: string[] | null;       // names of the columns it predicts
  text: string | null;            // of a model with a tokenizer, which takes {text}: one that it can read
  data: string | null;            // the data set it was trained on, as {data} takes it
  layers: string[];               // that neuron() takes
  version: string;                // changes with the model of an id
}
export interface NamedType extends TensorType { name: string }
export interface InputType extends NamedType { value: string }   // "%x"
export interface RunInfo {
  id: string; name: string; path: string;
  state: 'running' | 'paused' | 'finished' | 'stopped' | 'elsewhere';  // elsewhere: a log without an end that this process does not write
  model: string | null;           // ModelInfo.id, once there is one
  report: boolean;                // whether its folder has a report.html
  step: number; steps: number | null; data: string; task: string;
  error: string | null;           // why training in this process failed
}

// ---- what a computation is of: in every request that runs a model

export interface Subject { model: string; input: InputSpec; edits?: Edit[] }
export type InputSpec =
  | { values: Num[] }                                     // numbers or pixels of the one data input
  | TextInput
  | { data?: string; part?: Part; index: number }         // left out: the model's own data, 'test'
  | { tensors: { [name: string]: { values: Num[] } } };   // inputs by name
export type TextInput =
  | { text: string }
  | { tokens: number[] };                                 // as generated: their text may not be that of the same tokens
export type Part = 'train' | 'validation' | 'test';

/** A change, applied in the order of the list; undo is a shorter list. `at` is a value's name: "%3" a
 *  result, "%layers.0.weight" a parameter, "%x" the input. Without `index` the whole value; else one
 *  element by its indices; with -1 in a place all of that dimension: [-1, 5] is unit 5 of every row.
 *  For a weight [out, in], unit 5 is [5, -1]. */
export interface Edit {
  at: string;
  index?: number[];
  set?: Num; scale?: Num; add?: Num;                      // exactly one of these five
  noise?: { std: number; seed: number };
  patch?: InputSpec;                                      // the value as it is for that example
}

// ---- graph

export interface GraphRequest { model: string; edits?: Edit[]; node?: number }   // node: the body of that composition
/** Columns, so that 10,000 ops are small: the i-th of each array is of node i. */
export interface Graph {
  name: string;
  values: { name: string[]; dtype: Dtype[]; shape: number[][];
            kind: ('input' | 'parameter' | 'result')[]; node: number[] };  // node that makes it, -1
  nodes: { op: string[]; note: string[];          // "axis = 1"
           group: number[];                       // innermost, -1: none
           inputs: number[][]; outputs: number[][];       // values
           parameters: number[];                  // elements of the parameters it is the first to use
           multiply_adds: number[];
           body: boolean[] };                     // a composition: ask with `node`
  groups: { name: string[]; parent: number[]; kind: ('layer' | 'block' | 'repeat')[];
            nodes: number[]; parameters: number[] };  // parents before children
  edges: [number, number, number][];              // from node (-1-i: value i, an input), to node, value
  outputs: { name: string; value: number }[];
}

export interface ParametersRequest { model: string; bins?: number }
export interface ParametersAnswer { parameters: Parameter[] }
export interface Parameter extends NamedType {
  value: string;                                  // "%layers.0.weight"
  statistics: Statistics; histogram: Histogram;
}
/** counts[i] of [edges[i], edges[i+1]); the last bin with its end. Finite elements alone. */
export interface Histogram { edges: number[]; counts: number[] }

/** Any value: a parameter without `input`, everything else with it. */
export interface TensorRequest {
  model: string; value: string; input?: InputSpec; edits?: Edit[];
  box?: Box; as?: As; bins?: number;
}
export interface TensorAnswer { name: string; statistics: Statistics; histogram: Histogram; values: Values }

// ---- forward

export interface ForwardRequest extends Subject {
  values?: number;        // elements sent of each value, at most; 0: statistics alone. default 4096
  only?: string[];        // these values; left out: all but parameters
  compare?: boolean;      // with edits: each row has `changed`, how many elements differ from no edits
}
export interface ForwardAnswer { rows: TraceRow[]; answer: Answer; input: ExampleInfo | null; seconds: number }
export interface TraceRow {
  value: string; layer: string; op: string; dtype: Dtype; shape: number[];
  statistics: Statistics; values?: Values; changed?: number;
}
/** What the model says of the example. */
export interface Answer {
  outputs: { name: string; values: Values }[];
  class?: number; probabilities?: Num[];          // of a classification, of the last token
  label?: string;
  row?: number;                                    // of the output: the one that predicts the class
  likeliest?: { class: number; label: string }[];  // for the next token: the most probable ones
}
export interface ExampleInfo { target: Num[] | null; label: string | null; size: number }  // size: examples of the part

export interface NeuronRequest extends Subject {
  layer: string; index: number; row?: number;     // -1: the last
  terms?: number;                                 // most to send, by falling |product|; default 64
}
export interface Neuron {
  layer: string; index: number; row: number; rows: number; dtype: Dtype;
  neurons: number;
  terms: Term[];                                  // by falling |product|
  count: number;                                  // of all terms
  rest: Num;                                      // the sum of the products not sent
  bias: Exact | null; z: Exact;
  activation: { op: string; value: Exact } | null;
  from: string;                                   // the value that the inputs are of, "%2"
  source: { layer: string } | null;               // the layer one step back, for "go one layer back"
  text: string;                                   // as `limpid trace --neuron` prints it
}
export interface Exact { value: Num; hex: string }
export interface Term { index: number; name: string | null; weight: Exact; input: Exact; product: Num }

// ---- edits

export interface EditRequest extends Subject { edits: Edit[] }
/** How to have the same elsewhere. */
export interface EditText { cpp: string; command: string | null; function: string }   // C++; a command of the tool (null with patches); the edited Function as text
export interface KeepRequest { model: string; edits: Edit[]; input?: InputSpec; name: string }  // a named variant: a ModelInfo

// ---- backwards

export interface GradientRequest extends Subject {
  of: { output: number; name?: string } | { loss: { target: Num[] | number | null } };  // null: the example's own target
  values?: number; only?: string[];
}
export interface GradientAnswer {
  value: Exact;                                   // the output, or the loss
  rows: GradientRow[];                            // of every value, the last op first
}
export interface GradientRow {
  value: string; layer: string; op: string; dtype: Dtype; shape: number[];
  statistics: Statistics; values?: Values;
  node: number;                                   // that makes it, -1
  from: { value: string; op: string; rule: string }[];   // who hands gradient to it: users of the value, the rule in words
}

// ---- data

export interface DataRequest { data: string; part?: Part; first?: number; count?: number; model?: string }
export interface DataAnswer {
  name: string; part: Part; size: number; task: string;
  input: TensorType; picture: { height: number; width: number } | null;
  classes: string[] | null; features: string[] | null;
  examples: { index: number; values: Num[]; target: Num[]; label: string | null; text?: string }[];
}

// ---- runs

/** The log from `cursor` on (0: its beginning). Steps are thinned to `most`: for each bucket its first,
 *  least, greatest and last loss; of more epochs than `most` some come, evenly, of probes and samples an eighth of that. After that
 *  only what is new comes, unthinned. */
export interface RunLogRequest { run: string; cursor?: number; most?: number }
export interface RunLog {
  run: string; cursor: number; state: RunInfo['state'];
  reset: boolean;                                 // the log was begun anew: drop what was there
  error: string | null;                           // why training in this process failed
  begun?: any;                                    // the run event: config, model, data, environment
  steps: Columns<'step' | 'epoch' | 'loss' | 'learning_rate' | 'gradient_norm'>;
  thinned: boolean; total_steps: number;
  epochs: any[]; probes: any[]; samples: { step: number; text: string }[];
  findings: Finding[]; end: any | null;
}
export type Columns<K extends string> = { [k in K]: Num[] };
export interface Finding {
  rule: string; severity: 'info' | 'warning' | 'error'; layer: string; symptom: string; cause: string; fix: string;
  step: number; follows_from: string;
  remedies?: { words?: string; settings?: { key: string; value: any }[] }[]; // of each one or the other
}
// GET /api/run/events?runs=r0:CURSOR,r1:CURSOR&token=T: server-sent events, each `data:` a RunLog of one of the runs. The `id:` of an
// event has the same form; a browser that reconnects sends it, and goes on from there.
// GET /api/run/report?run=r0&token=T: the report.html of the run's folder.

export interface RunConfigRequest { run: string }
export interface RunConfig { config: any; command: string[] }
export interface RunDiffRequest { runs: string[] }
export interface RunDiff { rows: { key: string; values: any[] }[] }   // keys where they differ; null: not chosen

export interface RunStartRequest { name: string; config: any }         // keys as config.json's
export interface RunAction { run: string; action: 'pause' | 'resume' | 'stop' }   // answers RunInfo
export interface RunConfigKeys { keys: { path: string; help: string; otherwise: string; kind: string; choices: string[] | null }[] }

/** The time machine: the run after `step` updates. Then "r0@step" is a model for every other request. */
export interface RunStepRequest { run: string; step: number }
export interface RunStepAnswer {
  model: ModelInfo; step: number; steps: number; from: number;         // recomputed from that step on
  hash: string; loss: Num | null; verified: boolean | null;            // bits equal those of a checkpoint there; null: there is none, or the step is read from it
  seconds: number;
}

// ---- compare

export interface CompareRequest { a: Subject | { model: string }; b: Subject | { model: string }; most?: number }
export interface CompareAnswer {
  same: boolean;
  parameters: Difference[];                       // that differ, in order; and names only one has
  only_a: string[]; only_b: string[];
  values: Difference[];                           // of the forward passes, in the order of the ops
  first: First | null;
}
export interface Difference {
  name: string; op: string; layer: string; shape: number[];
  differ: number; count: number; largest: Num; largest_ulp: Num;
}
export interface First {
  where: 'parameter' | 'value'; name: string; op: string; index: number[];
  bit: number;                                    // the highest that differs, 0 the lowest
  dtype: Dtype;
  a: Exact; b: Exact;
}
/** Two runs (or a step range of them): the first step at which their logs or states differ. */
export interface CompareRunsRequest { a: string; b: string; recompute?: boolean }
export interface CompareRunsAnswer {
  same: boolean; first_step: number | null; what: string;   // "loss", "gradient_norm", "layers.0.weight"
  compared: number;                               // steps in both logs
  keys: string[];                                 // where their configurations differ
  a: Exact | null; b: Exact | null; growth: { step: number; difference: Num }[];
  detail: CompareAnswer | null;                   // of the models at that step, with recompute
}

// ---- transformers

export interface TokensRequest { model: string; text: string }
export interface TokensAnswer { tokens: Token[]; context: number }
export interface Token { id: number; text: string }

export interface LanguageRequest extends Subject { temperature?: number; top_k?: number; top_p?: number; most?: number }
export interface LanguageAnswer {
  tokens: Token[];
  next: (Token & { logit: Exact; probability: Num; kept: boolean })[];  // after temperature, by falling probability
  blocks: { name: string; norms: Num[]; lens: { id: number; text: string; probability: Num }[][]; }[]; // per token: stream's norm; 3 likeliest
  attention: { name: string; heads: number; entropy: Num[][] }[];       // [head][query], 0..1
  cache: { length: number; capacity: number; bytes: number };
}
export interface AttentionRequest extends Subject { layer: number; head: number; as?: As }
export interface AttentionAnswer { queries: number; keys: number; weights: Values }   // [queries, keys]

export type GenerateRequest = TextInput & { model: string; temperature?: number; top_k?: number; top_p?: number; seed?: number; count?: number;
  drawn?: number };                               // tokens drawn before, so that one at a time gives the same text
export interface GenerateAnswer { tokens: Token[]; added: Token[] /* fewer than `count` after EOS */; text: string; cache: { length: number; capacity: number; bytes: number } }

// ---- playground

export interface PlayConfig {
  data: { name: 'xor' | 'and' | 'or' | 'moons' | 'circles' | 'spiral' | 'arms' | 'sine' | 'abs' | 'csv'; csv?: string; target?: string; seed?: number; count?: number; noise?: number };
  hidden: number[]; activation: string; optimizer: string; rate: number; l2?: number; dropout?: number;
  batch?: number; seed?: number;
}
export interface PlayRequest {
  config: PlayConfig;
  state?: string;            // of an answer, which it names; left out: the first weights
  steps: number;             // to make now, 0..1000
  grid?: number;             // the surface is grid x grid; 0: none
  box?: [number, number, number, number];   // x0, x1, y0, y1
  weights?: { at: string; index: number[]; set: number }[];   // dragged by hand, before the steps
  units?: boolean;           // a surface for each hidden unit as well
}
export interface PlayAnswer {
  state: string; step: number; loss: Num; test_loss: Num; accuracy: Num | null; test_accuracy: Num | null;
  surface: { grid: number; box: [number, number, number, number]; outputs: number; base64: string } | null;  // f32 [grid, grid, outputs], rows from y0 up; probabilities of classes
  units: { layer: number; base64: string }[];     // f32 [units, grid, grid]
  params: { name: string; shape: number[]; values: Num[] }[];
  hash: string;              // of the parameters
}
export interface PlayData { inputs: Num[][]; targets: Num[]; test_inputs: Num[][]; test_targets: Num[]; classes: number; features: string[]; class_names: string[] }
export interface PlayExport { command: string; hash: string; cpp: string; model: string /* base64 of the .safetensors */; csv: string | null }

// ---- lab: each a POST with its options, all with defaults

export interface LabCurves { curves: { name: string; formula: string; x: Num[]; y: Num[]; slope: Num[] }[] }     // lab/activations {}
export interface LabSoftmax { probabilities: Num[]; entropy: Num }                                               // lab/softmax {logits, temperature}
export interface LabLosses { losses: { name: string; x: Num[]; y: Num[]; slope: Num[] }[] }                      // lab/losses {target?}
export interface LabSpreads { rows: { layer: string; scheme: string; stds: Num[] }[] }                           // lab/init {layers, width, seed}
export interface LabNorms { rows: { name: string; before: Num[]; after: Num[] }[] }                              // lab/norms {values [4][8]}
export interface LabDropout { kept: boolean[]; values: Num[]; mean: Num }                                        // lab/dropout {rate, seed, values}
export interface LabPaths { surface: { x: Num[]; y: Num[]; z: Num[] }; paths: { name: string; x: Num[]; y: Num[]; z: Num[] }[] } // lab/optimizers {surface, start, rate, steps, names}
export interface LabCollapse { rows: { network: string; before: Work; after: Work; done: string[]; position: Num[]; y: Num[]; difference: Num }[] } // lab/collapse {in, hidden, out, seed}
export interface Work { ops: number; parameters: number; flops: number }
export interface LabPerceptron { target: string; epochs: { mistakes: number; weights: Num[]; bias: Num }[]; learnt: boolean; ending: string }  // lab/perceptron {target, epochs}
export interface LabApproximation { rows: { task: string; units: number; activation: string; loss: Num; error: Num; x: Num[][]; y: Num[]; predictions: Num[] }[] } // lab/approximation {units?, seed}
