// Compares steps and redraws per second of the playground of `limpid view` and of TensorFlow Playground's engine, on the same network, in
// turns: ours over HTTP as the page asks for them, theirs in Chromium. Prints a table.
// usage: playground_bench.mjs <limpid> <web folder> <folder to work in> <nn.ts>
// <nn.ts> is src/nn.ts of github.com/tensorflow/playground, which no package has.
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { begin, view, web } from '../../tests/view_page/browser.mjs';

const ROUNDS = 11;
const EPOCH = 25; // steps, of 10 examples of 250
const GRID = 100;

const browser = await begin();
const server = await view();
const { origin, searchParams } = new URL(server.address);
const ask = async (name, body) => {
  const answer = await fetch(`${origin}/api/${name}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${searchParams.get('token')}` },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, `${name}: ${answer.status}`);
  return answer.json();
};

const { build } = await import(pathToFileURL(join(web, 'node_modules/vite/dist/node/index.js')));
const [{ output }] = await build({
  configFile: false,
  logLevel: 'error',
  build: { lib: { entry: resolve(process.argv[5]), formats: ['iife'], name: 'nn' }, minify: false, target: 'esnext', write: false },
});
const { code } = output[0];

/** Training of 2-hidden-1 in a page, as in its playground.ts: batches of 10, then both losses and every node on the grid. */
async function theirs(hidden) {
  const page = await browser.newPage();
  await page.addScriptTag({ content: code });
  await page.evaluate(
    ({ hidden: units, grid }) => {
      const { Activations, Errors, backProp, buildNetwork, forwardProp, forEachNode, updateWeights } = globalThis.nn;
      const network = buildNetwork([2, ...units, 1], Activations.TANH, Activations.TANH, null, ['x', 'y']);
      const circles = (count) =>
        Array.from({ length: count }, (_, i) => {
          const inside = i % 2;
          const radius = inside ? 2.5 * Math.random() : 3.5 + 1.5 * Math.random();
          const angle = 2 * Math.PI * Math.random();
          return { point: [radius * Math.sin(angle), radius * Math.cos(angle)], label: inside ? 1 : -1 };
        });
      const [train, test] = [circles(250), circles(250)];
      const loss = (data) => data.reduce((sum, { point, label }) => sum + Errors.SQUARE.error(forwardProp(network, point), label), 0) / data.length;
      const surfaces = {};
      forEachNode(network, true, (node) => (surfaces[node.id] = Array.from({ length: grid }, () => new Array(grid))));
      let at = 0;
      const steps = (count) => {
        for (let i = 0; i < 10 * count; ++i, ++at) {
          const { point, label } = train[at % train.length];
          forwardProp(network, point);
          backProp(network, label, Errors.SQUARE);
          if ((at + 1) % 10 === 0) updateWeights(network, 0.03, 0);
        }
      };
      const draw = () => {
        for (let i = 0; i < grid; ++i)
          for (let j = 0; j < grid; ++j) {
            forwardProp(network, [(12 * i) / (grid - 1) - 6, 6 - (12 * j) / (grid - 1)]);
            forEachNode(network, true, (node) => (surfaces[node.id][i][j] = node.output));
          }
        return loss(train) + loss(test);
      };
      globalThis.timed = (count, epoch, drawn) => {
        const from = performance.now();
        if (!drawn) {
          steps(count);
          loss(train) + loss(test);
        } else
          for (let done = 0; done < count; done += epoch) {
            steps(epoch);
            draw();
          }
        return performance.now() - from;
      };
    },
    { hidden, grid: GRID },
  );
  return (count, drawn) => page.evaluate(([n, epoch, d]) => globalThis.timed(n, epoch, d), [count, EPOCH, drawn]);
}

/** The same training by the page's engine. */
function ours(hidden) {
  const config = { data: { name: 'circles', count: 250 }, hidden, activation: 'tanh', optimizer: 'sgd', rate: 0.03, batch: 10, seed: 1 };
  let state = '';
  const step = async (steps, more) => ({ state } = await ask('play', { config, state, steps, ...more }));
  return async (count, drawn) => {
    const each = drawn ? EPOCH : count;
    const from = performance.now();
    for (let done = 0; done < count; done += each) await step(each, drawn ? { grid: GRID, units: true } : {});
    return performance.now() - from;
  };
}

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];
console.log('| network | what | limpid | TensorFlow Playground | ratio |\n|---|---|---|---|---|');
for (const hidden of [
  [4, 2],
  [8, 8, 8, 8, 8, 8],
])
  for (const [what, drawn, count, unit] of [
    ['steps a second, 1,000 in a request', false, 1000, 1],
    [`redraws a second: an epoch, both losses, every unit on ${GRID} x ${GRID} points`, true, 10 * EPOCH, EPOCH],
  ]) {
    const [a, b] = [ours(hidden), await theirs(hidden)];
    const rates = [[], []];
    for (let round = -1; round < ROUNDS; ++round) {
      const times = [await a(count, drawn), await b(count, drawn)];
      if (round >= 0) times.forEach((ms, i) => rates[i].push((1000 * count) / unit / ms));
    }
    const ratios = rates[0].map((r, i) => r / rates[1][i]);
    const [l, t, r] = [...rates, ratios].map(median);
    console.log(`| 2-${hidden.join('-')} | ${what} | ${l.toFixed(0)} | ${t.toFixed(0)} | ${r.toFixed(2)} (${ratios[0].toFixed(2)} to ${ratios.at(-1).toFixed(2)}) |`);
  }
await browser.close();
await server.stop();
