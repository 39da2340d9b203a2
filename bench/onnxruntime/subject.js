// ONNX Runtime inside Node, for peer_onnxruntime.cc. Executes commands, one per line, from standard input:
//   describe IDENTITY        answers with one line; IDENTITY is a model that returns its input (1, 1) as y
//   load MODEL INPUT ROWS COLUMNS THREADS [CPUS]
//                            loads a model of x (ROWS, COLUMNS) to y, and the numbers of x, runs once, answers
//                            "floats N" and the first numbers of y; CPUS has one for each thread but the calling
//                            one, counted from one, between semicolons
//   time MILLISECONDS        answers "time NANOSECONDS CALLS 0": the median call minus the time of a call of IDENTITY,
//                            measured in turns; 0 if most of the time is that of IDENTITY
// Every model has a second result, z (1). Timed calls request only z: the whole model is computed, but Node does not
// spend time on copying y. Uses the binding's synchronous call: run() of the package waits for Node's event loop each
// time.
'use strict';
const fs = require('fs');
const { Tensor } = require('onnxruntime-common');
const { binding, initOrt } = require('onnxruntime-node/dist/binding.js');
const { version } = require('onnxruntime-node/package.json');

const kMostAnswered = 1 << 18; // as in subject_main.cc

const now = () => Number(process.hrtime.bigint());

function sessionOf(model, threads, cpus) {
  const options = {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
  };
  if (cpus) options.extra = { session: { intra_op_thread_affinities: cpus } };
  const session = new binding.InferenceSession();
  session.loadModel(model, options);
  return session;
}

function tensorOf(numbers, ...shape) {
  return new Tensor('float32', numbers, shape);
}

function timedCallOf(session, x) {
  const feeds = { x };
  const fetches = { z: tensorOf(new Float32Array(1), 1) };
  const options = {};
  return () => session.run(feeds, fetches, options);
}

// The median of samples. Each is the mean of as many calls as take 100 microseconds.
function timeOf(call, milliseconds) {
  const budget = milliseconds * 1e6;
  const start = now();
  let warm = 0;
  do {
    call();
    ++warm;
  } while (now() - start < 0.15 * budget || warm < 2);
  const inner = Math.max(1, Math.floor((1e5 * warm) / (now() - start)));
  const samples = [];
  while (samples.length < 5 || now() - start < budget) {
    const begin = now();
    for (let i = 0; i < inner; ++i) call();
    samples.push((now() - begin) / inner);
  }
  samples.sort((a, b) => a - b);
  return { nanoseconds: samples[samples.length >> 1], calls: samples.length * inner };
}

function write(bytes) {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(1, bytes, done);
}

let identity = null;
let session = null;
let call = null;

function obey(words) {
  if (words[0] === 'describe') {
    identity = timedCallOf(sessionOf(words[1], 1), tensorOf(new Float32Array(1), 1, 1));
    const cost = (timeOf(identity, 300).nanoseconds / 1e3).toFixed(1);
    write(Buffer.from(`ONNX Runtime ${version} in Node ${process.versions.node}, less about ${cost} us a call\n`));
  } else if (words[0] === 'load') {
    const [rows, columns, threads] = words.slice(3, 6).map(Number);
    if (session) session.dispose();
    session = sessionOf(words[1], threads, words[6]);
    const input = fs.readFileSync(words[2]);
    const x = tensorOf(new Float32Array(input.buffer.slice(input.byteOffset, input.byteOffset + input.length)), rows, columns);
    call = timedCallOf(session, x);
    const { y } = session.run({ x }, { y: null }, {});
    const answer = y.data.subarray(0, kMostAnswered);
    write(Buffer.from(`floats ${answer.length}\n`));
    write(Buffer.from(answer.buffer, answer.byteOffset, answer.length * 4));
  } else if (words[0] === 'time') {
    const cost = timeOf(identity, Number(words[1]) / 5).nanoseconds;
    const { nanoseconds, calls } = timeOf(call, Number(words[1]));
    const rest = nanoseconds - cost;
    write(Buffer.from(`time ${(rest > cost / 4 ? rest : 0).toFixed(3)} ${calls} 0\n`));
  } else {
    throw new Error(`unknown command: ${words.join(' ')}`);
  }
}

initOrt();
const chunk = Buffer.alloc(4096);
let text = '';
for (;;) {
  const count = fs.readSync(0, chunk);
  if (count === 0) break;
  text += chunk.toString('utf8', 0, count);
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    try {
      obey(line.split(' '));
    } catch (e) {
      write(Buffer.from(`error ${String(e.message).replace(/\n/g, ' ')}\n`));
    }
  }
}
