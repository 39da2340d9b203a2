// A model on the page: its graph, forward passes, edits, gradients, a wrong file, a planted bit. The numbers must be the tool's.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { begin, hold, limpid, limpidJson, pageOf, paths, until, view, wordsOf, work, writeDigits } from './browser.mjs';

const browser = await begin();
writeDigits(join(work, 'signs'));
limpid('train', '--data', 'idx:signs', '--layers', '784,32,16,10', '--steps', '60', '--out', 'digits');

// A table, whose features and classes have names.
const TABLE = Array.from({ length: 80 }, (_, i) => [Math.sin(i), Math.cos(1.7 * i), Math.sin(i) > 0.2 ? 'up' : 'down']);
writeFileSync(join(work, 'table.csv'), `width,length,kind\n${TABLE.map((r) => r.join()).join('\n')}\n`);
limpid('train', '--data', 'csv:table.csv,target=kind', '--steps', '20', '--out', 'table');

// The same model with one bit of one weight changed.
const bytes = readFileSync(join(work, 'digits/model.safetensors'));
const header = JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE())));
const PLANTED = { name: 'layers.1.weight', index: [3, 7], bit: 5 };
const place = 8 + Number(bytes.readBigUInt64LE()) + header[PLANTED.name].data_offsets[0] + 4 * (PLANTED.index[0] * 32 + PLANTED.index[1]);
/** A parameter's elements. */
const elementsOf = (name) => new Float32Array(bytes.buffer.slice(bytes.byteOffset + 8 + Number(bytes.readBigUInt64LE()) + header[name].data_offsets[0], bytes.byteOffset + 8 + Number(bytes.readBigUInt64LE()) + header[name].data_offsets[1]));
const WEIGHT = elementsOf(PLANTED.name); // 16 rows of 32
bytes.writeUInt32LE((bytes.readUInt32LE(place) ^ (1 << PLANTED.bit)) >>> 0, place);
writeFileSync(join(work, 'planted.safetensors'), bytes);

const server = await view('digits/model.safetensors', 'table', 'planted.safetensors', '--data', 'idx:signs');
const page = await pageOf(browser, server.address);
const DATA = ['--data', 'idx:signs', '--index', '3'];

/** What a heat map or bar says in full. */
const probabilities = () => page.locator('.answer [data-probability]').evaluateAll((all) => all.map((e) => Number(e.dataset.probability)));
const answerIs = (expected) => until(async () => assert.deepEqual(await probabilities(), expected), 'the probabilities');

/** Chooses an element of a value that is shown. */
async function pick(value, element) {
  await page.locator(`[data-value="${value}"] .heat-root`).focus();
  for (let i = 0; i <= element; ++i) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Edit', exact: true }).waitFor();
}
const param = (name) => new URLSearchParams(page.url().split('?').at(-1)).get(name);
/** The bytes of the drawing that the address has, as rows of 28. */
const drawing = () => [...Array(28).keys()].map((r) => [...Buffer.from(param('pixels'), 'base64url')].slice(28 * r, 28 * r + 28));
const logits = () => page.locator('.answer [data-logit]').evaluateAll((all) => all.map((e) => Number(e.dataset.logit)));
const logitsOf = (values) => limpidJson('run', 'digits', '--values', values.join(',')).logits;
/** The mark of a heat map after some keys: what its label says last. */
async function marked(map, ...keys) {
  await map.focus();
  for (const key of keys) await page.keyboard.press(key);
  return (await map.getAttribute('aria-label')).split(': ').at(-1);
}
/** A file of a Function as text with one parameter, opened on the page. */
async function open(name, text, parameter, dtype, shape, data) {
  const head = Buffer.from(JSON.stringify({ __metadata__: { 'limpid.format': '1', 'limpid.function': text }, [parameter]: { dtype, shape, data_offsets: [0, data.byteLength] } }));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(head.length));
  await page.locator('header input[type=file]').setInputFiles({ name: `${name}.safetensors`, mimeType: '', buffer: Buffer.concat([size, head, Buffer.from(data.buffer)]) });
  await until(async () => assert.match(await page.locator('header select').first().locator('option:checked').textContent(), new RegExp(name)));
}
const times = (n, key) => Array(n).fill(key);
/** What is shown in short is what its title has in full. */
function short(text, title, digits = 3) {
  const [a, b] = [Number(text.replaceAll('\u2212', '-').replaceAll(',', '')), Number(title)];
  assert.ok(Math.abs(a - b) <= Math.abs(b) * 10 ** (1 - digits), `${text} for ${title}`);
}
/** [value, mean, std] of each value that is shown, and of the tool's ops. */
const statistics = () =>
  page.locator('.layer').evaluateAll((all) => all.map((e) => [e.dataset.value, ...e.querySelector('.layer-stats').title.match(/mean (.*), std (.*)/).slice(1).map(Number)]));
const statisticsOf = (ops) => ops.filter((op) => op.op !== 'input').map((op) => [op.value, op.mean, op.std]);

const failed = await paths({
  'graph: fold, unfold, find, a parameter': async () => {
    await page.to('graph');
    await page.locator('.graph-canvas svg .box').first().waitFor();
    const shapes = () => page.locator('.edge text').allTextContents();
    assert.deepEqual(await shapes(), ['784', '32', '16', '10']);
    await page.locator('.graph-canvas svg').focus();
    for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await until(async () => assert.ok((await page.locator('.box.op .title').allTextContents()).includes('relu')), 'an op of the unfolded layer');
    await page.getByRole('searchbox', { name: 'Find' }).fill('layers.2.weight');
    await page.keyboard.press('Enter');
    await until(async () => assert.equal(await page.locator('.graph-side h2').textContent(), 'linear'), 'what was found');
    const row = page.locator('.parameters tbody tr', { hasText: 'layers.1.weight' });
    const layer = limpidJson('trace', 'digits', ...DATA).ops.find((op) => op.value === '%2');
    assert.equal(layer.layer, 'layers.1');
    assert.match(await row.textContent(), /f32 16 × 32/);
    await row.getByRole('button').click();
    await page.locator('.parameters .heat').waitFor();
  },
  'graph: the numbers of a parameter, in its row, its card, its cells and its histogram': async () => {
    await page.to('graph?model=m0&tensor=%25layers.1.weight');
    await until(async () => assert.match(await page.locator('.graph-side .facts').textContent(), new RegExp(`multiply-adds${(784 * 32 + 32 * 16 + 160).toLocaleString('en')}inputs1parameters6 `)), 'the whole graph');
    const mean = WEIGHT.reduce((s, w) => s + w, 0) / WEIGHT.length;
    const std = Math.sqrt(WEIGHT.reduce((s, w) => s + (w - mean) ** 2, 0) / WEIGHT.length);
    const expected = [mean, std, Math.min(...WEIGHT), Math.max(...WEIGHT)];
    for (const cells of [page.locator('.parameters tr', { hasText: PLANTED.name }).locator('td.number'), page.locator('.parameters > .sheet .stats dd').filter({ hasNotText: '%' })]) {
      await until(async () => assert.equal(await cells.count(), 4));
      const shown = await cells.evaluateAll((all) => all.map((e) => [e.textContent, e.title]));
      shown.forEach(([text, title], i) => (assert.ok(Math.abs(Number(title) - expected[i]) < 1e-7, `${title}, ${expected[i]} is expected`), short(text, title)));
    }
    const cells = page.locator('.parameters .heat-root');
    const cell = (r, c) => `[${r}, ${c}] = ${Number(WEIGHT[r * 32 + c].toPrecision(9))}`;
    const is = async (r, c, ...keys) => {
      const said = await marked(cells, ...keys);
      assert.equal(said.split(' = ')[0], `[${r}, ${c}]`);
      assert.equal(Math.fround(Number(said.split(' = ')[1])), WEIGHT[r * 32 + c], cell(r, c));
    };
    await is(3, 7, 'ArrowRight', ...times(3, 'ArrowDown'), ...times(7, 'ArrowRight'));
    await is(2, 6, 'ArrowUp', 'ArrowLeft');
    await is(12, 6, 'PageDown');
    await is(15, 31, 'End');
    await is(5, 31, 'PageUp');
    await is(0, 0, 'Home');
    await cells.focus();
    await page.keyboard.press('Escape');
    assert.doesNotMatch(await cells.getAttribute('aria-label'), /: \[/, 'no mark');
    const bars = page.locator('.parameters .histogram svg');
    const [, from, to] = (await bars.getAttribute('aria-label')).match(/^Histogram of %layers\.1\.weight: 512 values from (\S+) to (\S+)$/);
    short(from, expected[2]);
    short(to, expected[3]);
    const bins = page.locator('.parameters .histogram');
    await bins.locator('summary').click();
    await bins.locator('tbody tr').last().waitFor();
    const rows = await bins.locator('tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].map((c) => Number(c.textContent))));
    assert.deepEqual([rows.length, rows[0][0], rows.at(-1)[1]].map(Math.fround), [64, expected[2], expected[3]]);
    rows.forEach(([from, to, count], i) => {
      if (i) assert.equal(from, rows[i - 1][1]);
      assert.equal(count, WEIGHT.filter((w) => w >= from && (w < to || (i === 63 && w === Math.fround(to)))).length, `from ${from} to ${to}`);
    });
    await page.getByText('The graph as a table').click();
    const table = page.getByRole('region', { name: 'Values of the graph' }).locator('tbody tr');
    await table.last().waitFor();
    const ops = await table.evaluateAll((all) => all.map((tr) => [...tr.cells].map((c) => c.textContent.trim())));
    assert.deepEqual(ops[2], ['linear', 'layers.1', '%1, %layers.1.weight, %layers.1.bias', '%2 16']);
    // An op: what goes in, what comes out, its multiply-adds.
    await page.to('graph?model=m0&at=n2');
    const values = (i) => page.locator('.graph-side .plain-list').nth(i).locator('li').allTextContents();
    await until(async () => assert.deepEqual([await values(0), await values(1)], [['%1 f32 32', '%layers.1.weight f32 16 × 32', '%layers.1.bias f32 16'], ['%2 f32 16']]));
    await page.getByText('512 multiply-adds for each example', { exact: true }).waitFor();
    // A block has a card for each parameter of its layers.
    await page.to('graph?model=m0&at=g0');
    const cards = [0, 1, 2].flatMap((i) => [`layers.${i}.weight`, `layers.${i}.bias`]);
    await until(async () => assert.deepEqual(await page.locator('.parameter-card h3').allTextContents(), cards), 'the cards of a block');
  },
  'graph: boxes unfolded by clicks, and what their cards lead to': async () => {
    await page.to('graph?model=m0');
    const svg = page.locator('.graph-canvas svg');
    await svg.locator('.box').first().waitFor();
    const first = await svg.locator('.box').count();
    const boxes = (check) =>
      until(async () => {
        const count = await svg.locator('.box').count();
        assert.ok(check(count), `${count} boxes, ${first} at first`);
        assert.equal(await page.locator('.graph-bar [role=status]').textContent(), `5 ops, ${count} boxes shown`);
      });
    await svg.locator('[data-id=g1]').dblclick();
    await boxes((n) => n > first);
    await svg.locator('[data-id=g1] .fold').click();
    await boxes((n) => n === first);
    await svg.locator('[data-id=g2] .fold').click();
    await boxes((n) => n > first);
    await page.getByRole('button', { name: 'Fold all', exact: true }).click();
    await boxes((n) => n === 3); // the input, the layers, the output
    await svg.locator('.box.input').click();
    await until(async () => assert.equal(await page.locator('.graph-side .facts').textContent({ timeout: 1000 }), 'shape784typef32'));
    await page.to('graph?model=m0&at=g1');
    await page.getByText('2 ops · 25,120 parameters', { exact: true }).waitFor();
    await page.locator('.parameter-card', { hasText: 'layers.0.weight' }).getByRole('button', { name: 'Show its values' }).click();
    await page.locator('.parameters > .sheet h2', { hasText: 'layers.0.weight' }).waitFor();
    await page.locator('.parameters > .sheet').getByRole('button', { name: 'Close' }).click();
    await until(async () => assert.deepEqual([param('tensor'), await page.locator('.parameters > .sheet').count()], [null, 0]));
  },
  'graph: keys, clicks, the wheel and a drag': async () => {
    await page.to('graph?model=m0');
    const svg = page.locator('.graph-canvas svg');
    await svg.locator('.box').first().waitFor();
    const camera = () => svg.locator('> g').getAttribute('transform');
    const moves = async (what, act) => {
      const before = await camera();
      await act();
      await until(async () => assert.notEqual(await camera(), before), what);
    };
    await svg.focus();
    // Playwright learns of another address some time after the page has it.
    await until(() => assert.equal(param('at'), null));
    await page.keyboard.press('ArrowDown');
    await until(() => assert.ok(param('at')));
    const first = param('at');
    for (const [key, at] of [['ArrowDown', 'g0'], ['ArrowDown', 'g1'], ['ArrowUp', 'g0'], ['ArrowUp', first]]) {
      await page.keyboard.press(key);
      await until(() => assert.equal(param('at'), at), key);
    }
    for (const key of ['ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
    assert.match(await svg.getAttribute('aria-label'), /: \d+ boxes; layers\.0, /);
    const boxes = await svg.locator('.box').count();
    await page.keyboard.press('Enter');
    await until(async () => assert.ok((await svg.locator('.box').count()) > boxes));
    await page.keyboard.press('Enter');
    await until(async () => assert.equal(await svg.locator('.box').count(), boxes));
    await page.keyboard.press('0');
    await svg.locator('[data-id=g2]').click();
    await until(async () => assert.equal(await page.locator('.graph-side h2').textContent(), 'layers.1'));
    await page.keyboard.press('Escape');
    await until(() => assert.equal(param('at'), null));
    const fitted = await camera();
    const button = (name) => () => page.getByRole('button', { name }).click();
    const box = await svg.boundingBox();
    await moves('zoomed in', button('Zoom in'));
    await moves('zoomed out', button('Zoom out'));
    await page.mouse.move(box.x + 90, box.y + 60);
    await page.keyboard.down('Control');
    await moves('zoomed by the wheel', () => page.mouse.wheel(0, -120));
    await page.keyboard.up('Control');
    await svg.focus();
    await moves('scrolled', () => page.mouse.wheel(30, 20));
    await page.mouse.down();
    await moves('dragged', () => page.mouse.move(box.x + 150, box.y + 85, { steps: 3 }));
    await page.mouse.up();
    await svg.focus();
    for (const fit of [() => page.keyboard.press('0'), button('Fit the whole graph')]) {
      await fit();
      await until(async () => assert.equal(await camera(), fitted), 'fitted');
      await svg.focus();
      await moves('by a key', () => page.keyboard.press('+'));
    }
    for (const [name, bound] of [['Zoom in', 4], ['Zoom out', 0.05]]) {
      for (let i = 0; i < 21; ++i) await button(name)();
      await until(async () => assert.ok((await camera()).endsWith(`scale(${bound})`), await camera()));
    }
  },
  'forward: an example of a data set, number by number': async () => {
    await page.to('forward?model=m0&index=3&all=1');
    const [answer] = limpidJson('run', 'digits', ...DATA).answers;
    await answerIs(answer.probabilities);
    assert.equal(await page.locator('[data-number=class]').textContent(), String(answer.prediction));
    assert.deepEqual(await statistics(), statisticsOf(limpidJson('trace', 'digits', ...DATA).ops));
  },
  'forward: the arithmetic of a neuron, and one layer back': async () => {
    await page.to('forward?model=m0&index=3');
    const cells = page.locator('[data-value="%3"] .heat-root');
    await cells.focus();
    for (let i = 0; i < 6; ++i) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.locator('.neuron .terms tbody tr').first().waitFor();
    await until(() => assert.match(page.url(), /cell=layers\.1:5/));
    const tool = (spec) => limpidJson('trace', 'digits', ...DATA, '--neuron', spec).neuron;
    const check = async (spec) => {
      const expected = tool(spec);
      await until(async () => assert.match(await page.locator('.neuron h2').textContent(), new RegExp(`neuron ${expected.index}$`)));
      for (const [name, value] of [
        ['bias', expected.bias],
        ['z', expected.z],
        ['activation', expected.activation.value],
      ])
        await until(async () => assert.equal(Number(await page.locator(`.neuron [data-number=${name}]`).textContent()), value), name);
      const terms = await page.locator('.terms tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].map((c) => c.textContent)));
      const largest = expected.terms.slice().sort((a, b) => Math.abs(b.weight * b.input) - Math.abs(a.weight * a.input));
      terms.slice(0, 5).forEach((cellsOf, i) => {
        assert.equal(Number(cellsOf[0]), largest[i].index);
        assert.equal(Number(cellsOf[1]), largest[i].input);
        assert.equal(Number(cellsOf[3]), largest[i].weight);
        assert.equal(Math.fround(Number(cellsOf[5])), Math.fround(Math.fround(largest[i].weight) * Math.fround(largest[i].input)));
      });
      return Number(terms[0][0]);
    };
    const first = await check('layers.1:5');
    const chosen = page.locator('.layer', { has: page.locator('.heat-mark.chosen') });
    assert.deepEqual(await chosen.evaluateAll((all) => all.map((e) => e.dataset.value)), ['%3'], 'in its own layer alone');
    await page.locator('.terms tbody tr button').first().click();
    await check(`layers.0:${first}`);
    const products = tool(`layers.0:${first}`).terms.map((t) => t.weight * t.input);
    const smallest = products.toSorted((a, b) => Math.abs(b) - Math.abs(a)).slice(24);
    const [, left, sum] = (await page.locator('.neuron p', { hasText: 'smaller products' }).textContent()).match(/^(\d+) smaller products sum to (\S+)\. /);
    assert.equal(Number(left), smallest.length);
    short(sum, smallest.reduce((a, b) => a + b, 0));
    await page.getByRole('button', { name: 'Show more' }).click();
    await until(async () => assert.equal(await page.locator('.terms tbody tr').count(), 96));
    await page.getByRole('button', { name: 'Picture' }).click();
    const largest = products.reduce((m, p, i) => (Math.abs(p) > Math.abs(products[m]) ? i : m), 0);
    const picture = page.locator('.neuron .heat-root');
    await until(async () => {
      await picture.hover({ position: { x: (largest % 28) * 10 + 5, y: Math.floor(largest / 28) * 10 + 5 } });
      const [where, product] = (await picture.getAttribute('aria-label', { timeout: 1000 })).split(': ').at(-1).split(' = ');
      assert.equal(where, `input ${largest}`);
      short(product, products[largest]);
    }, 'the largest product');
    await page.getByRole('button', { name: 'As the tool prints it' }).click();
    const text = limpid('trace', 'digits', ...DATA, '--neuron', `layers.0:${first}`);
    const printed = (await page.locator('.neuron pre').textContent()).trim();
    assert.ok(text.includes(printed), `the tool prints\n${text}\nthe page has\n${printed}`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy Arithmetic' }).click();
    await page.getByText('Copied', { exact: true }).waitFor();
    assert.equal((await page.evaluate(() => navigator.clipboard.readText())).trim(), printed);
    await page.getByRole('button', { name: 'Next neuron' }).click();
    await check(`layers.0:${(first + 1) % 32}`);
    await page.getByRole('button', { name: 'Previous neuron' }).click();
    await check(`layers.0:${first}`);
    // The last one comes before the first.
    await page.to('forward?model=m0&index=3&cell=layers.0:0');
    for (const [name, index] of [['Previous', 31], ['Next', 0]]) {
      await page.getByText('of 32', { exact: true }).waitFor();
      await page.getByRole('button', { name: `${name} neuron` }).click();
      await until(() => assert.equal(param('cell'), `layers.0:${index}`));
    }
    // A cell of the map leads back, too.
    await page.to('forward?model=m0&index=3&cell=layers.1:5');
    await page.locator('.neuron').getByRole('button', { name: 'Map' }).click();
    await page.locator('.neuron .heat-root').focus();
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
    await until(() => assert.equal(param('cell'), 'layers.0:2'));
    await page.locator('.neuron').getByRole('button', { name: 'Close' }).click();
    await until(async () => assert.deepEqual([param('cell'), await page.locator('.neuron').count()], [null, 0]));
  },
  'forward: a digit drawn by the mouse': async () => {
    await page.to('forward?model=m0&from=draw');
    const box = await page.locator('.pad canvas').boundingBox();
    const at = (x, y) => [box.x + x * box.width, box.y + y * box.height];
    await page.mouse.move(...at(0.3, 0.25));
    await page.mouse.down();
    for (const [x, y] of [
      [0.7, 0.25],
      [0.45, 0.8],
    ])
      await page.mouse.move(...at(x, y), { steps: 12 });
    await page.mouse.up();
    await until(() => assert.match(page.url(), /pixels=/));
    const raw = Buffer.from(new URLSearchParams(page.url().split('?').at(-1)).get('pixels'), 'base64url');
    assert.equal(raw.length, 784);
    assert.ok(raw.some((v) => v === 255));
    const expected = logitsOf([...raw].map((v) => Math.fround(v / 255)));
    await until(async () => assert.deepEqual(await logits(), expected), 'the logits of the drawing');
    // As drawn it is smaller than the 20 rows of MNIST's digits, and stays where it was drawn.
    const inked = () => drawing().flatMap((row, r) => (row.some((v) => v > 0) ? [r] : []));
    assert.equal(inked().length, 20);
    await page.getByRole('checkbox', { name: 'centre and scale as MNIST' }).uncheck();
    await until(() => assert.deepEqual([param('raw'), inked()[0], inked().at(-1)], ['1', 5, 23]));
    await until(async () => assert.deepEqual(await logits(), logitsOf(drawing().flat().map((v) => Math.fround(v / 255)))), 'as drawn');
    await page.getByRole('checkbox', { name: 'centre and scale as MNIST' }).check();
    await page.reload();
    await until(async () => assert.deepEqual(await logits(), expected), 'the logits of the drawing, from its address');
    await page.getByRole('button', { name: 'Clear' }).click();
    await until(() => assert.deepEqual(inked(), []));
    await until(async () => assert.deepEqual(await logits(), logitsOf(Array(784).fill(0))), 'nothing drawn');
  },
  'forward: a digit drawn by keys, as it is drawn': async () => {
    await page.to('forward?model=m0&from=draw&raw=1');
    await page.locator('.pad').focus();
    for (const key of [...times(4, 'ArrowLeft'), ' ', ...times(9, 'ArrowDown'), ' ', ...times(5, 'ArrowUp')]) await page.keyboard.press(key);
    // From the middle four pixels to the left, nine down; what the lifted pen passes is no ink.
    await until(() => {
      const ink = drawing().flatMap((row, r) => row.flatMap((v, c) => (v > 127 ? [[r, c]] : [])));
      assert.deepEqual([ink[0], ink.at(-1)], [[13, 9], [23, 10]], JSON.stringify(ink));
      assert.ok(ink.every(([, c]) => c >= 8 && c <= 11));
    }, 'the stroke');
    await page.keyboard.press('Escape');
    await until(() => assert.ok(drawing().flat().every((v) => v === 0)));
  },
  'forward: one example after the other, of each part': async () => {
    const example = page.getByRole('spinbutton', { name: 'Example' });
    const answerTo = (index) => answerIs(limpidJson('run', 'digits', '--data', 'idx:signs', '--index', String(index)).answers[0].probabilities);
    await page.to('forward?model=m0&index=1');
    await answerTo(1);
    for (const [name, index] of [['Previous', 0], ['Previous', 39], ['Previous', 38], ['Next', 39], ['Next', 0]]) {
      await page.getByRole('button', { name: `${name} example` }).click();
      await until(async () => assert.equal(await example.inputValue(), String(index)), `${name}: ${index}`);
      await answerTo(index);
    }
    await example.fill('99');
    await example.press('Enter');
    await answerTo(39);
    await page.getByRole('combobox', { name: 'Training, validation or test set' }).selectOption('train');
    const image = readFileSync(join(work, 'signs/train-images-idx3-ubyte')).subarray(16, 16 + 784);
    await until(async () => assert.deepEqual(await logits(), logitsOf([...image].map((v) => Math.fround(v / 255)))), 'the first of training');
    // A cell is where one points.
    const [r, c] = [14, 9];
    const input = page.locator('.input-panel .heat-root');
    await input.hover({ position: { x: c * 8 + 4, y: r * 8 + 4 } });
    await until(async () => {
      const [where, value] = (await input.getAttribute('aria-label')).split(': ').at(-1).split(' = ');
      assert.deepEqual([where, Math.fround(Number(value))], [`pixel ${r}, ${c}`, Math.fround(image[r * 28 + c] / 255)]);
    }, 'a pixel');
    await page.locator('[data-value="%1"] .heat-root').click({ position: { x: 3 * 24 + 12, y: 24 + 12 } });
    await until(() => assert.equal(param('cell'), 'layers.0:19'));
  },
  'forward: any example, by chance': async () => {
    await page.to('forward?model=m0&index=3');
    await page.locator('.input-panel p', { hasText: ', 40 examples' }).waitFor();
    await page.locator('.answer [data-probability]').first().waitFor();
    await page.evaluate(() => (globalThis.chance = Math.random));
    for (const [chance, index] of [[0.99, '39'], [0.3, '12'], [0, '0']]) {
      await page.evaluate((value) => (Math.random = () => value), chance);
      await page.getByRole('button', { name: 'Any' }).click();
      await until(() => assert.equal(param('index'), index), `by ${chance}`);
    }
    await page.evaluate(() => (Math.random = globalThis.chance));
  },
  'a link into another view has the model and the whole example': async () => {
    const example = { from: 'data', index: '1', part: 'train', values: '1', pixels: 'AA', raw: '1', text: 'a', tokens: '1.2', drawn: '3', edits: '[]' };
    await page.to(`forward?${new URLSearchParams({ model: 'm1', ...example, cell: 'layers.0:1' })}`);
    const link = async (name) => Object.fromEntries(new URLSearchParams((await page.getByRole('link', { name, exact: true }).getAttribute('href')).split('?')[1]));
    await until(async () => assert.deepEqual(await link('What if'), { model: 'm1', ...example }));
    assert.deepEqual([await link('Graph'), await link('Lab')], [{ model: 'm1' }, {}]);
    await page.locator('.subject').getByText('26 k parameters', { exact: true }).waitFor();
    assert.equal(await page.locator('.subject').getByRole('button').count(), 0, 'one of the command line stays open');
  },
  'forward: numbers that are typed, and a word that is none': async () => {
    await page.to('forward?model=m0&from=numbers');
    const field = page.locator('.input-panel textarea');
    await page.getByText('784 given').waitFor(); // the first example, to begin with
    await answerIs(limpidJson('run', 'digits', '--data', 'idx:signs', '--index', '0').answers[0].probabilities);
    await field.fill('1, two');
    await field.press('Tab');
    await page.getByText('Expected numbers, got two.').waitFor();
    await field.fill('0.5 -0.25, 1e-2');
    await field.press('Tab');
    await page.getByText('3 given').waitFor();
    assert.equal(await page.getByText('Expected numbers').count(), 0);
    await until(async () => assert.deepEqual(await logits(), logitsOf([0.5, -0.25, 0.01, ...Array(781).fill(0)])));
  },
  'forward: of what is typed while the engine computes, the newest alone is asked': async () => {
    await page.to('forward?model=r0&from=numbers&values=0.5,-1');
    await page.locator('.answer [data-probability]').first().waitFor();
    const asked = [];
    const keep = (r) => r.url().endsWith('/api/forward') && asked.push(r.postDataJSON().input.values[0]);
    const answer = await hold(page, 'forward');
    page.on('request', keep);
    for (const value of ['0.25', '0.5', '0.75']) await page.getByRole('slider', { name: 'width', exact: true }).fill(value);
    answer();
    const { logits: newest } = limpidJson('run', 'table', '--values', '0.75,-1');
    await until(async () => assert.deepEqual(await logits(), newest));
    page.off('request', keep);
    assert.ok(asked[0] === 0.25 && asked.length > 1 && asked.slice(1).every((x) => x === 0.75), asked.join());
  },
  'forward: what shows more of a pass asks for no other': async () => {
    await page.to('forward?model=r0&index=3');
    await page.locator('.answer [data-probability]').first().waitFor();
    const asked = [];
    const keep = (r) => r.url().includes('/api/') && asked.push(new URL(r.url()).pathname);
    page.on('request', keep);
    const layers = await page.locator('.layer').count();
    await page.getByRole('checkbox', { name: 'every op' }).click();
    await until(async () => assert.ok((await page.locator('.layer').count()) > layers));
    await page.to('forward?model=r0&index=3&all=1&cell=layers.1:5');
    await page.locator('.terms tbody tr').first().waitFor();
    page.off('request', keep);
    assert.deepEqual(asked, ['/api/neuron']);
  },
  'forward: what layers and bars say beside their numbers': async () => {
    let answer;
    const keep = async (r) => r.url().endsWith('/api/forward') && (answer = await r.json());
    page.on('response', keep);
    await page.to('forward?model=m0&index=4&all=1');
    await until(async () => assert.equal(await page.locator('.layers > p').textContent({ timeout: 1000 }), `${answer?.rows.length} ops in ${(1000 * answer?.seconds).toFixed(1)} ms.`));
    page.off('response', keep);
    const { rows } = answer;
    const said = await page.locator('.layer-stats').evaluateAll((all) => all.map((e) => [e.textContent, e.title]));
    assert.equal(said.length, rows.length - 1);
    said.forEach(([text, title], i) => {
      const [, mean, std, zeros] = text.match(/^mean (.*) · std (.*) · (.*) % zeros$/);
      assert.equal(zeros, (100 * rows[i + 1].statistics.zero_share).toFixed(0));
      title.match(/^mean (.*), std (.*)$/).slice(1).forEach((exact, k) => short([mean, std][k], exact, 2));
    });
    const heads = await page.locator('.layer header').evaluateAll((all) => all.map((e) => [e.querySelector('h3').textContent, e.querySelector('span').textContent]));
    assert.deepEqual(heads, rows.slice(1).map((r) => [r.layer || r.op, `${r.layer ? `${r.op} · ` : ''}${r.shape.join(' × ')}`]));
    const bars = await page.locator('.answer li').evaluateAll((all) => all.map((li) => [parseFloat(li.querySelector('.bar-track i').style.width), li.querySelector('[data-probability]').textContent.slice(0, -2), Number(li.querySelector('[data-probability]').dataset.probability)]));
    assert.equal(bars.length, 10);
    for (const [width, text, p] of bars) assert.ok(Math.abs(width - 100 * p) < 1e-3 && text === (100 * p).toFixed(1), `${width}, ${text} for ${p}`);
  },
  'a table: features and classes by their names': async () => {
    const { class_names: classes } = JSON.parse(readFileSync(join(work, 'table/log.jsonl'), 'utf8').split('\n')[0]).data;
    assert.deepEqual(classes.toSorted(), ['down', 'up']);
    const ranges = page.waitForResponse((r) => r.url().endsWith('/api/data') && r.request().postDataJSON().count > 1);
    await page.to('forward?model=r0&from=numbers&values=0.5,-1');
    for (const [name, value] of [['width', '0.5'], ['length', '-1']]) assert.equal(await page.getByRole('spinbutton', { name: `${name}, exactly` }).inputValue(), value);
    await until(async () => assert.deepEqual((await page.locator('.answer .bar-name').allTextContents()).toSorted(), ['down', 'up']));
    // An example of its data: its numbers and its target, and the sliders go from the least to the greatest.
    const { examples } = await (await ranges).json();
    for (const [i, name] of ['width', 'length'].entries()) {
      const all = examples.map((e) => e.values[i]);
      const slider = page.getByRole('slider', { name, exact: true });
      await until(async () => assert.deepEqual([await slider.getAttribute('min'), await slider.getAttribute('max')].map(Number), [Math.min(...all, [0.5, -1][i]), Math.max(...all, [0.5, -1][i])]), name);
    }
    // A slider sets a number of four figures, and the input is a row of the layers.
    await page.getByRole('slider', { name: 'width', exact: true }).fill('0.123456');
    await until(() => assert.deepEqual(param('values').split(',').map((x) => Math.fround(Number(x))), [0.1235, -1].map(Math.fround)));
    await page.to('forward?model=r0&from=numbers&values=0.5,-1&all=1');
    const shown = limpidJson('trace', 'table', '--values', '0.5,-1').ops.map((op) => op.value);
    await until(async () => assert.deepEqual(await page.locator('.layer').evaluateAll((all) => all.map((e) => e.dataset.value)), shown));
    await page.to('forward?model=r0&index=1');
    await until(async () => assert.deepEqual(await page.locator('.input-panel dt').allTextContents(), ['width', 'length']));
    assert.deepEqual(await page.locator('.input-panel dd').evaluateAll((all) => all.map((e) => Number(e.title))), examples[1].values);
    assert.equal(await page.locator('.input-panel strong').textContent(), examples[1].label);
    await page.to('backward?model=r0&from=numbers&values=0.5,-1&of=loss:1');
    const names = [...classes.map((c) => `the loss, with the target ${c}`), ...classes.map((c) => `output ${c}`)];
    await until(async () => assert.deepEqual(await page.locator('.field select option').allTextContents(), names));
    const rows = page.locator('.forward-layers .layer');
    await rows.first().waitFor();
    assert.equal((await marked(rows.first().locator('.heat-root'), 'ArrowRight', 'ArrowRight')).split(' = ')[0], classes[1]);
  },
  'what if: a unit set to zero, undone': async () => {
    const before = limpidJson('run', 'digits', ...DATA).answers[0].probabilities;
    await page.to('whatif?model=m0&index=3');
    await answerIs(before);
    // The strongest unit of the last hidden layer.
    const values = limpidJson('trace', 'digits', ...DATA, '--neuron', 'layers.2:0').neuron.terms.map((t) => t.input);
    const unit = values.indexOf(Math.max(...values));
    await pick('%3', unit);
    await page.getByRole('button', { name: 'Zero' }).click();
    await until(async () => assert.equal(await page.locator('.edits li').count(), 1));
    // By hand: what the tool's weights give without that unit, to the rounding of f32.
    const logits = [...Array(10).keys()].map((k) => {
      const n = limpidJson('trace', 'digits', ...DATA, '--neuron', `layers.2:${k}`).neuron;
      return n.terms.reduce((sum, t) => sum + (t.index === unit ? 0 : t.weight * t.input), n.bias);
    });
    const sum = logits.reduce((s, z) => s + Math.exp(z), 0);
    await until(async () => {
      const after = await probabilities();
      logits.forEach((z, k) => assert.ok(Math.abs(after[k] - Math.exp(z) / sum) < 1e-5, `class ${k}: ${after[k]}, by hand ${Math.exp(z) / sum}`));
    }, 'the edited answer');
    await page.getByRole('button', { name: 'As code' }).click();
    await page.locator('section[aria-label="The edits as code"] pre').first().waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await answerIs(before);
  },
  'what if: noise, as the command that the page gives, kept under a name': async () => {
    await page.to('whatif?model=m0&index=3&all=1');
    await answerIs(limpidJson('run', 'digits', ...DATA).answers[0].probabilities);
    await pick('%1', 4);
    await page.getByRole('slider', { name: 'Standard deviation' }).fill('0.5');
    await page.getByRole('button', { name: 'Noise', exact: true }).click();
    await until(async () => assert.match(await page.locator('.edits li').textContent(), /^%1 \[4\]: noise of 0\.5\d*, seed \d+/), 'the edit');
    await page.getByRole('button', { name: 'As code' }).click();
    const command = page.locator('section[aria-label="The edits as code"] pre').nth(1);
    const ops = limpidJson(...wordsOf(await command.textContent())).ops;
    const plain = limpidJson('trace', 'digits', ...DATA).ops;
    assert.notEqual(ops.at(-1).mean, plain.at(-1).mean);
    await until(async () => assert.deepEqual(await statistics(), statisticsOf(ops)), 'every value');
    const edited = await probabilities();
    // The variant has the edit inside, and the model that it came from is as it was.
    await page.getByRole('textbox', { name: 'Name of the variant' }).fill('noisy unit');
    await page.getByRole('button', { name: 'Keep as a model' }).click();
    await until(async () => assert.equal(await page.locator('header select').first().locator('option:checked').textContent(), 'noisy unit'), 'the variant');
    assert.equal(await page.locator('.edits li').count(), 0);
    await page.getByRole('link', { name: 'Forward' }).click();
    await page.locator('main h1', { hasText: 'Forward' }).waitFor();
    const variant = new URLSearchParams(page.url().split('?').at(-1)).get('model');
    await page.to(`forward?model=${variant}&index=3`);
    await answerIs(edited);
    await until(async () => assert.deepEqual((await statistics()).at(-1).slice(1), statisticsOf(ops).at(-1).slice(1)), 'the last value');
    await page.to('forward?model=m0&index=3');
    await answerIs(limpidJson('run', 'digits', ...DATA).answers[0].probabilities);
  },
  'what if: activations of another example': async () => {
    const answerTo = (index) => limpidJson('run', 'digits', '--data', 'idx:signs', '--index', String(index)).answers[0].probabilities;
    await page.to('whatif?model=m0&index=3');
    await answerIs(answerTo(3));
    await pick('%3', 0);
    await page.getByRole('button', { name: 'the whole tensor' }).click();
    await page.getByRole('spinbutton', { name: /test example/ }).fill('5');
    await page.getByRole('button', { name: 'Patch in' }).click();
    // All values after the layer are those of the other example, bit for bit.
    await answerIs(answerTo(5));
    await until(async () => assert.match(await page.locator('.edits li').textContent(), /^%3: patched from example 5/));
    await page.getByRole('button', { name: 'Reset' }).click();
    await answerIs(answerTo(3));
  },
  'what if: several edits, what they change, and the answer before': async () => {
    const { probabilities: before, logits: z } = limpidJson('run', 'digits', ...DATA).answers[0];
    await page.to('whatif?model=m0&index=3');
    await answerIs(before);
    const { terms } = limpidJson('trace', 'digits', ...DATA, '--neuron', 'layers.2:0').neuron;
    const unit = terms.findIndex((t) => t.input > 0);
    await pick('%3', unit);
    await page.getByRole('button', { name: 'this number' }).click();
    await page.getByRole('slider', { name: 'Times' }).fill('-1.5');
    await page.getByRole('button', { name: 'Scale' }).click();
    const now = page.locator('.editor [data-number=now]');
    await until(async () => assert.equal(Math.fround(Number((await now.textContent()).slice(2))), Math.fround(-1.5 * Math.fround(terms[unit].input))), 'the scaled unit');
    const tags = () => page.locator('.layer').evaluateAll((all) => all.map((e) => [e.dataset.value, e.querySelector('.tag').textContent]));
    await until(async () => assert.deepEqual(await tags(), [['%1', 'unchanged'], ['%3', '1 changed'], ['%4', '10 changed']]));
    // After less before, in a drawing of its own.
    const last = page.locator('[data-value="%4"]');
    const values = async () => (await last.locator('tbody td').allTextContents()).map(Number);
    await last.locator('summary').click();
    const after = await until(async () => {
      const shown = await values();
      assert.ok(shown.length === z.length && shown.every((v, i) => v !== z[i]));
      return shown;
    }, 'what the edit leads to');
    await page.getByRole('button', { name: 'difference' }).click();
    await until(async () => (await values()).forEach((d, i) => assert.ok(Math.abs(d - (after[i] - z[i])) < 1e-5, `class ${i}: ${d}`)), 'the difference');
    await page.getByRole('button', { name: 'values', exact: true }).click();
    // Each is undone by itself, the last one by Undo.
    const list = () => page.locator('.edits li .mono').allTextContents();
    await page.getByRole('button', { name: 'Zero' }).click();
    await page.getByRole('button', { name: 'Scale' }).click();
    const [scale, zero] = [`%3 [${unit}]: times -1.5`, `%3 [${unit}]: set to 0`];
    await until(async () => assert.deepEqual(await list(), [scale, zero, scale]));
    await page.getByRole('button', { name: 'Remove edit 2' }).click();
    await until(async () => assert.deepEqual(await list(), [scale, scale]));
    await page.getByRole('button', { name: 'Zero' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await until(async () => assert.deepEqual(await list(), [scale, scale]));
    // Another view has them too, until it is told to do without.
    await page.getByRole('link', { name: 'Forward' }).click();
    await page.getByText('2 edits are applied.').waitFor();
    await page.getByRole('button', { name: 'Without' }).click();
    await answerIs(before);
    // A number that is added; and a variant that nobody has given a name.
    await page.to('whatif?model=m0&index=3&edits=[{"at":"%251","index":[0],"add":1}]');
    await until(async () => assert.deepEqual(await list(), ['%1 [0]: plus 1']));
    await pick('%3', 0);
    await page.getByRole('region', { name: 'Edit', exact: true }).getByRole('button', { name: 'Close' }).click();
    await until(async () => assert.equal(await page.getByRole('region', { name: 'Edit', exact: true }).count(), 0));
    await page.getByRole('button', { name: 'Keep as a model' }).click();
    await page.locator('.toast', { hasText: 'Kept as model.safetensors edited.' }).waitFor();
    await page.getByRole('button', { name: 'Close model.safetensors edited' }).click();
    await until(() => assert.equal(param('model'), null));
    await page.to('forward?model=m0&index=3');
  },
  'what if: a weight, with its number as it becomes': async () => {
    // The parameters are not known at once.
    const answer = await hold(page, 'parameters');
    await page.to('whatif?model=m0&index=3');
    await page.getByRole('textbox', { name: 'Indices' }).fill('300, 7');
    assert.ok(await page.getByRole('button', { name: 'Edit this weight' }).isDisabled());
    answer();
    await page.getByRole('button', { name: 'Edit this weight' }).click();
    await page.getByText('Expected 2 indices below 32, 784, got 300, 7.').waitFor();
    await page.getByRole('textbox', { name: 'Indices' }).fill('3, 7');
    await page.getByRole('button', { name: 'Edit this weight' }).click();
    const editor = page.getByRole('region', { name: 'Edit', exact: true });
    await until(async () => assert.equal(Math.fround(Number((await editor.locator('[data-number=now]').textContent()).slice(2))), elementsOf('layers.0.weight')[3 * 784 + 7]));
    await editor.getByRole('button', { name: 'all weights of this unit' }).click();
    await editor.getByRole('spinbutton', { name: 'Value' }).fill('0.5');
    await editor.getByRole('button', { name: 'Set', exact: true }).click();
    await until(async () => assert.equal(await page.locator('.edits li .mono').textContent(), 'layers.0.weight [3, all]: set to 0.5'));
    await until(async () => assert.equal((await editor.locator('[data-number=now]').textContent()).trim(), '= 0.5'));
    await editor.getByRole('button', { name: 'all weights of this input' }).click();
    await editor.getByRole('button', { name: 'Zero' }).click();
    await until(async () => assert.equal(await page.locator('.edits li .mono').last().textContent(), 'layers.0.weight [all, 7]: set to 0'));
    await page.getByRole('button', { name: 'Reset' }).click();
  },
  'what if: an edit that cannot be, undone': async () => {
    await page.to('whatif?model=m0&index=3&edits=[{"at":"%2599","index":[0],"set":0}]');
    const wrong = page.locator('.note.bad');
    await until(async () => assert.match(await wrong.textContent({ timeout: 1000 }), /%99/));
    await page.getByRole('button', { name: 'Undo' }).click();
    await until(async () => assert.equal(await wrong.count(), 0));
    await answerIs(limpidJson('run', 'digits', ...DATA).answers[0].probabilities);
  },
  'backward: what another input had is none of this one': async () => {
    await page.to('backward?model=m0&index=3&of=loss');
    await page.locator('.forward-layers .heat-root').first().waitFor();
    await page.getByRole('button', { name: 'Draw' }).click();
    await until(async () => assert.equal(await page.locator('.field select').inputValue(), '0'));
    await until(async () => assert.equal(await page.locator('.note.bad').count(), 0));
  },
  'backward: an output, and the loss by a chosen target': async () => {
    const { logits: z } = limpidJson('run', 'digits', ...DATA).answers[0];
    const value = async () => Number(await page.locator('[data-number=value]').textContent({ timeout: 1000 }));
    await page.to('backward?model=m0&index=3&of=7');
    await until(async () => assert.equal(await value(), z[7]), 'the output');
    const bits = Buffer.alloc(4);
    bits.writeFloatBE(z[7]);
    assert.equal(await page.locator('[data-number=value]').getAttribute('title'), bits.toString('hex'));
    assert.equal(await page.getByRole('combobox', { name: 'Gradient of' }).locator('option:checked').textContent(), 'output 7');
    // Of a linear layer the gradient of an output by its inputs is its row of weights.
    const rows = page.locator('.forward-layers .layer');
    const shown = () => rows.evaluateAll((all) => all.map((e) => e.dataset.value));
    await until(async () => assert.deepEqual(await shown(), ['%4', '%3', '%2', '%1', '%0', '%x']));
    await rows.nth(1).locator('summary').click();
    const weights = limpidJson('trace', 'digits', ...DATA, '--neuron', 'layers.2:7').neuron.terms.map((t) => t.weight);
    await until(async () => assert.deepEqual((await rows.nth(1).locator('td').allTextContents()).map(Number), weights), 'the weights');
    await page.getByRole('checkbox', { name: 'parameters, too' }).check();
    await until(async () => assert.ok((await shown()).includes('%layers.1.weight')));
    await page.getByRole('checkbox', { name: 'parameters, too' }).uncheck();
    await until(async () => assert.equal((await shown()).length, 6));
    const saliency = page.locator('.forward-input .layer', { hasText: 'by the input' }).locator('canvas');
    assert.deepEqual(await saliency.evaluate((c) => [c.width, c.height]), [28, 28]);
    const said = page.locator('.forward-layers p[role=status]').first();
    for (const [name, count] of [['Step through', 1], ['One op further', 2], ['One op further', 3], ['Back', 2], ['Back', 1], ['Back', 6]]) {
      await page.getByRole('button', { name, exact: true }).click();
      await until(async () => assert.equal((await shown()).length, count), `${name}: ${count}`);
      assert.match(await said.textContent(), [/^%4 linear layers\.2: start: /, /^%3 relu layers\.1: back through linear/, /^%2 linear layers\.1: back through relu/, , , /^All gradients at once\./][count - 1]);
    }
    const drawn = 'from=numbers&values=0.5,1,0.25';
    const other = logitsOf([0.5, 1, 0.25, ...Array(781).fill(0)]);
    await page.to(`backward?model=m0&${drawn}&of=loss:7`);
    const loss = Math.log(other.reduce((s, v) => s + Math.exp(v), 0)) - other[7];
    await until(async () => assert.ok(Math.abs((await value()) - loss) < 1e-5, `${loss} is expected`), 'the loss');
  },
  'backward: the loss, by everything before it': async () => {
    await page.to('backward?model=m0&index=3&of=loss');
    const { probabilities: p, label } = limpidJson('run', 'digits', ...DATA).answers[0];
    await until(async () => {
      const loss = Number(await page.locator('[data-number=value]').textContent());
      assert.ok(Math.abs(loss + Math.log(p[label])) < 1e-5 * Math.max(1, loss), `${loss}, by the tool's probabilities ${-Math.log(p[label])}`);
    }, 'the loss');
    // The derivative of softmax with cross-entropy by the logits: prediction - target.
    await page.locator('.forward-layers .heat-root').first().waitFor();
    const summary = page.locator('.forward-layers .layer').first().locator('summary');
    await summary.focus();
    await page.keyboard.press('Enter');
    await until(async () => {
      const gradient = (await page.locator('.forward-layers .layer').first().locator('td').allTextContents()).map(Number);
      p.forEach((v, k) => assert.ok(Math.abs(gradient[k] - (v - (k === label ? 1 : 0))) < 1e-6, `class ${k}: ${gradient[k]}`));
    }, 'the gradient');
    await page.getByRole('button', { name: 'Step through' }).click();
    await until(async () => assert.equal(await page.locator('.forward-layers .layer').count(), 1));
  },
  'compare: at first with the model that was shown, and one that takes the same inputs': async () => {
    const sides = (a, b) => until(async () => assert.deepEqual(await Promise.all(['A', 'B'].map((name) => page.getByRole('combobox', { name, exact: true }).inputValue())), [a, b]));
    await page.to('compare?model=m1');
    await sides('m1', 'm0');
    await page.to('graph?model=m0');
    const ids = [];
    for (const name of ['one', 'other']) {
      await open(name, 'function f(%w: f32[3], %x: f32[3]) {\n  %0 = add(%x, %w) : f32[3]\n  return y = %0\n}\n', 'w', 'F32', [3], new Float32Array(3));
      ids.push(param('model'));
    }
    await page.to(`compare?model=${ids[1]}`);
    await sides(ids[1], ids[0]);
    await page.getByRole('checkbox', { name: 'run both on sin 1, sin 2, sin 3, …' }).waitFor(); // they have no data
    for (const [i, name] of ['one', 'other'].entries()) {
      await page.to(`graph?model=${ids[i]}`);
      await page.getByRole('button', { name: `Close ${name}.safetensors` }).click();
      await until(() => assert.equal(param('model'), null));
    }
    // Both get the example that was shown.
    await page.to('compare?a=m0&b=m0&index=3');
    await page.getByRole('checkbox', { name: 'run both on test example 3 of idx:signs' }).waitFor();
    await page.getByText('Bit-identical everywhere.').waitFor();
    // Of one that takes others, the parameters alone.
    await page.to('compare?a=m0&b=r0');
    await page.getByText('They take different inputs: only their parameters are compared.').waitFor();
    const only = page.locator('.compare-result .note');
    await until(async () => {
      const [, a, b] = (await only.textContent({ timeout: 1000 })).match(/^Only in model\.safetensors: (.*)\. Only in table: (.*)\.$/);
      assert.deepEqual([a, b].map((names) => names.includes('layers.0.weight: f32[32, 784]')), [true, false]);
    });
  },
  'compare: a planted bit': async () => {
    await page.to('compare?a=m0&b=m1');
    const first = page.locator('section', { hasText: 'The first difference' });
    await first.waitFor();
    const text = await first.locator('p').first().textContent();
    assert.match(text, new RegExp(`${PLANTED.name.replaceAll('.', '\\.')}.*\\[${PLANTED.index.join(', ')}\\]`));
    assert.equal(await first.locator('[data-number=bit]').textContent(), String(PLANTED.bit));
    const hex = await first.locator('tbody tr').evaluateAll((all) => all.map((tr) => tr.cells[2].textContent.replace('0x', '')));
    assert.equal(parseInt(hex[0], 16) ^ parseInt(hex[1], 16), 1 << PLANTED.bit);
    assert.deepEqual(await first.locator('tbody th').allTextContents(), ['model.safetensors', 'planted.safetensors']);
    assert.deepEqual(await first.locator('tbody tr').evaluateAll((all) => all.map((tr) => [...tr.querySelectorAll('.bits i')].flatMap((bit, i) => (bit.classList.contains('differs') ? [31 - i] : [])))), [[PLANTED.bit], [PLANTED.bit]]);
    await page.getByText('They differ.').waitFor();
    // One weight of one parameter, by so many units in the last place as the bit is worth.
    const changed = page.getByRole('region', { name: 'Parameters that differ' }).locator('tbody tr');
    const [, , differ, largest, ulps] = await changed.locator('> *').allTextContents();
    assert.deepEqual([await changed.count(), differ, ulps], [1, '1 of 512', String(1 << PLANTED.bit)]);
    const [a, b] = await first.locator('tbody tr').evaluateAll((all) => all.map((tr) => Number(tr.cells[1].textContent)));
    short(largest.replace('e\u2212', 'e-'), Math.abs(a - b), 2);
    const values = page.getByRole('region', { name: 'Values of the forward pass, in the order of the ops' });
    assert.match(await values.locator('tbody tr').first().textContent(), /^%2 /);
    await page.getByRole('checkbox', { name: /^run both on/ }).uncheck();
    await until(async () => assert.equal(await values.count(), 0));
    await page.getByRole('combobox', { name: 'A', exact: true }).selectOption('m1');
    await page.getByText('Bit-identical everywhere.').waitFor();
    await until(() => assert.deepEqual([param('a'), param('b')], ['m1', 'm1']));
  },
  'a wrong file: one sentence, and nothing is lost': async () => {
    await page.to('forward?model=m0&index=3');
    const before = limpidJson('run', 'digits', ...DATA).answers[0].probabilities;
    await answerIs(before);
    const file = page.locator('header input[type=file]');
    await file.setInputFiles({ name: 'broken.onnx', mimeType: '', buffer: Buffer.from('not a model') });
    await until(async () => assert.match(await page.locator('.toast').textContent({ timeout: 1000 }), /^broken\.onnx: \S.*/), 'what is wrong');
    assert.deepEqual(await probabilities(), before);
    await file.setInputFiles({ name: 'again.safetensors', mimeType: '', buffer: readFileSync(join(work, 'digits/model.safetensors')) });
    await until(async () => assert.match(await page.locator('header select').first().locator('option:checked').textContent(), /again/));
    await page.locator('.toast', { hasText: 'Opened again.safetensors.' }).waitFor();
    await page.getByRole('button', { name: 'Close again.safetensors' }).click();
    await until(async () => assert.equal(await page.locator('header select option', { hasText: 'again' }).count(), 0));
    await until(() => assert.equal(param('model'), null));
    assert.equal(await page.locator('.toast', { hasText: 'is not open here' }).count(), 0);
    // Dropped anywhere it is the same.
    await page.evaluate(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['not a model'], 'dropped.onnx'));
      document.querySelector('main').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    });
    await until(async () => assert.match(await page.locator('.toast').textContent({ timeout: 1000 }), /^dropped\.onnx: \S.*/), 'what was dropped');
    // From a view without a model its graph is shown.
    await page.to('lab');
    await file.setInputFiles({ name: 'later.safetensors', mimeType: '', buffer: readFileSync(join(work, 'digits/model.safetensors')) });
    await until(async () => assert.equal(await page.locator('main h1').textContent(), 'Graph'));
    await page.getByRole('button', { name: 'Close later.safetensors' }).click();
    await until(() => assert.equal(param('model'), null));
    // Where one compares it is the second one.
    await page.to('compare?a=m0&b=m1');
    await file.setInputFiles({ name: 'second.safetensors', mimeType: '', buffer: readFileSync(join(work, 'digits/model.safetensors')) });
    await until(async () => assert.equal(await page.getByRole('combobox', { name: 'B', exact: true }).locator('option:checked').textContent(), 'second.safetensors'));
    await until(() => assert.equal(param('a'), 'm0'));
    await page.getByRole('button', { name: 'Close second.safetensors' }).click();
    await until(async () => assert.equal(await page.locator('header select option', { hasText: 'second' }).count(), 0));
    // What the engine would refuse for its size is not sent.
    await page.route('**/api/session', async (route) => {
      const session = await (await route.fetch()).json();
      await route.fulfill({ json: { ...session, limits: { ...session.limits, file: 10 } } });
    }, { times: 1 });
    await page.reload();
    await page.to('graph?model=m0');
    await file.setInputFiles({ name: 'large.safetensors', mimeType: '', buffer: Buffer.alloc(11) });
    await page.locator('.toast', { hasText: 'large.safetensors: expected at most 10 B, got 11 B' }).waitFor();
    await page.reload();
    await page.waitForSelector('main h1');
  },
  'numbers of an f64 model, of names that are quoted': async () => {
    const text = 'function double(%"0.scale": f64[2], %"the x": f64[2]) {\n  %0 = multiply(%"the x", %"0.scale") : f64[2]\n  return y = %0\n}\n';
    await page.to('forward?model=m0&index=3');
    await open('double', text, '0.scale', 'F64', [2], new Float64Array([3, 5]));
    await page.getByRole('link', { name: 'What if' }).click();
    const first = page.getByRole('spinbutton', { name: 'input 0, exactly' });
    await first.fill('0.1');
    await first.press('Enter');
    await until(async () => assert.equal(param('values'), '0.1,0'), 'the input');
    await until(async () => assert.deepEqual([await page.locator('.answer dt').allTextContents(), await page.locator('.answer [data-number=output]').allTextContents()], [['y 0', 'y 1'], ['0.30000000000000004', '0']]), 'the outputs');
    // The parameter has the name by which it is edited.
    await page.getByRole('textbox', { name: 'Indices' }).fill('1');
    await page.getByRole('button', { name: 'Edit this weight' }).click();
    const now = page.locator('.editor [data-number=now]');
    await until(async () => assert.equal(await now.textContent(), '= 5'), 'the weight');
    await page.getByRole('spinbutton', { name: 'Value' }).fill('0.3');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await until(async () => assert.equal(await now.textContent(), '= 0.3'), 'the edited weight');
    await page.getByRole('slider', { name: 'Times' }).fill('0.7');
    await page.getByRole('button', { name: 'Scale' }).click();
    await until(async () => assert.deepEqual(JSON.parse(param('edits')), [{ at: '%"0.scale"', index: [1], set: 0.3 }, { at: '%"0.scale"', index: [1], scale: 0.7 }]), 'the edits');
    await page.getByRole('button', { name: 'Close double.safetensors' }).click();
  },
  'forward: a neuron of more inputs than its picture has products': async () => {
    const text = 'function wide(%w: f32[2, 5000], %x: f32[5000]) {\n  %0 = linear(%x, %w) : f32[2]\n  return y = %0\n}\n';
    await page.to('graph?model=m0');
    await open('wide', text, 'w', 'F32', [2, 5000], new Float32Array(10_000).fill(0.5));
    await page.to(`forward?model=${param('model')}&from=numbers&values=${Array(5000).fill(2).join()}&cell=%250:1`);
    await page.locator('.neuron').getByRole('button', { name: 'Map' }).click();
    await page.getByText('The 904 smallest products are drawn as 0.', { exact: true }).waitFor();
    const input = page.locator('.layer[data-value="%x"]');
    await input.getByText('The first 4096 values.', { exact: true }).waitFor();
    await input.locator('summary').focus();
    await page.keyboard.press('Enter');
    await input.getByText('The first 1000 of 4096.', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Close wide.safetensors' }).click();
  },
  'graph: a parameter with NaN and infinities': async () => {
    const text = 'function f(%w: f32[5], %x: f32[5]) {\n  %0 = add(%x, %w) : f32[5]\n  return y = %0\n}\n';
    await page.to('graph?model=m0');
    await open('ill', text, 'w', 'F32', [5], new Float32Array([NaN, 1, Infinity, -Infinity, 0]));
    await page.to(`graph?model=${param('model')}&tensor=%25w`);
    const wrong = page.locator('.parameters > .sheet .stats .negative');
    await until(async () => assert.deepEqual(await wrong.allTextContents(), ['NaN1', 'inf2']));
    await page.getByRole('button', { name: 'Close ill.safetensors' }).click();
  },
  'nothing went wrong on the page': () => assert.deepEqual(page.problems, []),
});
await browser.close();
await server.stop();
process.exit(failed ? 1 : 0);
