// What is wrong is said in one line with a code, whatever the bytes and the numbers: no call ends in a trap.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { limpid } from "./common.mjs";

const refused = (code) => (error) => {
  assert.ok(error instanceof limpid.LimpidError, String(error));
  assert.equal(error.code, code, error.message);
  assert.doesNotMatch(error.message, /\n/);
  return true;
};

const outside = (error) => error instanceof limpid.LimpidError && error.code !== "internal";

const net = await limpid.mlp([2, 3, 2]);
const bytes = net.save();

test("bytes that are cut", async () => {
  for (let size = 0; size < bytes.length; size += 7) await assert.rejects(limpid.load(bytes.subarray(0, size)), refused("format"));
});

test("bytes that are changed", async () => {
  let loaded = 0;
  for (let at = 0; at < bytes.length; ++at) {
    const changed = bytes.slice();
    changed[at] ^= 1 << at % 8;
    try {
      (await limpid.load(changed)).release();
      ++loaded;
    } catch (error) {
      assert.ok(error instanceof limpid.LimpidError && error.code !== "internal", String(error));
    }
  }
  // Those of the weights, any of which is a number.
  assert.ok(loaded > 50 && loaded < bytes.length / 2, `${loaded} of ${bytes.length}`);
});

test("a model that claims more than there is", async () => {
  const text = new TextDecoder("latin1").decode(bytes);
  for (const [from, to] of [
    ["f32[3, 2]", "f32[1073741825, 4]"],
    ["\"shape\":[3,2]", "\"shape\":[1073741830,2]"],
  ]) {
    assert.ok(text.includes(from), from);
    const claim = text.replaceAll(from, to);
    const file = Uint8Array.from(claim, (c) => c.charCodeAt(0));
    new DataView(file.buffer).setBigUint64(0, new DataView(bytes.buffer).getBigUint64(0, true) + BigInt(file.length - bytes.length), true);
    await assert.rejects(limpid.load(file), outside);
  }
});

test("numbers that do not fit", () => {
  for (const [x, code] of [
    [[1, 2, 3], "shape"],
    [[1, "2"], "invalid argument"],
    [[1, undefined], "invalid argument"],
    ["12", "invalid argument"],
    [undefined, "invalid argument"],
    [[[1, 2], [3]], "shape"],
  ])
    assert.throws(() => net(x), refused(code), JSON.stringify(x));
  assert.throws(() => net.run({ y: [1, 2] }), refused("invalid argument"));
  assert.throws(() => net.run({}), refused("invalid argument"));
  assert.equal(net([]).length, 0);
});

test("targets and choices that do not fit", () => {
  const x = [1, 2];
  for (const [y, options, code] of [
    [[2], {}, "invalid argument"],
    [[-1], {}, "invalid argument"],
    [[0.5], {}, "invalid argument"],
    [[0, 1], {}, "shape"],
    [[0], { loss: "mse" }, "shape"],
    [[0], { loss: "none" }, "not found"],
    [[0], { optimizer: "none" }, "not found"],
    [[0], { hyper: { momentun: 0.5 } }, "not found"],
    [[0], { hyper: { momentum: -1 } }, "invalid argument"],
    [[0], { rate: NaN }, "invalid argument"],
    [[0], { frozen: ["layer"] }, "not found"],
    [[0], { frozen: ["layers"] }, "invalid argument"],
  ])
    assert.throws(() => net.train(x, y, options), refused(code), JSON.stringify([y, options]));
  assert.throws(() => net.grad([], []), refused("shape"));
});

test("a model that is released", async () => {
  const other = await limpid.mlp([2, 2]);
  other.release();
  assert.throws(() => other([1, 2]), refused("not found"));
});

test("networks that cannot be", async () => {
  for (const sizes of [[], [2], [2, 0], [2, -1], [2 ** 40, 2 ** 40], [2, 2 ** 31], [1.5, 2], "2"])
    await assert.rejects(limpid.mlp(sizes), outside, JSON.stringify(sizes));
});

test("rows beyond the memory", async () => {
  const wide = await limpid.mlp([1, 1 << 20]);
  assert.throws(() => wide(new Float32Array(1 << 12)), refused("shape"));
  assert.throws(() => wide.grad(new Float32Array(1 << 12), new Int32Array(1 << 12)), refused("shape"));
  assert.throws(() => wide.grad(new Float32Array(100), new Int32Array(100)), refused("unsupported"));
  wide.release();
});

test("another file is no module", async () => {
  const module = new Uint8Array(readFileSync(new URL(import.meta.url)));
  await assert.rejects(limpid.load(bytes, { module }), WebAssembly.CompileError);
});
