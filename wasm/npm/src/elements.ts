// Numbers as the page has them, and as the engine does.
import { LimpidError } from "./error.js";

/** Element types of tensors. Those of 16 bits are given as their bits. */
export type Dtype = "f32" | "f64" | "bf16" | "f16" | "i32" | "i64" | "i8" | "u8" | "bool";

/** The elements of one or more tensors, row-major. */
export type Elements =
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | Int8Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

/** Numbers of one example or of several, one after the other or each in an array of its own. */
export type Numbers = ArrayLike<number> | ArrayLike<bigint> | readonly ArrayLike<number>[];

/** The name, element type and shape of an input, an output or a parameter; of one example. */
export interface TensorType {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
}

const ARRAYS = {
  f32: Float32Array,
  f64: Float64Array,
  bf16: Uint16Array,
  f16: Uint16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  i8: Int8Array,
  u8: Uint8Array,
  bool: Uint8Array,
} as const;

const INTEGERS: { readonly [dtype: string]: readonly [number, number] } = {
  bf16: [0, 0xffff],
  f16: [0, 0xffff],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  i64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  i8: [-128, 127],
  u8: [0, 255],
  bool: [0, 1],
};

export function countOf(type: TensorType): number {
  return type.shape.reduce((all, dim) => all * dim, 1);
}

/** The elements in these bytes, which nobody else may hold. */
export function elementsOf(type: TensorType, bytes: Uint8Array<ArrayBuffer>): Elements {
  const array = ARRAYS[type.dtype];
  return new array(bytes.buffer, bytes.byteOffset, bytes.byteLength / array.BYTES_PER_ELEMENT);
}

function flat(numbers: Numbers): ArrayLike<number> | ArrayLike<bigint> {
  if (!Array.isArray(numbers) || !numbers.some((row) => typeof row === "object")) return numbers as ArrayLike<number>;
  const rows = numbers as readonly ArrayLike<number>[];
  if (rows.some((row) => row === null || typeof row !== "object" || row.length !== rows[0]?.length))
    throw new LimpidError("shape", "expected rows of the same length");
  return rows.flatMap((row) => Array.from(row));
}

function invalid(type: TensorType, i: number, element: unknown): LimpidError {
  const range = INTEGERS[type.dtype];
  const expected = range ? `integers from ${range[0]} to ${range[1]}` : "numbers";
  const got = typeof element === "string" ? JSON.stringify(element) : String(element);
  return new LimpidError("invalid argument", `${JSON.stringify(type.name)}: expected ${expected}, element ${i} is ${got}`);
}

/** The bytes of these numbers in the element type of `type`. Refuses what the type cannot hold; f64 is rounded to f32. */
export function bytesOf(type: TensorType, numbers: Numbers): Uint8Array<ArrayBufferLike> {
  if (numbers === null || typeof numbers !== "object" || typeof numbers.length !== "number")
    throw new LimpidError("invalid argument", `${JSON.stringify(type.name)}: expected an array of numbers, got ${typeof numbers}`);
  const array = ARRAYS[type.dtype];
  // Those of a bool are checked by the engine.
  if (numbers instanceof array) return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const all = flat(numbers);
  const range = INTEGERS[type.dtype];
  for (let i = 0; i < all.length; ++i) {
    const element: unknown = all[i];
    if (type.dtype === "i64" && typeof element === "bigint" && BigInt.asIntN(64, element) === element) continue;
    if (typeof element !== "number") throw invalid(type, i, element);
    const fits = !range || (Number.isInteger(element) && element >= range[0] && element <= range[1]);
    if (!fits) throw invalid(type, i, element);
  }
  const plain = all as ArrayLike<number>;
  if (type.dtype === "i64") return new Uint8Array(BigInt64Array.from(plain, (x) => BigInt(x)).buffer);
  return new Uint8Array((array as Float32ArrayConstructor).from(plain).buffer);
}

/** The number of examples whose elements these bytes are. */
export function rowsOf(type: TensorType, bytes: Uint8Array<ArrayBufferLike>): number {
  const one = countOf(type);
  const count = bytes.byteLength / ARRAYS[type.dtype].BYTES_PER_ELEMENT;
  if (one === 0 && count === 0) return 1;
  if (one === 0 || count % one !== 0)
    throw new LimpidError("shape", `${JSON.stringify(type.name)}: expected a multiple of ${one} numbers, got ${count}`);
  return count / one;
}
