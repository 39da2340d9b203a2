// The page's pure functions, without a browser: what a drawing becomes, what a fold shows, what an address says.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { paths, skip, web, work } from './browser.mjs';

if (!existsSync(join(web, 'node_modules/vite'))) skip('no vite: ./dev build installs it where npm is');
const { build } = await import(pathToFileURL(join(web, 'node_modules/vite/dist/node/index.js')));
mkdirSync(work, { recursive: true });
/** A module of the page, compiled by itself. */
async function module(path) {
  const name = path.replaceAll('/', '-');
  await build({
    configFile: false,
    logLevel: 'error',
    root: web,
    build: { lib: { entry: join(web, 'src', `${path}.ts`), formats: ['es'], fileName: name }, outDir: work, emptyOutDir: false, minify: false },
  });
  return import(pathToFileURL(join(work, existsSync(join(work, `${name}.js`)) ? `${name}.js` : `${name}.mjs`)));
}
const numbers = await module('engine/numbers');
const { digitOf } = await module('forward/centre');
const folds = await module('graph/folds');
const { chain } = await module('graph/chain');
const { magnitude, paint } = await module('ui/palette');

// What a page's module expects of a browser when it is loaded.
Object.assign(globalThis, { location: { hash: '', search: '' }, addEventListener: () => {} });
Object.assign(globalThis, { document: { hidden: false, documentElement: { dataset: {} } } });
const store = await module('training/store');
const route = await module('state/route');
const subject = await module('state/subject');
const session = await module('state/session');
const client = await module('engine/client');

const failed = await paths({
  'a long training stays bounded, and its extremes stay in sight': () => {
    let data = {
      id: 'r0', state: 'running', begun: undefined, total: 0, epochs: [], probes: [], samples: [], findings: [], end: undefined, loaded: true,
      steps: { step: [], epoch: [], loss: [], learning_rate: [], gradient_norm: [] },
    };
    let step = 0;
    for (let delta = 0; delta < 2000; ++delta) {
      const steps = { step: [], epoch: [], loss: [], learning_rate: [], gradient_norm: [] };
      for (let i = 0; i < 200; ++i) {
        ++step;
        steps.step.push(step);
        steps.epoch.push(1);
        steps.loss.push(step === 123_457 ? 99 : 1 / step);
        steps.learning_rate.push(0.1);
        steps.gradient_norm.push(1);
      }
      const log = { run: 'r0', cursor: delta, state: 'running', reset: false, steps, thinned: false, total_steps: 200, epochs: [], findings: [], end: null };
      data = store.merged(data, { ...log, probes: [{ step, layers: [] }], samples: [{ step, text: 'a' }] });
    }
    assert.ok(data.steps.step.length <= 6000, `${data.steps.step.length} steps`);
    assert.ok(data.probes.length <= 240 && data.samples.length <= 60);
    assert.deepEqual([data.probes.at(-1).step, data.samples.at(-1).step], [400_000, 400_000], 'the latest of them are shown');
    assert.equal(data.total, 400_000);
    assert.equal(data.steps.step.at(-1), 400_000);
    assert.ok(data.steps.loss.includes(99), 'the one great loss is still there');
    assert.deepEqual(data.steps.step, data.steps.step.slice().sort((a, b) => a - b));
  },
  'a NaN of a long training stays in sight, and what is beside it': () => {
    const kept = (...loss) => store.thinned({ step: loss.map((_, i) => i), epoch: loss, loss, learning_rate: loss, gradient_norm: loss }).step;
    assert.deepEqual(kept(2, 2, 2, NaN, 2, 1, 2, 2), [0, 3, 5, 7]);
    assert.deepEqual(kept(NaN, 2, 2, 2, 2, 1, 2, 2), [0, 5, 7]);
  },
  'the steps of a run are those done, though the log has some of them': () => {
    const steps = { step: [1, 4688], epoch: [1, 10], loss: [2, 1], learning_rate: [0.1, 0], gradient_norm: [1, 1] };
    const log = { run: 'r0', cursor: 1, state: 'running', reset: true, steps, thinned: false, total_steps: 2, epochs: [], probes: [], samples: [], findings: [], end: null };
    const before = store.merged({ id: 'r0' }, log);
    assert.equal(before.total, 4688);
    const epoch = { epoch: 10, step: 4690, train: { loss: 1 }, validation: {} };
    assert.equal(store.merged(before, { ...log, reset: false, epochs: [epoch] }).total, 4690);
    const end = { event: 'end', reason: 'interrupted', step: 4689 };
    assert.equal(store.merged(before, { ...log, state: 'stopped', reset: false, end }).total, 4689);
  },
  'what a resumed run does again takes the place of what it did': () => {
    const part = (...steps) => ({ step: steps, epoch: steps.map(() => 1), loss: steps.map((s) => 10 * s), learning_rate: steps.map((s) => s / 8), gradient_norm: steps.map((s) => -s) });
    const log = { run: 'r0', cursor: 1, state: 'running', reset: true, steps: part(1, 2, 3, 4), thinned: false, total_steps: 4, epochs: [{ epoch: 1, step: 2 }, { epoch: 2, step: 4 }], probes: [], samples: [], end: null };
    const found = { rule: 'overfitting', layer: '', step: 3 };
    const before = store.merged({ id: 'r0' }, { ...log, findings: [found] });
    const again = { ...part(3, 4, 5), loss: [7, 8, 9] };
    const after = store.merged(before, { ...log, reset: false, steps: again, epochs: [{ epoch: 2, step: 4, best: true }], findings: [found, { ...found, step: 5 }] });
    assert.deepEqual(after.steps, { step: [1, 2, 3, 4, 5], epoch: Array(5).fill(1), loss: [10, 20, 7, 8, 9], learning_rate: [1, 2, 3, 4, 5].map((s) => s / 8), gradient_norm: [-1, -2, -3, -4, -5] });
    assert.deepEqual(after.epochs, [{ epoch: 1, step: 2 }, { epoch: 2, step: 4, best: true }]);
    const longer = store.merged(after, { ...log, reset: false, steps: part(), epochs: [{ epoch: 2, step: 5 }], findings: [] });
    assert.deepEqual(longer.epochs.map((e) => e.step), [2, 4, 5]);
    assert.deepEqual(after.findings.map((f) => f.step), [3, 5]);
    const second = { ...found, layer: 'layers.1' };
    assert.deepEqual(store.merged(after, { ...log, reset: false, steps: part(), findings: [second] }).findings.at(-1), second);
    // Its end is none as long as it goes on.
    const ended = store.merged(after, { ...log, reset: false, steps: part(), epochs: [], findings: [], state: 'stopped', end: { event: 'end', reason: 'interrupted', step: 5 } });
    assert.equal(ended.end.reason, 'interrupted');
    assert.equal(store.merged(ended, { ...log, reset: false, steps: part(6), epochs: [], findings: [] }).end, undefined);
    assert.deepEqual(before.steps.step, [1, 2, 3, 4], 'what was known is another value');
  },
  'numbers are shown as the tool shows them': () => {
    const cases = [
      [0.1, '0.1'],
      [1.2327874e-5, '1.2327874e-05'],
      [-3e-7, '-3e-07'],
      [1e-4, '0.0001'],
      [123456789, '123456789'],
      [1e300, '1e+300'],
      ['nan', 'nan'],
      ['-inf', '-inf'],
      [0, '0'],
      [-0, '-0'],
    ];
    for (const [x, text] of cases) assert.equal(numbers.exact(x), text);
    assert.deepEqual([0, 1, -2.5, 0.00001, 1234567, 'inf', '-inf', -Infinity, 'nan', 0.3333333].map((x) => numbers.brief(x)), ['0', '1', '−2.500', '1.00e−5', '1.23e+6', '∞', '−∞', '−∞', 'nan', '0.3333']);
    const f32 = (x) => numbers.exact(numbers.shortest(Math.fround(x)));
    for (const x of [0.1, -2.5, 1e-7, 0.007841861, 16777216, 123.456, 0, NaN, Infinity]) assert.equal(Math.fround(Number(numbers.shortest(Math.fround(x)))), Math.fround(x));
    assert.deepEqual([0.1, 1 / 3, 24 / 255].map(f32), ['0.1', '0.33333334', '0.09411765']);
    assert.deepEqual([NaN, Infinity, -Infinity].map(numbers.exact), ['nan', 'inf', '-inf']);
    assert.deepEqual(['9007199254740993', '-9007199254740993', '9007199254740991', '-1', '1e300', '0.1', 'moons', ''].map(numbers.isRounded), [true, true, false, false, false, false, false, false]);
    assert.deepEqual(['f32', 'f64', 'bf16', undefined].map((dtype) => numbers.rounded(0.1, dtype)), [Math.fround(0.1), 0.1, 0.1, 0.1]);
    assert.deepEqual([...numbers.decodeF32(Buffer.from(new Float32Array([1, -0.5]).buffer).toString('base64'))], [1, -0.5]);
  },
  'sizes, shares, shapes and tokens': () => {
    assert.deepEqual([0, 9999, 10_000, 12_345, 990_000, 1_000_000, 25_800_000, 3e9, 7.5e12].map(numbers.short), ['0', '9,999', '10 k', '12 k', '990 k', '1.0 M', '26 M', '3.0 G', '7.5 T']);
    assert.deepEqual([0, 1023, 1024, 1536, 103_272, 10 * 1024 ** 2, 1.5 * 1024 ** 3, 2048 * 1024 ** 4].map(numbers.bytes), ['0 B', '1023 B', '1.0 KiB', '1.5 KiB', '101 KiB', '10 MiB', '1.5 GiB', '2048 TiB']);
    assert.deepEqual([numbers.percent(0.12345), numbers.percent(1, 0), numbers.percent('nan'), numbers.percent(0.98765, 2)], ['12.3\u202f%', '100\u202f%', 'NaN\u202f%', '98.77\u202f%']);
    assert.deepEqual([numbers.shapeText([]), numbers.shapeText([3]), numbers.shapeText([256, 784])], ['scalar', '3', '256 × 784']);
    assert.deepEqual(['a b', '\n', '\t', ''].map(numbers.visible), ['a\u2423b', '\u21b5', '\u21e5', '\u2205']);
  },
  'colours are of the finite numbers, whatever stands beside them': () => {
    const values = [2, -4, 0, NaN, Infinity, -Infinity];
    assert.equal(magnitude(values), 4);
    assert.deepEqual([magnitude([]), magnitude([NaN, Infinity])], [0, 0]);
    const colours = (list) => {
      const pixels = new Uint32Array(list.length);
      paint(list, magnitude(values), 'light', pixels);
      return [...pixels];
    };
    const [half, least, zero, nan, most, infinite] = colours(values);
    assert.equal(new Set([half, least, zero, nan, most]).size, 5);
    assert.deepEqual([most, infinite], colours([4, -4]), 'infinities are as far as the farthest');
    const alone = new Uint32Array(3);
    paint([Infinity, 0, -Infinity], 0, 'light', alone);
    assert.deepEqual([...alone], [most, zero, infinite], 'beside zeros alone, too');
  },
  'models of one name are told apart': () => {
    session.session.value = { models: [{ id: 'm0', name: 'a' }, { id: 'm1', name: 'b' }, { id: 'm2', name: 'a' }], runs: [{ id: 'r0', name: 'x', path: '1/x' }, { id: 'r1', name: 'x', path: '2/x' }] };
    assert.deepEqual(session.models.value.map(session.modelTitle), ['a (m0)', 'b', 'a (m2)']);
    assert.deepEqual(session.runs.value.map(session.runTitle), ['x (1/x)', 'x (2/x)']);
  },
  'requests to an engine that is gone, and that is there again': async () => {
    const { fetch } = globalThis;
    try {
      globalThis.fetch = () => Promise.reject(new TypeError('no connection'));
      await assert.rejects(client.ask('session', {}), (e) => e.code === 'offline' && /does not answer/.test(e.message));
      assert.equal(client.reachable.value, false);
      const sent = [];
      globalThis.fetch = async (path) => {
        sent.push(path);
        return new Response('{"error": {"code": "format", "message": "It is no model."}}', { status: 400 });
      };
      await assert.rejects(client.openFile(new File(['abc'], 'a&b=50% ü.onnx')), (e) => e.code === 'format' && e.message === 'It is no model.');
      assert.equal(client.reachable.value, true);
      assert.equal(new URL(sent[0], 'http://here').searchParams.get('name'), 'a&b=50% ü.onnx');
    } finally {
      globalThis.fetch = fetch;
    }
  },
  'an address says what it was made of': () => {
    const params = { model: 'r0@7', cell: 'layers.1:5', open: 'a|b/c', text: 'a & b = ü?#%\n', values: '1,-2.5', none: '' };
    const made = route.formatRoute({ view: 'forward', params });
    const { none, ...rest } = params;
    assert.deepEqual(route.parseRoute(made), { view: 'forward', params: rest });
    assert.match(made, /^#\/forward\?model=r0%407&cell=layers\.1:5&open=a\|b\/c&text=\S+&values=1,-2\.5$/);
    assert.deepEqual(route.parseRoute('#/lab'), { view: 'lab', params: {} });
    assert.equal(route.formatRoute({ view: 'lab', params: {} }), '#/lab');
  },
  'a drawing in an address comes back, cut or not': () => {
    const pixels = Float32Array.from({ length: 784 }, (_, i) => Math.fround((i % 256) / 255));
    const text = subject.encodePixels(pixels, 1);
    assert.match(text, /^[\w-]+$/);
    assert.deepEqual(subject.decodePixels(text, 784), [...pixels]);
    assert.deepEqual(subject.decodePixels(text.slice(0, 8), 8), [...pixels.slice(0, 6), 0, 0]);
    assert.deepEqual(subject.decodePixels('no base64!', 2), [0, 0]);
  },
  'typed numbers, and words that are none': () => {
    assert.deepEqual(subject.parseNumbers('1, -2.5;inf -Infinity nan'), [1, -2.5, 'inf', '-inf', 'nan']);
    assert.equal(subject.notANumber('1, inf, NaN, 2e3'), undefined);
    assert.equal(subject.notANumber('1, two, 3'), 'two');
  },
  'a drawing is centred as MNIST does it': () => {
    const size = 224;
    const ink = new Float32Array(size * size);
    for (let y = 20; y < 100; ++y) for (let x = 150; x < 170; ++x) ink[y * size + x] = 1; // a bar at the upper right, 20 by 80
    const digit = digitOf(ink, size, size, 28, 28, true);
    const rows = [...Array(28).keys()].filter((r) => digit.subarray(r * 28, (r + 1) * 28).some((v) => v > 0));
    const columns = [...Array(28).keys()].filter((c) => [...Array(28).keys()].some((r) => digit[r * 28 + c] > 0));
    assert.deepEqual([rows[0], rows.at(-1)], [4, 23], 'its height is 20, in the middle');
    assert.deepEqual([columns[0], columns.at(-1)], [12, 16], 'its width is a quarter, in the middle');
    assert.equal(Math.max(...digit), 1);
    const raw = digitOf(ink, size, size, 28, 28, false);
    assert.equal(raw[5 * 28 + 19], 1, 'as drawn: it stays where it is');
    assert.equal(raw[14 * 28 + 14], 0);
    assert.deepEqual([...digitOf(new Float32Array(size * size), size, size, 28, 28, true)], Array(784).fill(0), 'no ink');
    for (const v of digit) assert.equal(Math.fround(Math.round(v * 255) / 255), v, 'bytes, as data sets have them');
  },
  'ten thousand ops are folded, and unfold by parts': () => {
    const n = 10_000;
    const graph = {
      name: 'long',
      values: {
        name: Array.from({ length: n + 1 }, (_, i) => (i ? `%${i - 1}` : '%x')),
        dtype: Array(n + 1).fill('f32'),
        shape: Array(n + 1).fill([4]),
        kind: ['input', ...Array(n).fill('result')],
        node: Array.from({ length: n + 1 }, (_, i) => i - 1),
      },
      nodes: {
        op: Array(n).fill('relu'),
        note: Array(n).fill(''),
        group: Array(n).fill(-1),
        inputs: Array.from({ length: n }, (_, i) => [i]),
        outputs: Array.from({ length: n }, (_, i) => [i + 1]),
        parameters: Array(n).fill(0),
        multiply_adds: Array(n).fill(4),
        body: Array(n).fill(false),
      },
      groups: { name: [], parent: [], kind: [], nodes: [], parameters: [] },
      edges: Array.from({ length: n }, (_, i) => [i ? i - 1 : -1, i, i]),
      outputs: [{ name: 'y', value: n }],
    };
    const tree = folds.treeOf(graph);
    const folded = folds.shown(tree, new Set());
    assert.equal(folded.boxes.length, 102);
    assert.equal(folded.edges.length, 101);
    const first = tree.groups[0];
    const open = folds.shown(tree, new Set([first.key]));
    assert.equal(open.boxes.length, 202);
    assert.ok(open.boxes.some((b) => b.id === 'n99' && b.parent === 'g0'));
    assert.deepEqual(folds.around(tree, 9_999), [99]);
    assert.equal(folds.find(tree, '%9998')[0].id, 'n9998');
  },
  'what an edge and a search say of values': () => {
    // x and the parameter Wq go into two ops, of which the second takes both results of the first.
    const graph = {
      name: 'two',
      values: {
        name: ['%x', '%Wq', '%0', '%1', '%2'],
        dtype: Array(5).fill('f32'),
        shape: [[4], [4, 3], [4], [2], [4]],
        kind: ['input', 'parameter', 'result', 'result', 'result'],
        node: [-1, -1, 0, 0, 1],
      },
      nodes: { op: ['Split', 'add'], note: ['', ''], group: [-1, -1], inputs: [[0, 1], [2, 3]], outputs: [[2, 3], [4]], parameters: [12, 0], multiply_adds: [0, 0], body: [false, false] },
      groups: { name: [], parent: [], kind: [], nodes: [], parameters: [] },
      edges: [[-1, 0, 0], [-2, 0, 1], [0, 1, 2], [0, 1, 3]],
      outputs: [{ name: '', value: 4 }],
    };
    const tree = folds.treeOf(graph);
    assert.deepEqual(folds.shown(tree, new Set()).edges, [
      { from: 'v0', to: 'n0', label: '4' },
      { from: 'n0', to: 'n1', label: '4 and 1 more' },
      { from: 'n1', to: 'o0', label: '4' },
    ]);
    for (const text of ['Wq', 'wq', ' WQ ']) assert.deepEqual(folds.find(tree, text), [{ id: 'n0', title: 'Split', detail: '%Wq' }]);
    assert.deepEqual(folds.find(tree, 'SPLIT').map((f) => f.id), ['n0']);
    assert.deepEqual([folds.find(tree, ''), folds.find(tree, 'none')], [[], []]);
  },
  'a chain is laid out as dagre does it, and nothing else is taken for one': async () => {
    const { Graph, layout } = await import(pathToFileURL(join(web, 'node_modules/@dagrejs/dagre/dist/dagre.esm.js')));
    const boxes = [30, 50, 34, 50].map((height, i) => ({ id: `b${i}`, width: 100 + 20 * (i % 3), height }));
    const edges = [
      [2, 0],
      [1, 2],
      [0, 3],
    ].map(([from, to]) => ({ from: `b${from}`, to: `b${to}`, width: 40 }));
    const g = new Graph({ multigraph: true });
    g.setGraph({ rankdir: 'TB', nodesep: 28, ranksep: 46, edgesep: 14, marginx: 16, marginy: 16 });
    for (const { id, ...size } of boxes) g.setNode(id, { ...size });
    edges.forEach((e, i) => g.setEdge(e.from, e.to, { width: e.width, height: 16, labelpos: 'c' }, String(i)));
    layout(g);
    const made = chain({ boxes, edges });
    assert.deepEqual(
      made.boxes,
      boxes.map(({ id, width, height }) => ({ id, x: g.node(id).x - width / 2, y: g.node(id).y - height / 2, width, height })),
    );
    assert.deepEqual(made.edges.map(({ x, y }) => [x, y]), edges.map((e, i) => [g.edge(e.from, e.to, String(i)).x, g.edge(e.from, e.to, String(i)).y]));
    assert.deepEqual([made.width, made.height], [g.graph().width, g.graph().height]);
    const others = [
      [[0, 1], [0, 2], [2, 3]], // two leave a box
      [[0, 1], [2, 1], [1, 3]], // two enter one
      [[0, 1], [1, 0], [2, 3]], // a ring beside a chain
      [[0, 1], [1, 2]], // two parts
    ];
    for (const other of others) assert.equal(chain({ boxes, edges: other.map(([from, to]) => ({ from: `b${from}`, to: `b${to}`, width: 40 })) }), undefined);
    // An open box with one inside it, of the chain 2, 0, 1, 3.
    const parents = (...of) => [{ id: 'outer', width: 10, height: 10 }, { id: 'inner', width: 10, height: 10, parent: 'outer' }, ...boxes.map((b, i) => (of[i] ? { ...b, parent: of[i] } : b))];
    const line = [[2, 0], [0, 1], [1, 3]].map(([from, to]) => ({ from: `b${from}`, to: `b${to}`, width: 40 }));
    const nested = chain({ boxes: parents('outer', 'inner', undefined, 'inner'), edges: line });
    const place = Object.fromEntries(nested.boxes.map((b) => [b.id, b]));
    const within = (a, b) => assert.ok(place[a].x > place[b].x && place[a].y > place[b].y && place[a].x + place[a].width < place[b].x + place[b].width && place[a].y + place[a].height < place[b].y + place[b].height, `${a} in ${b}`);
    for (const [a, b] of [['b0', 'outer'], ['inner', 'outer'], ['b1', 'inner'], ['b3', 'inner']]) within(a, b);
    assert.ok(place.b2.y + place.b2.height < place.outer.y && place.b0.y + place.b0.height < place.inner.y);
    assert.equal(nested.height, place.outer.y + place.outer.height + 16);
    assert.equal(chain({ boxes: parents('outer', undefined, 'inner', 'inner'), edges: line }), undefined, 'an open box that is left and entered again');
  },
});
process.exit(failed ? 1 : 0);
