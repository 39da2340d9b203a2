/**
 * Neural networks as pure functions, in Node and browsers, with the bits of the Limpid library.
 *
 *     import * as limpid from "limpid";
 *     const f = await limpid.load(bytes);   // safetensors of `limpid train`, or ONNX
 *     const logits = f(x);
 */
import { Engine, type ModuleSource } from "./engine.js";
import { jsonBytes, modelOf, type Model } from "./model.js";

export { LimpidError } from "./error.js";
export type { Dtype, Elements, Numbers, TensorType } from "./elements.js";
export type { ModuleSource } from "./engine.js";
export type { Gradient, LossOptions, Model, Step, TrainOptions } from "./model.js";

/** Where to find the module, if it is not one of those beside this file. */
export interface LoadOptions {
  readonly module?: ModuleSource;
}

/** A network of linear layers. */
export interface MlpOptions {
  /** Default: "relu". */
  readonly activation?: string;
  /** Default: "he". */
  readonly init?: string;
  /** Of the initial parameters; default: 0. */
  readonly seed?: number;
}

// The smallest module with an instruction of relaxed vectors: a machine that takes it takes limpid-simd.wasm, which then asks whether
// the multiply-add of these vectors rounds once.
const RELAXED_VECTORS = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11,
]);

let usual: Promise<Engine> | undefined;

// One engine for all models, and a new one where it has ended; another module gives an engine of its own.
async function engine({ module }: LoadOptions): Promise<Engine> {
  if (module !== undefined) return Engine.start(module);
  if (usual !== undefined && (await usual).ended) usual = undefined;
  const file = WebAssembly.validate(RELAXED_VECTORS) ? "./limpid-simd.wasm" : "./limpid.wasm";
  usual ??= Engine.start(new URL(file, import.meta.url)).catch((error: unknown) => {
    usual = undefined;
    throw error;
  });
  return usual;
}

/** The model in the bytes of a file: safetensors as the library writes it, or ONNX. Throws LimpidError for any other. */
export async function load(bytes: Uint8Array | ArrayBuffer, options: LoadOptions = {}): Promise<Model> {
  const own = await engine(options);
  return modelOf(own, own.call("limpid_load", bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes));
}

/** A new network of linear layers, with initial parameters drawn from the seed: those of the library. */
export async function mlp(sizes: readonly number[], net: MlpOptions = {}, options: LoadOptions = {}): Promise<Model> {
  const own = await engine(options);
  return modelOf(own, own.call("limpid_mlp", jsonBytes({ sizes, ...net })));
}

/** How the engine computes here: "simd128", by vectors, or "exact", one number at a time. The bits are the same. */
export async function arithmetic(options: LoadOptions = {}): Promise<"simd128" | "exact"> {
  const own = await engine(options);
  return (JSON.parse(own.call("limpid_about")) as { isa: "simd128" | "exact" }).isa;
}

/** The hashes that docs/hashes.md publishes, as this engine computes them, in lines "| name | hash |". Takes seconds. */
export async function hashes(options: LoadOptions = {}): Promise<string> {
  const own = await engine(options);
  return own.call("limpid_hashes", 0) + own.call("limpid_hashes", 1);
}
