// A model on the page: its graph, forward passes, edits, gradients, a wrong file, a planted bit. The numbers must be the tool's.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { begin, limpid, limpidJson, pageOf, paths, until, view, wordsOf, work, writeDigits } from './browser.mjs';

const browser = await begin();
writeDigits(join(work, 'signs'));
limpid('train', '--data', 'idx:signs', '--layers', '784,32,16,10', '--steps', '60', '--out', 'digits');

// The same model with one bit of one weight changed.
const bytes = readFileSync(join(work, 'digits/model.safetensors'));
const header = JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE())));
const PLANTED = { name: 'layers.1.weight', index: [3, 7], bit: 5 };
const place = 8 + Number(bytes.readBigUInt64LE()) + header[PLANTED.name].data_offsets[0] + 4 * (PLANTED.index[0] * 32 + PLANTED.index[1]);
bytes.writeUInt32LE((bytes.readUInt32LE(place) ^ (1 << PLANTED.bit)) >>> 0, place);
writeFileSync(join(work, 'planted.safetensors'), bytes);

const server = await view('digits/model.safetensors', 'planted.safetensors', '--data', 'idx:signs');
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
    assert.match(page.url(), /cell=layers\.1:5/);
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
      });
      return Number(terms[0][0]);
    };
    const first = await check('layers.1:5');
    await page.locator('.terms tbody tr button').first().click();
    await check(`layers.0:${first}`);
    await page.getByRole('button', { name: 'As the tool prints it' }).click();
    const text = limpid('trace', 'digits', ...DATA, '--neuron', `layers.0:${first}`);
    const printed = (await page.locator('.neuron pre').textContent()).trim();
    assert.ok(text.includes(printed), `the tool prints\n${text}\nthe page has\n${printed}`);
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
    const values = [...raw].map((v) => String(Math.fround(v / 255)));
    const expected = limpidJson('run', 'digits', '--values', values.join(',')).logits;
    const logits = () => page.locator('.answer [data-logit]').evaluateAll((all) => all.map((e) => Number(e.dataset.logit)));
    await until(async () => assert.deepEqual(await logits(), expected), 'the logits of the drawing');
    await page.reload();
    await until(async () => assert.deepEqual(await logits(), expected), 'the logits of the drawing, from its address');
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
  'what if: a weight, with its number as it becomes': async () => {
    await page.to('whatif?model=m0&index=3');
    await page.getByRole('textbox', { name: 'Indices' }).fill('300, 7');
    await page.getByRole('button', { name: 'Edit this weight' }).click();
    await page.getByText('Expected 2 indices below 32, 784, got 300, 7.').waitFor();
    await page.getByRole('textbox', { name: 'Indices' }).fill('3, 7');
    await page.getByRole('button', { name: 'Edit this weight' }).click();
    const editor = page.getByRole('region', { name: 'Edit', exact: true });
    await editor.getByRole('button', { name: 'all weights of this unit' }).click();
    await editor.getByRole('spinbutton', { name: 'Value' }).fill('0.5');
    await editor.getByRole('button', { name: 'Set', exact: true }).click();
    await until(async () => assert.equal(await page.locator('.edits li .mono').textContent(), 'layers.0.weight [3, all]: set to 0.5'));
    await until(async () => assert.equal((await editor.locator('[data-number=now]').textContent()).trim(), '= 0.5'));
    await page.getByRole('button', { name: 'Reset' }).click();
  },
  'backward: what another input had is none of this one': async () => {
    await page.to('backward?model=m0&index=3&of=loss');
    await page.locator('.forward-layers .heat-root').first().waitFor();
    await page.getByRole('button', { name: 'Draw' }).click();
    await until(async () => assert.equal(await page.locator('.field select').inputValue(), '0'));
    await until(async () => assert.equal(await page.locator('.note.bad').count(), 0));
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
  'compare: a planted bit': async () => {
    await page.to('compare?a=m0&b=m1');
    const first = page.locator('section', { hasText: 'The first difference' });
    await first.waitFor();
    const text = await first.locator('p').first().textContent();
    assert.match(text, new RegExp(`${PLANTED.name.replaceAll('.', '\\.')}.*\\[${PLANTED.index.join(', ')}\\]`));
    assert.equal(await first.locator('[data-number=bit]').textContent(), String(PLANTED.bit));
    const hex = await first.locator('tbody tr').evaluateAll((all) => all.map((tr) => tr.cells[2].textContent.replace('0x', '')));
    assert.equal(parseInt(hex[0], 16) ^ parseInt(hex[1], 16), 1 << PLANTED.bit);
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
    await page.getByRole('button', { name: 'Close again.safetensors' }).click();
    await until(async () => assert.equal(await page.locator('header select option', { hasText: 'again' }).count(), 0));
    // From a view without a model its graph is shown.
    await page.to('lab');
    await file.setInputFiles({ name: 'later.safetensors', mimeType: '', buffer: readFileSync(join(work, 'digits/model.safetensors')) });
    await until(async () => assert.equal(await page.locator('main h1').textContent(), 'Graph'));
  },
  'nothing went wrong on the page': () => assert.deepEqual(page.problems, []),
});
await browser.close();
await server.stop();
process.exit(failed ? 1 : 0);
