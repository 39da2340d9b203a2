// The module, and how it is called: bytes go into its memory and come out of it.
import { LimpidError } from "./error.js";

/** Where the module comes from: its address, its bytes, or the module compiled. */
export type ModuleSource = URL | string | Uint8Array<ArrayBuffer> | ArrayBuffer | WebAssembly.Module;

interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  limpid_alloc(bytes: number): number;
  limpid_free(at: number): void;
  limpid_text(): number;
  limpid_text_size(): number;
  limpid_tensor_data(i: number): number;
  limpid_tensor_size(i: number): number;
  limpid_release(model: number): void;
}

/** A call of the module: integers, and bytes that stand for an address and a length. */
type Argument = number | Uint8Array<ArrayBufferLike>;

// The interface of the system that the C library was built for: there are no files and no environment. The engine may ask for the
// time, and write a last word before it ends.
function system(module: WebAssembly.Module, memory: () => WebAssembly.Memory): WebAssembly.ModuleImports {
  const BAD_DESCRIPTOR = 8;
  const view = () => new DataView(memory().buffer);
  const known: WebAssembly.ModuleImports = {
    clock_time_get(_clock: number, _precision: bigint, at: number) {
      view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    environ_sizes_get(count: number, size: number) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    fd_write(_file: number, parts: number, count: number, written: number) {
      let text = "";
      let all = 0;
      for (let i = 0; i < count; ++i) {
        const at = view().getUint32(parts + 8 * i, true);
        const size = view().getUint32(parts + 8 * i + 4, true);
        text += new TextDecoder().decode(new Uint8Array(memory().buffer, at, size));
        all += size;
      }
      console.error(text);
      view().setUint32(written, all, true);
      return 0;
    },
    proc_exit(status: number) {
      throw new WebAssembly.RuntimeError(`exit with status ${status}`);
    },
  };
  const others = WebAssembly.Module.imports(module).map(({ name }) => [name, () => BAD_DESCRIPTOR] as const);
  return { ...Object.fromEntries(others), ...known };
}

async function compiled(source: ModuleSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || source instanceof Uint8Array) return WebAssembly.compile(source);
  const address = new URL(source, import.meta.url);
  if (address.protocol === "file:" && "process" in globalThis) {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(address));
  }
  const answer = await fetch(address);
  if (!answer.ok) throw new LimpidError("io", `${address.href}: expected the module, got status ${answer.status}`);
  return WebAssembly.compile(await answer.arrayBuffer());
}

export class Engine {
  readonly #exports: Exports & { readonly [name: string]: unknown };
  #ended: string | undefined;

  private constructor(exports: WebAssembly.Exports) {
    this.#exports = exports as unknown as Exports & { readonly [name: string]: unknown };
  }

  static async start(source: ModuleSource): Promise<Engine> {
    let exports: WebAssembly.Exports | undefined;
    const memory = () => (exports as unknown as Exports).memory;
    const module = await compiled(source);
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system(module, memory) });
    exports = instance.exports;
    const engine = new Engine(exports);
    engine.#exports._initialize();
    return engine;
  }

  /** Whether a call has ended in a trap: what the memory holds is not to be trusted, and every call is refused. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Calls a function that leaves a text, and returns it. Throws LimpidError for what the engine refuses. */
  call(name: string, ...args: readonly Argument[]): string {
    if (this.#ended !== undefined) throw new LimpidError("internal", `the engine has ended: ${this.#ended}`);
    const addresses: number[] = [];
    try {
      const values = args.flatMap((argument) => {
        if (typeof argument === "number") return [argument];
        const at = this.#exports.limpid_alloc(Math.max(1, argument.byteLength));
        if (at === 0) throw new LimpidError("no memory", `the engine has no memory for ${argument.byteLength} bytes`);
        addresses.push(at);
        new Uint8Array(this.#exports.memory.buffer, at, argument.byteLength).set(argument);
        return [at, argument.byteLength];
      });
      const status = (this.#exports[name] as (...values: number[]) => number)(...values);
      const text = this.#text();
      if (status === 0) return text;
      const { code, message } = JSON.parse(text) as { code: string; message: string };
      throw new LimpidError(code, message);
    } catch (error) {
      if (error instanceof LimpidError) throw error;
      this.#ended = error instanceof Error ? error.message : String(error);
      throw new LimpidError("internal", `the engine has ended: ${this.#ended}`);
    } finally {
      if (this.#ended === undefined) for (const at of addresses) this.#exports.limpid_free(at);
    }
  }

  /** A copy of tensor `i` that the last call left. */
  tensor(i: number): Uint8Array<ArrayBuffer> {
    const at = this.#exports.limpid_tensor_data(i);
    return new Uint8Array(this.#exports.memory.buffer.slice(at, at + this.#exports.limpid_tensor_size(i)) as ArrayBuffer);
  }

  release(model: number): void {
    if (this.#ended === undefined) this.#exports.limpid_release(model);
  }

  #text(): string {
    const at = this.#exports.limpid_text();
    return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, at, this.#exports.limpid_text_size()));
  }
}
