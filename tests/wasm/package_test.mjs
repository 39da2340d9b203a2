// The package as a user has it: installed from its tarball into an empty project, with models that the tool wrote. It gives the
// bits of `limpid run`, the hashes of `limpid hash` and the parameters of `limpid train`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bits, folder, limpid, numbers, readNpy, tool, withFolder, writeNpy } from "./common.mjs";

const web = fileURLToPath(new URL("../../web", import.meta.url));

test("a model of the tool: its outputs and hashes", () =>
  withFolder(async (place) => {
    for (const [name, layers] of [["small", "784,32,10"], ["deep", "784,40,30,20,10"]]) {
      const run = join(place, name);
      tool("train", "--data", "digits", "--layers", layers, "--steps", "20", "--out", run);
      const f = await limpid.load(readFileSync(join(run, "model.safetensors")));
      assert.deepEqual(f.inputs, [{ name: "x", dtype: "f32", shape: [784] }]);
      for (const rows of [1, 2, 33, 300]) {
        const x = numbers(784 * rows, rows);
        const input = join(place, "x.npy");
        const output = join(place, "y.npy");
        writeNpy(input, x, [rows, 784]);
        tool("run", run, "--input", `x=${input}`, "--out", output);
        assert.deepEqual(bits(f(x)), bits(readNpy(output)), `${rows} rows`);
        const hashes = JSON.parse(tool("hash", run, "--input", `x=${input}`, "--json"));
        assert.equal(f.hash, hashes.model);
        assert.equal(f.hashOf(x), hashes.outputs);
      }
    }
  }));

test("an ONNX file of the tool", () =>
  withFolder(async (place) => {
    const run = join(place, "run");
    tool("train", "--data", "moons", "--layers", "2,8,2", "--steps", "20", "--out", run);
    tool("convert", run, join(place, "moons.onnx"));
    const f = await limpid.load(readFileSync(join(run, "model.safetensors")));
    const g = await limpid.load(readFileSync(join(place, "moons.onnx")));
    const x = numbers(2 * 7);
    assert.deepEqual(bits(g(x)), bits(f(x)));
  }));

// The rows are alike, so that their order, which a run draws, does not matter.
for (const [optimizer, rate, flags, hyper] of [
  ["sgd", 0.05, ["--momentum", "0.9"], { momentum: 0.9 }],
  ["adam", 0.01, [], {}],
  ["adamw", 0.01, ["--weight-decay", "0.1", "--decay-vectors"], { weight_decay: 0.1 }],
])
  test(`training by ${optimizer} has the parameters of the tool`, () =>
    withFolder(async (place) => {
      const rows = 4;
      const alike = (count) => Float32Array.from({ length: 2 * count }, (_, i) => (i % 2 ? -1.25 : 0.5));
      const x = alike(rows);
      const y = new Int32Array(rows).fill(2);
      // Half of them are for training.
      writeNpy(join(place, "x.npy"), alike(2 * rows), [2 * rows, 2]);
      writeNpy(join(place, "y.npy"), new Int32Array(2 * rows).fill(2), [2 * rows]);
      const data = `npy:${join(place, "x.npy")},targets=${join(place, "y.npy")},split=50/25/25,standardize=none`;
      const begin = await limpid.mlp([2, 8, 3], { seed: 3 });
      writeFileSync(join(place, "begin.safetensors"), begin.save());
      tool("train", "--from", join(place, "begin.safetensors"), "--data", data, "--batch", `${rows}`, "--steps", "10",
        "--optimizer", optimizer, "--lr", `${rate}`, "--schedule", "constant", ...flags, "--out", join(place, "run"));
      const trained = await limpid.load(readFileSync(join(place, "run", "model.safetensors")));
      let loss = Infinity;
      for (let step = 1; step <= 10; ++step) {
        const gradient = begin.grad(x, y);
        const now = begin.train(x, y, { optimizer, rate, hyper });
        assert.equal(now.steps, step);
        assert.equal(now.loss, gradient.loss);
        assert.ok(now.loss < loss);
        loss = now.loss;
      }
      const weights = begin.weights();
      for (const [name, value] of Object.entries(trained.weights())) assert.deepEqual(bits(weights[name]), bits(value), name);
    }));

test("gradients are those of central differences", async () => {
  const f = await limpid.mlp([3, 5, 2], { activation: "tanh", seed: 1 });
  const x = numbers(3 * 4);
  const y = numbers(2 * 4, 7);
  const { loss, gradients } = f.grad(x, y, { loss: "mse" });
  assert.deepEqual(Object.keys(gradients), f.parameters.map((p) => p.name));
  const lossOf = (out) => out.reduce((sum, v, i) => sum + (v - y[i]) ** 2, 0) / out.length;
  assert.ok(Math.abs(loss - lossOf(f(x))) < 1e-6);
  // A step of SGD moves the loss by the rate times the square of the gradient's norm, to first order.
  const rate = 1e-3;
  const square = Object.values(gradients).reduce((sum, g) => sum + g.reduce((s, v) => s + v * v, 0), 0);
  const step = f.train(x, y, { loss: "mse", optimizer: "sgd", rate, hyper: { momentum: 0 } });
  assert.ok(Math.abs(step.gradientNorm ** 2 / square - 1) < 1e-5);
  assert.ok(Math.abs((loss - lossOf(f(x))) / (rate * square) - 1) < 0.02);
});

test("frozen parameters stay", async () => {
  const f = await limpid.mlp([2, 4, 2]);
  const before = f.weights();
  const hash = f.hash;
  f.train([1, 2], [1], { optimizer: "adam", frozen: ["layers.0"] });
  const now = f.weights();
  assert.deepEqual(bits(now["layers.0.weight"]), bits(before["layers.0.weight"]));
  assert.notDeepEqual(bits(now["layers.1.weight"]), bits(before["layers.1.weight"]));
  assert.notEqual(f.hash, hash);
});

test("a row has the same bits alone and in a batch", async () => {
  const f = await limpid.mlp([5, 20, 3], { activation: "gelu" });
  const x = numbers(5 * 70);
  const all = f(x);
  for (let row = 0; row < 70; ++row) assert.deepEqual(bits(f(x.subarray(5 * row, 5 * row + 5))), bits(all.slice(3 * row, 3 * row + 3)));
  assert.deepEqual(bits(f([[...x.subarray(0, 5)], [...x.subarray(5, 10)]])), bits(all.slice(0, 6)));
});

test("the tarball in an empty project", () =>
  withFolder(async (place) => {
    const npm = (...args) => execFileSync("npm", args, { cwd: place, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    const [{ filename, files }] = JSON.parse(npm("pack", folder, "--json"));
    assert.ok(files.some((file) => file.path === "dist/limpid.wasm"));
    const others = files.map(({ path }) => path).filter((path) => !/^(dist\/.*\.(js|d\.ts|wasm)|package\.json|README\.md)$/.test(path));
    assert.deepEqual(others, []);
    const project = join(place, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
    const install = ["install", "--offline", "--no-audit", "--no-fund", join(place, filename)];
    execFileSync("npm", install, { cwd: project, stdio: ["ignore", "pipe", "pipe"] });
    assert.deepEqual(readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith(".")), ["limpid"]);
    // The lines of its README, as a program and as strict TypeScript.
    const readme = readFileSync(join(project, "node_modules/limpid/README.md"), "utf8");
    const code = readme.match(/```js\n([\s\S]*?)```/)[1];
    const f = await limpid.mlp([784, 16, 10]);
    writeFileSync(join(project, "model.safetensors"), f.save());
    writeFileSync(join(project, "main.mjs"), code);
    const out = execFileSync("node", ["main.mjs"], { cwd: project, encoding: "utf8" });
    assert.ok(out.includes(f.hash), out);
    const declared = "declare function readFileSync(path: string): Uint8Array;\n";
    writeFileSync(join(project, "main.ts"), code.replace(/^import .*node:fs.*\n/m, declared));
    const { compilerOptions } = JSON.parse(readFileSync(new URL("../../wasm/npm/tsconfig.json", import.meta.url), "utf8"));
    const options = { compilerOptions: { ...compilerOptions, rootDir: "." }, include: ["main.ts"] };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify(options));
    const tsc = join(web, "node_modules/typescript/bin/tsc");
    execFileSync("node", [tsc, "--noEmit", "-p", "."], { cwd: project, stdio: ["ignore", "inherit", "inherit"] });
  }));
