// What the tests of the module share: the package, the tool, and files of NumPy.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The folder of the package as it was built. */
export const folder = process.env.LIMPID_NPM;
export const limpid = await import(pathToFileURL(join(folder, "dist/limpid.js")));

const wanted = process.env.LIMPID_ARITHMETIC;
const found = await limpid.arithmetic();
if (found !== wanted) {
  // A machine without a fused multiply-add.
  console.log(`skipped: this machine computes as ${found}`);
  process.exit(wanted === "simd128" ? 0 : 1);
}

/** The standard output of a run of the tool. */
export function tool(...args) {
  return execFileSync(process.env.LIMPID_TOOL, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs `use` on a folder that is removed afterwards. */
export async function withFolder(use) {
  const place = mkdtempSync(join(tmpdir(), "limpid-wasm-"));
  try {
    return await use(place);
  } finally {
    rmSync(place, { recursive: true });
  }
}

/** Writes a .npy file of f32 or i32. */
export function writeNpy(path, elements, shape) {
  const kind = elements instanceof Float32Array ? "<f4" : "<i4";
  let header = `{'descr': '${kind}', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
  header = header.padEnd(128 - 10 - 1) + "\n";
  const begin = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  writeFileSync(path, Buffer.concat([begin, Buffer.from(header), Buffer.from(elements.buffer, elements.byteOffset, elements.byteLength)]));
}

/** The elements of a .npy file of f32. */
export function readNpy(path) {
  const bytes = readFileSync(path);
  const data = bytes.subarray(10 + bytes.readUInt16LE(8));
  return new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
}

/** Numbers in [-1, 1) that are the same each time. */
export function numbers(count, seed = 1) {
  let state = seed;
  return Float32Array.from({ length: count }, () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 31 - 1);
}

/** The bits of f32, to compare NaN and -0, too. */
export const bits = (x) => Array.from(new Uint32Array(x.buffer, x.byteOffset, x.length));
