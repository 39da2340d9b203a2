// The page's pure functions, without a browser: what a drawing becomes, what a fold shows, what an address says.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { paths, skip, until as tried, web, work } from './browser.mjs';

if (!existsSync(join(web, 'node_modules/vite'))) skip('no vite: ./dev build installs it where npm is');
const { build } = await import(pathToFileURL(join(web, 'node_modules/vite/dist/node/index.js')));
mkdirSync(work, { recursive: true });

// What the page's modules expect of a browser when they are loaded, and what a test sees of it.
const heard = {}; // listeners by event
const on = (kind, f) => (heard[kind] ??= []).push(f);
const off = (kind, f) => heard[kind].splice(heard[kind].indexOf(f), 1);
const fire = (kind) => [...(heard[kind] ?? [])].forEach((f) => f());
const moves = []; // of the browser's history
const moved = (how) => (state, title, fragment) => {
  moves.push(how);
  location.hash = fragment;
};
Object.assign(globalThis, { location: { hash: '', search: '?token=a%20secret' }, addEventListener: on, window: globalThis });
Object.assign(globalThis, { document: { hidden: false, documentElement: { dataset: {} }, addEventListener: on, removeEventListener: off } });
Object.assign(globalThis, { history: { pushState: moved('push'), replaceState: moved('replace') } });

// The modules in one file: they share the state of the page.
const MODULES = {
  ...{ numbers: 'engine/numbers', client: 'engine/client', centre: 'forward/centre', folds: 'graph/folds', chains: 'graph/chain' },
  ...{ palette: 'ui/palette', store: 'training/store', route: 'state/route', subject: 'state/subject', session: 'state/session' },
};
const entry = join(work, 'modules.js');
writeFileSync(entry, Object.entries(MODULES).map(([name, path]) => `export * as ${name} from ${JSON.stringify(join(web, 'src', `${path}.ts`))};\n`).join(''));
await build({
  configFile: false,
  logLevel: 'error',
  root: web,
  build: { lib: { entry, formats: ['es'], fileName: () => 'page.mjs' }, outDir: work, emptyOutDir: false, minify: false },
});
const { numbers, client, centre, folds, chains, palette, store, route, subject, session } = await import(pathToFileURL(join(work, 'page.mjs')));
const { digitOf } = centre;
const { chain } = chains;
const { magnitude, paint } = palette;

/** The page at an address. */
function at(fragment) {
  location.hash = fragment;
  fire('hashchange');
}
/** Runs with what the engine answers: a value, or a response. `asked` has the requests. */
async function withEngine(answer, run) {
  const { fetch } = globalThis;
  const asked = [];
  globalThis.fetch = async (path, { headers, body }) => {
    asked.push({ path, headers, body: typeof body === 'string' ? JSON.parse(body) : body });
    const given = await answer(path.replace('/api/', ''), asked.at(-1).body);
    return given instanceof Response ? given : Response.json(given);
  };
  try {
    return await run(asked);
  } finally {
    globalThis.fetch = fetch;
  }
}
/** Waits until it holds. */
const until = (check) => tried(() => assert.ok(check()));
const refusal = (message) => Response.json({ error: { code: 'format', message } }, { status: 400 });

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
  'of what is too long every second is kept, and the last': () => {
    const log = { run: 'r0', state: 'running', reset: true, steps: { step: [], epoch: [], loss: [], learning_rate: [], gradient_norm: [] }, epochs: [], samples: [], findings: [], end: null };
    const kept = (n) => store.merged({ id: 'r0' }, { ...log, probes: Array.from({ length: n }, (_, i) => ({ step: i })) }).probes.map((p) => p.step);
    assert.equal(kept(240).length, 240);
    assert.deepEqual(kept(242), [...Array.from({ length: 121 }, (_, i) => 2 * i), 241]);
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
    assert.deepEqual([999_999, 1e6, -1e6, 1e-4, 99_999.5].map((x) => numbers.brief(x)), ['999999', '1.00e+6', '−1.00e+6', '0.000100', '100000']);
    assert.deepEqual([[...numbers.elements({ values: [1, 'nan', '-inf'] })], numbers.elements({}).length], [[1, NaN, -Infinity], 0]);
    assert.deepEqual([...numbers.elements({ base64: Buffer.from(new Float32Array([0.1]).buffer).toString('base64') })], [Math.fround(0.1)]);
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
  'which model is shown, and which of the address are not open': () => {
    const [weights, first, second] = [{ id: 'm0', kind: 'tensors' }, { id: 'm1', kind: 'model' }, { id: 'm2', kind: 'model' }];
    const shows = (models, fragment, id) => {
      session.session.value = { models, runs: [] };
      at(fragment);
      assert.equal(session.model.value?.id, id, fragment);
    };
    shows([weights, first, second], '#/graph', 'm1');
    shows([weights, first, second], '#/graph?model=m2', 'm2');
    shows([weights, first, second], '#/graph?model=m0', 'm0');
    shows([weights, first, second], '#/graph?model=m9', 'm1');
    shows([weights], '#/graph', 'm0');
    shows([], '#/graph', undefined);
    // A choice is undone by Back; a link has the model, and the example where there is one.
    moves.length = 0;
    session.session.value = { models: [weights, first], runs: [] };
    at('#/forward?index=3&cell=a:1');
    assert.deepEqual(subject.subjectParams(), { model: 'm1', index: '3' });
    session.chooseModel('m0');
    assert.deepEqual([location.hash, moves], ['#/forward?index=3&cell=a:1&model=m0', ['push']]);
    session.session.value = { models: [], runs: [] };
    assert.deepEqual(subject.subjectParams(), { model: 'm0', index: '3' });
    session.session.value = { models: [weights, first], runs: [] };
    at('#/compare?model=m1&a=x1&b=x1');
    assert.deepEqual(session.missing.value, ['x1'], 'each once');
    at('#/compare?model=x0&a=x1&b=x2');
    assert.deepEqual(session.missing.value, ['x0', 'x1', 'x2']);
    session.session.value = undefined;
    assert.deepEqual(session.missing.value, [], 'nothing is known before there is a session');
  },
  'a choice is a step that Back undoes, a slider is none, and the same again changes nothing': () => {
    at('#/forward?model=m1&cell=a:1');
    moves.length = 0;
    const set = (patch, push) => (route.setParams(patch, push), location.hash);
    assert.equal(set({ cell: 'a:2' }, true), '#/forward?model=m1&cell=a:2');
    assert.equal(set({ cell: 'a:2' }, true), '#/forward?model=m1&cell=a:2');
    assert.deepEqual(moves, ['push'], 'one step');
    const shown = route.route.value;
    set({ model: 'm1', row: undefined });
    assert.equal(route.route.value, shown, 'nothing is drawn again');
    assert.equal(set({ all: '1', cell: '' }), '#/forward?model=m1&all=1');
    assert.equal(set({ all: undefined }), '#/forward?model=m1');
    assert.deepEqual(moves, ['push', 'replace', 'replace']);
    assert.deepEqual(route.route.value, { view: 'forward', params: { model: 'm1' } });
    location.hash = '#/lab?of=softmax';
    fire('popstate');
    assert.deepEqual(route.route.value, { view: 'lab', params: { of: 'softmax' } });
    route.go('graph', { model: 'm2' });
    assert.equal(location.hash, '#/graph?model=m2');
  },
  'the example of an address': () => {
    const info = { id: 'm0', kind: 'model', text: null, data: null, picture: null, inputs: [{ shape: [2, 2] }] };
    const spec = (more, query) => {
      session.session.value = { models: [{ ...info, ...more }], runs: [] };
      at(`#/forward?${query}`);
      return [subject.source.value, subject.inputSpec.value];
    };
    const data = { data: 'moons', picture: { width: 2, height: 2 } };
    assert.deepEqual([{ ...info, ...data }, { ...info, ...data, text: 'a' }, info].map(subject.sources), [['data', 'draw', 'numbers'], ['text', 'data', 'draw'], ['numbers']]);
    assert.deepEqual(spec(data, ''), ['data', { part: 'test', index: 0 }]);
    assert.deepEqual(spec(data, 'index=3.7&part=train'), ['data', { part: 'train', index: 3 }]);
    for (const index of ['-2', 'x', '-0.5']) assert.deepEqual(spec(data, `index=${index}`)[1], { part: 'test', index: 0 }, index);
    assert.deepEqual(spec(data, `from=draw&pixels=${subject.encodePixels([0, 4, 2], 4)}`), ['draw', { values: [0, 1, Math.fround(128 / 255), 0] }]);
    assert.deepEqual(spec(data, 'from=draw'), ['draw', { values: [0, 0, 0, 0] }]);
    assert.deepEqual(spec({}, 'from=draw&values=1,-inf,3'), ['numbers', { values: [1, '-inf', 3, 0] }], 'there is no picture');
    assert.deepEqual(spec(data, 'from=numbers&values=1,2,3,4,5'), ['numbers', { values: [1, 2, 3, 4] }]);
    const text = { text: 'once' };
    assert.deepEqual(spec(text, ''), ['text', { text: 'once' }]);
    assert.deepEqual(spec(text, 'text=a+b'), ['text', { text: 'a b' }]);
    assert.deepEqual(spec(text, 'text=a&tokens=3.0.12'), ['text', { tokens: [3, 0, 12] }]);
    for (const tokens of ['3.x', '3.-1', '1.5e-1']) assert.deepEqual(spec(text, `text=a&tokens=${tokens}`)[1], { text: 'a' }, tokens);
    // It is the same one until its contents, the model or the model's parameters change.
    const numbers = (query, more) => spec({ version: '1', ...more }, `from=numbers&values=${query}`)[1];
    const first = numbers('1,2');
    for (const query of ['1,2&cell=a:1', '1,2,0']) assert.equal(numbers(query), first, query);
    for (const other of [['1,3'], ['1,2', { id: 'm1' }], ['1,2', { version: '2' }]]) {
      const before = numbers('1,2');
      assert.notEqual(numbers(...other), before, String(other));
    }
    // Another text has no tokens of a generation.
    at('#/forward?text=a&tokens=1&drawn=3&query=2');
    subject.setText('b');
    assert.deepEqual(route.route.value.params, { text: 'b', query: '2', from: 'text' });
    // What is no edit is left out, and a list stays the same one until the edits change.
    const edits = [{ at: '%1', index: [0, -1], set: 0 }, { at: '%2', noise: { std: 1, seed: 0 } }, { at: '%3', patch: { index: 2 } }];
    const others = [null, 5, {}, { at: 3 }, { at: '%1', index: 3 }, { at: '%1', index: [0, 0.5] }, { at: '%1', noise: 3 }, { at: '%1', patch: null }];
    subject.setEdits([...others, ...edits]);
    assert.deepEqual(subject.edits.value, edits);
    const known = subject.edits.value;
    route.setParams({ cell: 'a:1' });
    assert.equal(subject.edits.value, known);
    for (const none of ['{"at":"%1"}', '[{', 'null']) {
      at(`#/whatif?edits=${none}`);
      assert.deepEqual(subject.edits.value, [], none);
    }
    moves.length = 0;
    subject.setEdits(edits);
    subject.setEdits([]);
    assert.deepEqual([location.hash, moves], ['#/whatif', ['push', 'push']]);
  },
  'what goes to the engine, and how it refuses': async () => {
    await withEngine(() => ({}), async (asked) => {
      await client.ask('close', { model: 'm1' });
      await client.openFile(new File(['abc'], 'a.onnx'));
      assert.deepEqual(asked.map((a) => a.path), ['/api/close', '/api/open?name=a.onnx']);
      assert.deepEqual(asked.map((a) => a.headers), ['application/json', 'application/octet-stream'].map((type) => ({ 'Content-Type': type, Authorization: 'Bearer a secret' })));
      assert.deepEqual([asked[0].body, await asked[1].body.text()], [{ model: 'm1' }, 'abc']);
    });
    for (const [response, code, message] of [
      [new Response('<html>', { status: 502 }), 'internal', 'Expected JSON from the engine, got something else with status 502.'],
      [Response.json({}, { status: 418 }), 'internal', 'The engine answered 418.'],
      [Response.json({ error: 'expected the token' }, { status: 403 }), 'internal', 'expected the token'],
      [refusal('It is no model.'), 'format', 'It is no model.'],
    ])
      await withEngine(() => response, () => assert.rejects(client.ask('session', {}), { code, message }));
    // A request that was given up says nothing of the engine.
    const control = new AbortController();
    control.abort();
    await withEngine(() => { throw new DOMException('given up', 'AbortError'); }, () => assert.rejects(client.ask('session', {}, control.signal), (e) => client.sentence(e) === undefined));
    assert.equal(client.reachable.value, true);
    assert.deepEqual([new Error('a'), 'b', new DOMException('c', 'SyntaxError')].map(client.sentence), ['a', 'b', 'c']);
    assert.equal(client.reportAddress('r0'), '/api/run/report?run=r0&token=a+secret');
  },
  'what opens, closes and fails': async () => {
    const m = (id, more) => ({ id, name: id, kind: 'model', ...more });
    const ids = () => session.models.value.map((one) => one.id);
    const told = () => session.notice.value;
    session.session.value = undefined;
    session.addModel(m('m0'));
    session.addRun({ id: 'r0', step: 1 });
    assert.equal(session.session.value, undefined);
    await withEngine(() => refusal('no'), session.loadSession);
    assert.deepEqual([session.sessionError.value, told()], ['no', undefined]);
    const here = { models: [m('m0'), m('m1')], runs: [{ id: 'r0', step: 1 }, { id: 'r1', step: 1 }], limits: { file: 10 } };
    await withEngine(() => here, session.loadSession);
    assert.deepEqual([session.sessionError.value, ids()], [undefined, ['m0', 'm1']]);
    await withEngine(() => refusal('later'), session.loadSession);
    assert.deepEqual([session.sessionError.value, ids(), told()], [undefined, ['m0', 'm1'], 'later']);
    session.addModel(m('m0', { name: 'again' }));
    assert.deepEqual(session.models.value.map((one) => one.name), ['m1', 'again']);
    session.addRun({ id: 'r0', step: 2 });
    session.addRun({ id: 'r2', step: 3 });
    assert.deepEqual(session.runs.value.map((r) => r.step), [2, 1, 3]);
    // Of several files each is tried.
    at('#/compare?a=m0&b=m1&what=runs');
    const files = [new File(['x'.repeat(11)], 'large.onnx'), new File(['x'], 'broken.onnx'), new File(['x'], 'good.onnx')];
    await withEngine((path) => (path.includes('broken') ? refusal('It is no model.') : m('m3', { name: 'good' })), async (asked) => {
      await session.openFiles(files);
      assert.deepEqual(asked.map((a) => a.path), ['/api/open?name=broken.onnx', '/api/open?name=good.onnx']);
    });
    assert.deepEqual([ids().at(-1), told(), location.hash], ['m3', 'Opened good.', '#/compare?a=m0&b=m3&model=m3']);
    const unreadable = { name: 'folder', size: 1, slice: () => ({ arrayBuffer: () => Promise.reject(new Error('NotReadable')) }) };
    await session.openFiles([unreadable]);
    assert.equal(told(), 'folder: it cannot be read: is it a folder?');
    await session.openFiles(files.slice(0, 1));
    assert.equal(told(), 'large.onnx: expected at most 10 B, got 11 B');
    for (const view of ['training', 'playground', 'lab', 'forward']) {
      at(`#/${view}?row=1`);
      await withEngine(() => m('m4'), () => session.openFiles(files.slice(1, 2)));
      assert.equal(location.hash, view === 'forward' ? '#/forward?row=1&model=m4' : '#/graph?model=m4', view);
    }
    // A model that cannot be closed is still there, and shown.
    at('#/graph?model=m4');
    await withEngine(() => refusal('It is in use.'), () => session.closeModel('m4'));
    assert.deepEqual([location.hash, told()], ['#/graph?model=m4', 'It is in use.']);
    // The model after a step of a run is computed again. Where that fails, and for other models, the address drops it.
    at('#/compare?model=r0@7&a=r0@7&b=m0');
    await withEngine((path) => (path === 'session' ? { ...here, models: [m('r0@7')] } : {}), async (asked) => {
      await session.reopen('r0@7');
      assert.deepEqual([asked[0].path, asked[0].body], ['/api/run/step', { run: 'r0', step: 7 }]);
    });
    assert.deepEqual([ids(), route.route.value.params.model], [['r0@7'], 'r0@7']);
    for (const [id, why] of [['m9', 'The model m9 of this link is not open here.'], ['r9@7', 'The model r9@7 of this link is not open here.'], ['r1@7', 'no such step']]) {
      at(`#/compare?model=${id}&a=m0&b=${id}`);
      await withEngine(() => refusal('no such step'), () => session.reopen(id));
      assert.deepEqual([told(), location.hash], [why, '#/compare?a=m0'], id);
    }
  },
  'a sentence is shown for its own seconds': () => {
    const { setTimeout, clearTimeout } = globalThis;
    const waiting = new Map();
    let last = 0;
    try {
      globalThis.setTimeout = (f) => (waiting.set(++last, f), last);
      globalThis.clearTimeout = (id) => waiting.delete(id);
      session.tell('one');
      session.tell(undefined);
      assert.equal(session.notice.value, 'one');
      session.tell('two');
      assert.equal(waiting.size, 1, 'the first one’s end is not the second one’s');
      waiting.get(last)();
      assert.equal(session.notice.value, undefined);
    } finally {
      Object.assign(globalThis, { setTimeout, clearTimeout });
    }
  },
  'logs of runs are read and followed, until another page is shown': async () => {
    const streams = [];
    globalThis.EventSource = class {
      constructor(address) {
        streams.push(Object.assign(this, { address, open: true }));
      }
      close() {
        this.open = false;
      }
    };
    const runs = ['running', 'stopped'].map((state, i) => ({ id: 'ab'[i], name: 'ab'[i], state, step: 0 }));
    session.session.value = { models: [], runs };
    const steps = (...step) => ({ step, epoch: step, loss: step, learning_rate: step, gradient_norm: step });
    const log = (run, state, ...step) => ({ run, cursor: 10 * step.length, state, reset: false, steps: steps(...step), epochs: [], probes: [], samples: [], findings: [], end: null });
    const state = (id) => session.runs.value.find((r) => r.id === id).state;
    const done = () => new Promise((resolve) => setTimeout(resolve));
    const answer = (path, { run }) => (path === 'session' ? { models: [{ id: 'a' }], runs } : run === 'b' ? refusal('It is no log.') : log('a', 'running', 1, 2));
    store.told({ ...runs[0], state: 'paused' });
    assert.deepEqual([state('a'), store.runData('a').value.state, store.runData('a').value.loaded], ['paused', 'elsewhere', false], 'its log is not known yet');
    await withEngine(answer, async (asked) => {
      const end = store.watch(['a', 'b']);
      await until(() => streams.length === 1);
      assert.deepEqual(asked.slice(0, 2).map((a) => a.body), ['a', 'b'].map((run) => ({ run, most: 2000 })));
      assert.equal(streams[0].address, '/api/run/events?runs=a%3A20&token=a+secret', 'from where its log was read to');
      const [a, b] = ['a', 'b'].map((id) => store.runData(id));
      assert.deepEqual([a.value.steps.step, a.value.state, state('a')], [[1, 2], 'running', 'running']);
      assert.deepEqual([b.value.error, b.value.loaded, b.value.state], ['It is no log.', true, 'stopped']);
      const said = (text) => streams.at(-1).onmessage({ data: JSON.stringify(text) });
      const known = session.runs.value;
      said(log('a', 'running', 3));
      assert.deepEqual(a.value.steps.step, [1, 2, 3]);
      assert.equal(session.runs.value, known, 'of the run nothing is new');
      store.told({ ...runs[0], state: 'paused' });
      assert.deepEqual([a.value.state, state('a')], ['paused', 'paused']);
      // At its end it has a model.
      const before = asked.length;
      said(log('a', 'paused', 4));
      assert.equal(asked.length, before);
      said(log('a', 'finished', 5));
      assert.deepEqual([state('a'), session.runs.value[0].step, asked.at(-1).path], ['finished', 5, '/api/session']);
      await until(() => session.models.value.length === 1);
      // What comes too late changes nothing.
      end();
      assert.equal(streams[0].open, false);
      said(log('a', 'running', 6));
      assert.deepEqual(a.value.steps.step, [1, 2, 3, 4, 5]);
    });
    let give;
    await withEngine(() => new Promise((resolve) => (give = resolve)), async () => {
      for (const late of [log('a', 'running', 9), refusal('too late')]) {
        store.watch(['a'])();
        give(late);
        await done();
        await done();
      }
    });
    assert.deepEqual([store.runData('a').value.steps.step, store.runData('a').value.error, streams.length], [[1, 2, 3, 4, 5], undefined, 1]);
    assert.deepEqual(heard.visibilitychange, []);
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
    // Ink of 20 by 20 is moved, and nothing else, from wherever it is.
    const level = (x, y) => Math.fround(((7 * x + 3 * y) % 40) + 200) / 255;
    for (const [left, top] of [[0, 0], [204, 0], [0, 204], [204, 204], [77, 31]]) {
      const block = new Float32Array(size * size);
      for (let y = 0; y < 20; ++y) for (let x = 0; x < 20; ++x) block[(top + y) * size + left + x] = level(x, y);
      const moved = [...Array(28).keys()].map((r) => [...digitOf(block, size, size, 28, 28, true).subarray(28 * r, 28 * r + 28)].slice(4, 24)).slice(4, 24);
      assert.deepEqual(moved, [...Array(20).keys()].map((y) => [...Array(20).keys()].map((x) => Math.fround(level(x, y)))), `from ${left}, ${top}`);
    }
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
  'groups in groups: what is open, what a closed one stands for, and names that come twice': () => {
    // x into an op; block 0 with layer "a" of two ops, an op of its own and a second layer "a" of 130 ops; its result goes out.
    const n = 134;
    const group = [-1, 1, 1, 0, ...Array(130).fill(2)];
    const graph = {
      name: 'nested',
      values: {
        name: ['%x', '%w', ...Array.from({ length: n }, (_, i) => `%${i}`)],
        dtype: [...Array(n + 1).fill('f32'), 'i32'],
        shape: [[4], [4, 3], ...Array(n - 1).fill([4]), []],
        kind: ['input', 'parameter', ...Array(n).fill('result')],
        node: [-1, -1, ...Array(n).keys()],
      },
      nodes: {
        op: ['relu', 'matmul', ...Array(n - 2).fill('add')],
        note: ['', 'axis = 1', ...Array(n - 2).fill('')],
        group,
        inputs: Array.from({ length: n }, (_, i) => (i === 1 ? [i + 1, 1] : [i ? i + 1 : 0])),
        outputs: Array.from({ length: n }, (_, i) => [i + 2]),
        parameters: Array.from({ length: n }, (_, i) => (i === 1 ? 12 : i > 3 ? 100 : 0)),
        multiply_adds: Array(n).fill(0),
        body: Array(n).fill(false),
      },
      groups: { name: ['block', 'a', 'a', ''], parent: [-1, 0, 0, -1], kind: ['block', 'layer', 'layer', 'repeat'], nodes: [133, 2, 130, 1], parameters: [13_012, 12, 13_000, 0] },
      edges: [[-1, 0, 0], ...Array.from({ length: n - 1 }, (_, i) => [i, i + 1, i + 2]), [-2, 1, 1]],
      outputs: [{ name: '', value: n + 1 }, { name: 'same', value: 0 }],
    };
    const tree = folds.treeOf(graph);
    assert.deepEqual(tree.groups.slice(0, 4).map((g) => [g.key, g.name, g.kind]), [['block', 'block', 'block'], ['a', 'a', 'layer'], ['a~1', 'a', 'layer'], ['group 3', 'group 3', 'repeat']]);
    assert.deepEqual([tree.top, tree.groups[0].groups, tree.groups[0].ops, tree.groups[1].ops, tree.groups[2].ops], [{ groups: [0, 3], ops: [0] }, [1, 2], [3], [1, 2], []]);
    // The second layer has more ops than one can look at: parts of twelve, as many as the root of 130 says.
    const parts = tree.groups.slice(4);
    assert.deepEqual(parts.map((g) => g.all), [...Array(10).fill(12), 10]);
    assert.deepEqual([parts[0].key, parts[0].name, parts[0].kind, parts[0].parent, parts[0].parameters], ['a~1/4', 'ops 4–15', 'part', 2, 1200]);
    assert.deepEqual([folds.around(tree, 0), folds.around(tree, 1), folds.around(tree, 4), folds.around(tree, 133)], [[], [0, 1], [0, 2, 4], [0, 2, 14]]);
    const shown = (...open) => {
      const { boxes, edges } = folds.shown(tree, new Set(open));
      return [boxes.map((b) => `${b.id} ${b.kind}${b.parent ? ` in ${b.parent}` : ''}`), edges.map((e) => `${e.from} ${e.to}`)];
    };
    const ends = ['v0 input', 'o0 output', 'o1 output'];
    assert.deepEqual(shown(), [['g0 group', 'g3 group', 'n0 op', ...ends], ['v0 n0', 'n0 g0', 'g0 o0', 'v0 o1']]);
    // An open group in a closed one does not show.
    assert.deepEqual(shown('a', 'a~1/4'), shown());
    assert.deepEqual(shown('block'), [
      ['g0 open', 'g1 group in g0', 'g2 group in g0', 'n3 op in g0', 'g3 group', 'n0 op', ...ends],
      ['v0 n0', 'n0 g1', 'g1 n3', 'n3 g2', 'g2 o0', 'v0 o1'],
    ]);
    assert.deepEqual(shown('block', 'a'), [
      ['g0 open', 'g1 open in g0', 'n1 op in g1', 'n2 op in g1', 'g2 group in g0', 'n3 op in g0', 'g3 group', 'n0 op', ...ends],
      ['v0 n0', 'n0 n1', 'n1 n2', 'n2 n3', 'n3 g2', 'g2 o0', 'v0 o1'],
    ]);
    const { boxes, edges } = folds.shown(tree, new Set(['block', 'a', 'a~1']));
    const about = (id) => Object.values(boxes.find((b) => b.id === id)).slice(2, 4);
    assert.deepEqual(['g0', 'g1', 'g3', 'g4', 'n1', 'v0', 'o0', 'o1'].map(about), [
      ...[['block', '133 ops · 13 k parameters'], ['a', '2 ops · 12 parameters'], ['group 3', '1 op'], ['ops 4–15', '12 ops · 1,200 parameters']],
      ...[['matmul', 'axis = 1'], ['%x', 'f32 4'], ['output', 'i32 scalar'], ['same', 'f32 4']],
    ]);
    assert.deepEqual([edges.find((e) => e.to === 'g5').from, edges.find((e) => e.to === 'o0')], ['g4', { from: 'g14', to: 'o0', label: 'scalar' }]);
    assert.deepEqual(folds.find(tree, 'a').map((f) => f.id).slice(0, 5), ['g1', 'g2', 'n1', 'n2', 'n3']);
    assert.deepEqual([folds.find(tree, 'a').length, folds.find(tree, 'a', 1).length, folds.find(tree, 'a', 2).length, folds.find(tree, 'ADD', 3).length], [50, 1, 2, 3]);
    assert.deepEqual([folds.find(tree, 'block'), folds.find(tree, '%0')], [[{ id: 'g0', title: 'block', detail: '133 ops' }], [{ id: 'n0', title: 'relu', detail: '%0' }]]);
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
      [[0, 2], [0, 1], [1, 2], [2, 3]], // one that goes past a box
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
    assert.equal(chain({ boxes: parents('outer', undefined, 'inner', 'inner'), edges: line }), undefined, 'an open box that is left and entered again');
  },
});
process.exit(failed ? 1 : 0);
