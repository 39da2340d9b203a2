// ONNX Runtime's binding of Node, for python_calls.py: NODE_PATH=... node calls.js MODEL INPUTS OUTPUTS CALLS
// MODEL computes y (1, OUTPUTS) from x (1, INPUTS). Prints the microseconds of a call on one thread, the smallest mean of twenty rounds. It
// makes the binding's synchronous call, since run() of the package waits for Node's event loop each time; y is allocated beforehand.
'use strict';
const { Tensor } = require('onnxruntime-common');
const { binding, initOrt } = require('onnxruntime-node/dist/binding.js');

const [model, inputs, outputs, calls] = process.argv.slice(2).map((word, i) => (i ? Number(word) : word));
initOrt();
const session = new binding.InferenceSession();
session.loadModel(model, { intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all' });
const feeds = { x: new Tensor('float32', new Float32Array(inputs), [1, inputs]) };
const fetches = { y: new Tensor('float32', new Float32Array(outputs), [1, outputs]) };
let best = Infinity;
for (let round = 0; round < 20; ++round) {
  const begin = process.hrtime.bigint();
  for (let i = 0; i < calls; ++i) session.run(feeds, fetches, {});
  best = Math.min(best, Number(process.hrtime.bigint() - begin) / 1e3 / calls);
}
console.log(best.toFixed(2));
