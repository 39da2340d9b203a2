// Runs every case of a folder (see write_cases.cc) in ONNX Runtime and compares its outputs with those that are
// there. The difference of two tensors is the largest difference of elements over the largest magnitude.
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');
const { version } = require('onnxruntime-node/package.json');

const kMost = 1e-5;
const kArrays = {
  f32: ['float32', Float32Array],
  f64: ['float64', Float64Array],
  i32: ['int32', Int32Array],
  i64: ['int64', BigInt64Array],
  i8: ['int8', Int8Array],
  u8: ['uint8', Uint8Array],
  bool: ['bool', Uint8Array],
};

const folder = process.argv[2];

function numbersOf(tensor) {
  const bytes = fs.readFileSync(path.join(folder, tensor.file));
  const [, Kind] = kArrays[tensor.dtype];
  return new Kind(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

function differenceOf(got, expected) {
  let largest = 0;
  let difference = 0;
  for (let i = 0; i < expected.length; ++i) {
    const a = Number(got[i]);
    const b = Number(expected[i]);
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) {
      if (Number.isFinite(b)) largest = Math.max(largest, Math.abs(b));
      continue;
    }
    if (!Number.isFinite(a) || !Number.isFinite(b)) return Infinity;
    largest = Math.max(largest, Math.abs(b));
    difference = Math.max(difference, Math.abs(a - b));
  }
  return difference === 0 ? 0 : difference / largest;
}

// The largest difference of a case. Throws where ONNX Runtime does, or gives another type.
async function run(example) {
  const options = { intraOpNumThreads: 1, logSeverityLevel: 3 };
  const session = await ort.InferenceSession.create(path.join(folder, example.model), options);
  const feeds = {};
  for (const t of example.inputs) feeds[t.name] = new ort.Tensor(kArrays[t.dtype][0], numbersOf(t), t.shape);
  const results = await session.run(feeds);
  let difference = 0;
  session.outputNames.forEach((name, i) => {
    const expected = example.outputs[i];
    const got = results[name];
    const type = `${got.type}[${got.dims}]`;
    const wanted = `${kArrays[expected.dtype][0]}[${expected.shape}]`;
    if (type !== wanted) throw new Error(`${name} is ${type}, ${wanted} is expected`);
    difference = Math.max(difference, differenceOf(got.data, numbersOf(expected)));
  });
  await session.release();
  return difference;
}

async function main() {
  const cases = JSON.parse(fs.readFileSync(path.join(folder, 'cases.json')));
  let failed = 0;
  let left_out = 0;
  let most = 0;
  let where = '';
  const missing = new Set();
  for (const example of cases) {
    const tensors = [...example.inputs, ...example.outputs];
    if (tensors.some((t) => !(t.dtype in kArrays))) {
      ++left_out;
      continue;
    }
    try {
      const difference = await run(example);
      if (difference > most) [most, where] = [difference, example.name];
      if (difference > kMost) {
        ++failed;
        console.log(`${example.name}: differs by ${difference}`);
      }
    } catch (error) {
      // Of other types than these it has not every operator, and its own fusions lack some.
      const usual = tensors.every((t) => ['f32', 'i32', 'i64'].includes(t.dtype));
      const lacks = /(?:Could not find an implementation|Failed to find kernel) for ([\w.]+\(\d+\))/.exec(error.message);
      if (lacks && !usual) {
        missing.add(lacks[1]);
        ++left_out;
        continue;
      }
      ++failed;
      console.log(`${example.name}: ${error.message}`);
    }
  }
  console.log(
    `ONNX Runtime ${version}: ${cases.length - failed - left_out} cases within ${kMost}, the largest difference ` +
      `${most} (${where}); ${failed} failed; ${left_out} left out, whose types it lacks: ${[...missing].sort().join(', ')}`
  );
  process.exit(failed ? 1 : 0);
}

main();
