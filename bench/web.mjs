// How fast the npm package is: node [--experimental-wasm-relaxed-simd] bench/web.mjs build/wasm/wasm/npm
// Prints the shortest of many calls, in microseconds, for 784-256-128-10.
import { pathToFileURL } from "node:url";
import { join, resolve } from "node:path";

const begin = performance.now();
const limpid = await import(pathToFileURL(join(resolve(process.argv[2]), "dist/limpid.js")));
const f = await limpid.mlp([784, 256, 128, 10]);
f(new Float32Array(784));
const first = performance.now() - begin;

function shortest(call, seconds = 3) {
  let best = Infinity;
  for (const end = performance.now() + 1000 * seconds; performance.now() < end; ) {
    const start = performance.now();
    call();
    best = Math.min(best, performance.now() - start);
  }
  return (1000 * best).toFixed(0);
}

const x = Float32Array.from({ length: 32 * 784 }, (_, i) => Math.sin(i));
const y = Int32Array.from({ length: 32 }, (_, i) => i % 10);
const one = x.slice(0, 784);
console.log(`${await limpid.arithmetic()}: first answer after ${first.toFixed(0)} ms`);
console.log(`one row ${shortest(() => f(one))} us, 32 rows ${shortest(() => f(x))} us, a step of Adam on 32 rows ${shortest(() => f.train(x, y, { optimizer: "adam" }))} us`);
