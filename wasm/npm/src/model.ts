import { bytesOf, elementsOf, rowsOf, type Elements, type Numbers, type TensorType } from "./elements.js";
import type { Engine } from "./engine.js";
import { LimpidError } from "./error.js";

/** The loss of grad() and train(), the mean over the rows. */
export interface LossOptions {
  /** Default: "cross_entropy", of an output of logits and targets that are classes. The others take targets of the output's shape. */
  readonly loss?: "cross_entropy" | "binary_cross_entropy" | "mse" | "mae" | "huber";
  /** Of cross_entropy: the share of the target that is spread over all classes. */
  readonly labelSmoothing?: number;
  /** Of huber: the absolute error at which the loss becomes linear. */
  readonly delta?: number;
  /** Parameters that stay as they are; "layers.0" names all below it. */
  readonly frozen?: readonly string[];
}

/** The update of train(). Another optimiser or other hyper-parameters begin with a new state; the rate may change with each step. */
export interface TrainOptions extends LossOptions {
  readonly optimizer?: "sgd" | "rmsprop" | "adam" | "adamw" | "adagrad";
  /** The learning rate; default: that of the optimiser. */
  readonly rate?: number;
  /** Hyper-parameters of the optimiser, by the names of `limpid train`: momentum, beta1, weight_decay, ... */
  readonly hyper?: Readonly<Record<string, number>>;
}

/** What grad() gives. */
export interface Gradient {
  readonly loss: number;
  /** By parameter, in its shape. */
  readonly gradients: Readonly<Record<string, Elements>>;
}

/** What train() gives: the loss before the step. */
export interface Step {
  readonly loss: number;
  readonly gradientNorm: number;
  /** Steps with this optimiser so far. */
  readonly steps: number;
}

/** A model. Called on the numbers of one example, or of several one after the other, it gives its outputs likewise. */
export interface Model {
  (x: Numbers): Elements;
  readonly hash: string;
  readonly title: string;
  readonly inputs: readonly TensorType[];
  readonly outputs: readonly TensorType[];
  readonly parameters: readonly TensorType[];
  /** Hyper-parameters as JSON, as they are in the file; may be empty. */
  readonly config: string;
  /** What the reader of an ONNX file could not keep, as one line; may be empty. */
  readonly note: string;
  /**
   * Runs a model of several inputs or outputs, by name; an output without one has its number. All inputs have the same number of
   * examples.
   */
  run(inputs: Readonly<Record<string, Numbers>>): Record<string, Elements>;
  /** The hash of the outputs, which `limpid hash` prints for the same examples. */
  hashOf(x: Numbers): string;
  grad(x: Numbers, y: Numbers, options?: LossOptions): Gradient;
  /** One step of an optimiser on these rows: the parameters are others afterwards, and so is the hash. */
  train(x: Numbers, y: Numbers, options?: TrainOptions): Step;
  /** Copies of the parameters, by name. */
  weights(): Record<string, Elements>;
  /** The model as a safetensors file that the tool reads. */
  save(): Uint8Array<ArrayBuffer>;
  /** Frees the engine's memory; it is freed, too, when nothing refers to the model. */
  release(): void;
}

interface Description {
  readonly model: number;
  readonly name: string;
  readonly inputs: readonly TensorType[];
  readonly outputs: readonly TensorType[];
  readonly parameters: readonly TensorType[];
  readonly config: string;
  readonly note: string;
  readonly hash: string;
}

const released = new FinalizationRegistry<{ engine: Engine; model: number }>(({ engine, model }) => engine.release(model));

const F32: TensorType = { name: "", dtype: "f32", shape: [] };

/** JSON of an object, as bytes. */
export function jsonBytes(value: object): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

function only(types: readonly TensorType[], what: string): TensorType {
  const [type] = types;
  if (type === undefined || types.length !== 1)
    throw new LimpidError(
      "invalid argument",
      `expected a model of one ${what}, this one has ${types.length}: run() takes and gives them by name`,
    );
  return type;
}

/** The model that the engine described last. */
export function modelOf(engine: Engine, text: string): Model {
  const about = JSON.parse(text) as Description;
  const { model, inputs, outputs, parameters } = about;
  let hash: string | undefined = about.hash;

  function run(given: Readonly<Record<string, Numbers>>, hashed: boolean): string {
    const names = inputs.map((input) => JSON.stringify(input.name)).join(", ");
    for (const name of Object.keys(given))
      if (!inputs.some((input) => input.name === name))
        throw new LimpidError("invalid argument", `expected the inputs ${names}, got ${JSON.stringify(name)}`);
    let rows: number | undefined;
    const parts = inputs.map((input) => {
      const numbers = given[input.name];
      const name = JSON.stringify(input.name);
      if (numbers === undefined) throw new LimpidError("invalid argument", `expected the input ${name}, got none`);
      const bytes = bytesOf(input, numbers);
      const own = rowsOf(input, bytes);
      if (rows !== undefined && rows !== own)
        throw new LimpidError("shape", `expected ${rows} examples of ${name}, got ${own}`);
      rows = own;
      return bytes;
    });
    const all = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.byteLength;
    }
    return engine.call("limpid_run", model, rows ?? 1, all, hashed ? 1 : 0);
  }

  function one(x: Numbers, hashed: boolean): string {
    only(outputs, "output");
    return run({ [only(inputs, "input").name]: x }, hashed);
  }

  function batch(call: string, x: Numbers, y: Numbers, options: TrainOptions): string {
    const { labelSmoothing, hyper, ...rest } = options;
    const input = only(inputs, "input");
    const output = only(outputs, "output");
    const classes = (options.loss ?? "cross_entropy") === "cross_entropy";
    const target: TensorType = classes
      ? { name: "targets", dtype: "i32", shape: output.shape.slice(0, -1) }
      : { name: "targets", dtype: "f32", shape: output.shape };
    const json = jsonBytes({ ...rest, ...(labelSmoothing === undefined ? {} : { label_smoothing: labelSmoothing }), ...hyper });
    const bytes = bytesOf(input, x);
    return engine.call(call, model, json, rowsOf(input, bytes), bytes, bytesOf(target, y));
  }

  const scalar = (i: number) => Number(elementsOf(F32, engine.tensor(i))[0]);

  const self = (x: Numbers): Elements => {
    one(x, false);
    return elementsOf(only(outputs, "output"), engine.tensor(0));
  };
  const members = {
    title: about.name,
    inputs,
    outputs,
    parameters,
    config: about.config,
    note: about.note,
    run(given: Readonly<Record<string, Numbers>>) {
      run(given, false);
      return Object.fromEntries(outputs.map((output, i) => [output.name || `${i}`, elementsOf(output, engine.tensor(i))]));
    },
    hashOf: (x: Numbers) => (JSON.parse(one(x, true)) as { hash: string }).hash,
    grad(x: Numbers, y: Numbers, options: LossOptions = {}) {
      const { names } = JSON.parse(batch("limpid_gradient", x, y, options)) as { names: string[] };
      return { loss: scalar(0), gradients: Object.fromEntries(names.map((name, i) => [name, elementsOf(F32, engine.tensor(i + 1))])) };
    },
    train(x: Numbers, y: Numbers, options: TrainOptions = {}) {
      const { steps } = JSON.parse(batch("limpid_train", x, y, options)) as { steps: number };
      hash = undefined;
      return { loss: scalar(0), gradientNorm: scalar(1), steps };
    },
    weights() {
      engine.call("limpid_parameters", model);
      return Object.fromEntries(parameters.map((type, i) => [type.name, elementsOf(type, engine.tensor(i))]));
    },
    save() {
      engine.call("limpid_save", model);
      return engine.tensor(0);
    },
    release() {
      released.unregister(self);
      engine.release(model);
    },
  };
  const whole = Object.defineProperty(Object.assign(self, members), "hash", {
    enumerable: true,
    get: () => (hash ??= (JSON.parse(engine.call("limpid_describe", model)) as Description).hash),
  }) as Model;
  released.register(whole, { engine, model }, self);
  return whole;
}
