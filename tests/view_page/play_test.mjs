// The playground, the lab and a language model on the page. Exports must equal the tool's results, down to the hash.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { accessible, begin, fits, hold, limpid, limpidJson, pageOf, paths, tool, until, view, web, work } from './browser.mjs';

const browser = await begin();
writeFileSync(join(work, 'text.txt'), 'the cat sat on the mat, the dog sat on the log, the rat sat on the hat. '.repeat(60));
limpid('train', '--data', 'text:text.txt', '--model', 'gpt', '--layers', '2', '--width', '32', '--heads', '4', '--context', '32', '--steps', '60', '--out', 'gpt');
writeFileSync(join(work, 'greek.txt'), 'η γάτα κάθεται στο χαλί. '.repeat(60));
limpid('train', '--data', 'text:greek.txt', '--tokenizer', 'bytes', '--model', 'gpt', '--layers', '1', '--width', '32', '--heads', '2', '--context', '64', '--steps', '60', '--out', 'greek');
const server = await view('gpt', 'greek');
const page = await pageOf(browser, server.address);
const PROMPT = 'the cat sat on';

/** Exports what is on the page, of some data, runs its command, and compares. */
async function exportAndRepeat(kind) {
  // A step that was asked for may still come; then the name is another.
  await until(async () => {
    const name = `Export ${(await steps()).toLocaleString('en-GB')} steps`;
    await page.getByRole('button', { name, exact: true }).click({ timeout: 1000 });
  }, 'the button that names the steps');
  const command = await until(async () => {
    const words = (await page.locator('section', { hasText: 'This command trains' }).locator('pre').textContent({ timeout: 1000 })).trim().split(/\s+/);
    assert.ok(words.some((word) => word.startsWith(`${kind}:`)), 'not of an export before');
    return words;
  }, 'the export');
  const shown = await page.locator('[data-number=export-hash]').textContent();
  assert.equal(command[0], 'limpid');
  rmSync(join(work, 'play'), { recursive: true, force: true });
  execFileSync(tool, command.slice(1), { cwd: work, stdio: 'ignore' });
  const [data, out] = ['--data', '--out'].map((name) => command[command.indexOf(name) + 1]);
  assert.equal(shown, limpid('hash', out, '--data', data).match(/model\s+(\S+)/)[1]);
  // The files that it offers: the model has that hash, the header is that of the model.
  const codeOf = (header) => header.split('#pragma once')[1]; // the comments before tell of the data
  await exported('The model', 'model.safetensors');
  assert.equal(shown, limpid('hash', 'exported-model.safetensors', '--data', data).match(/model\s+(\S+)/)[1]);
  limpid('emit', out, '--cpp', 'emitted.h', '--namespace', 'net');
  assert.equal(codeOf(await exported('The C++ header', 'model.h')), codeOf(readFileSync(join(work, 'emitted.h'), 'utf8')));
}
/** The text of a file that the page offers, kept as exported-NAME. */
async function exported(button, name) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('section', { hasText: 'This command trains' }).getByRole('button', { name: button }).click()]);
  assert.equal(download.suggestedFilename(), name);
  await download.saveAs(join(work, `exported-${name}`));
  return readFileSync(join(work, `exported-${name}`), 'utf8');
}
/** What the engine answers to a request of the page. */
const engine = (name, request) =>
  page.evaluate(async ([name, body]) => {
    const token = new URLSearchParams(location.search).get('token');
    return (await fetch(`/api/${name}`, { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` }, body })).json();
  }, [name, JSON.stringify(request)]);
const param = (name) => new URLSearchParams(page.url().split('?').at(-1)).get(name);
const seen = (t) => t.text.replaceAll(' ', '\u2423');
/** What the label of a drawing says after some keys, after its name. */
async function label(drawing, ...keys) {
  await drawing.focus();
  for (const key of keys) await page.keyboard.press(key);
  return (await drawing.getAttribute('aria-label')).split(/: (.*)/s)[1] ?? '';
}
/** The rows of the table of a drawing, opened. */
async function tableOf(drawing) {
  await drawing.locator('summary').first().click();
  await drawing.locator('tbody tr').first().waitFor();
  return drawing.locator('tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].map((c) => c.textContent)));
}
const number = (text) => Number(text.replaceAll('\u2212', '-'));
const near = (a, b, share, what) => assert.ok(Math.abs(a - b) <= share * Math.max(Math.abs(b), 1e-9), `${what}: ${a}, ${b} is expected`);
const steps = async () => Number((await page.locator('[data-number=step]').textContent()).replaceAll(',', ''));

const failed = await paths({
  'playground: train, pause, and the command gives the same hash': async () => {
    await page.to('playground?data=moons&hidden=4,3');
    await page.locator('.unit canvas').first().waitFor();
    await page.getByRole('button', { name: 'Train' }).click();
    await until(async () => assert.ok((await steps()) >= 20));
    await page.getByRole('button', { name: 'Pause' }).click();
    await until(async () => {
      const before = await steps();
      await page.waitForTimeout(300);
      assert.equal(await steps(), before, 'it rests');
    });
    // One step more: its losses and accuracy are the answer's.
    const [response] = await Promise.all([page.waitForResponse((r) => r.url().endsWith('/api/play')), page.getByRole('button', { name: 'One step' }).click()]);
    const last = await response.json();
    await until(async () => assert.equal(await steps(), last.step), 'one step');
    const stats = await page.locator('.play-stats dd').evaluateAll((all) => all.map((e) => [e.title, e.textContent]));
    assert.deepEqual(stats.slice(1, 3).map(([exact]) => Number(exact)), [last.loss, last.test_loss]);
    stats.slice(1, 3).forEach(([exact, brief]) => near(number(brief), Number(exact), 0.001, 'in short'));
    assert.equal(stats[3][1], `${(100 * last.test_accuracy).toFixed(1)}\u202f%`);
    await exportAndRepeat('moons');
  },
  'playground: the surface lies as the examples do, and says where one is': async () => {
    await page.to('playground?data=moons&hidden=8,8');
    await page.getByRole('slider', { name: 'Steps per frame' }).fill('50');
    await until(async () => assert.equal(await steps(), 0));
    await page.getByRole('button', { name: 'Train' }).click();
    await until(async () => assert.ok((await steps()) >= 300));
    await page.getByRole('button', { name: 'Pause' }).click();
    const surface = page.locator('.surface-root');
    const agree = () =>
      surface.evaluate((root) => {
        const canvas = root.querySelector('canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const dots = [...root.querySelectorAll('circle')].map((c) => {
          const at = (name) => Math.min(Math.max(Math.floor((Number(c.getAttribute(name)) / 100) * canvas.width), 0), canvas.width - 1);
          const i = 4 * (at('cy') * canvas.width + at('cx'));
          return data[i + 2] > data[i] === [c.style.fill, c.style.stroke].includes('var(--positive)');
        });
        return dots.filter(Boolean).length / dots.length;
      });
    await until(async () => assert.ok((await agree()) > 0.9, `${await agree()} of the examples lie on their colour`));
    // Where the mark is, by keys and by the pointer: x to the right, y upwards.
    const ends = async (i) => (await page.locator('.axis-names > span').nth(i).textContent()).match(/\S+ (\S+) … (\S+)/).slice(1).map(number);
    const [[x0, x1], [y0, y1]] = [await ends(0), await ends(1)];
    const place = (text) => text.match(/^\((\S+), (\S+)\): /).slice(1).map(number);
    const is = ([x, y], c, r) => (near(x - x0, ((x1 - x0) * (c + 0.5)) / 64, 0.03, 'x'), near(y - y0, ((y1 - y0) * (r + 0.5)) / 64, 0.03, 'y'));
    is(place(await label(surface, ...Array(4).fill('ArrowRight'), ...Array(7).fill('ArrowUp'))), 44, 53);
    is(place(await label(surface, ...Array(6).fill('ArrowLeft'), 'ArrowDown')), 26, 50);
    const { width, height } = await surface.boundingBox();
    await surface.hover({ position: { x: 0.75 * width, y: 0.2 * height } });
    is(place(await label(surface)), 48, 51);
    await page.mouse.move(0, 0);
    await until(async () => assert.doesNotMatch(await surface.getAttribute('aria-label'), /: \(/), 'no mark where the pointer is not');
    const parts = (await tableOf(page.locator('.surface'))).map((row) => row[3]);
    assert.deepEqual(['training', 'test'].map((part) => parts.filter((p) => p === part).length), [200, 200]);
    // Reset begins everything anew.
    await page.getByRole('button', { name: 'Reset' }).click();
    await until(async () => assert.equal(await steps(), 0));
    assert.deepEqual((await tableOf(page.locator('figure.chart', { hasText: 'Loss' }))).map((row) => row[0]), ['0']);
  },
  'playground: a curve, drawn from end to end': async () => {
    const [response] = await Promise.all([page.waitForResponse((r) => r.url().endsWith('/api/play') && r.request().postData().includes('sine')), page.to('playground?data=sine')]);
    const { box, grid } = (await response.json()).surface;
    const chart = page.locator('figure.chart', { hasText: 'Network and data' });
    await chart.waitFor();
    const rows = await tableOf(chart);
    const x = rows.filter((row) => row[2] !== '').map((row) => Number(row[0]));
    assert.deepEqual([x.length, x[0], x.at(-1)], [grid, box[0], box[1]]);
    const { inputs, targets } = await engine('play/data', { config: response.request().postDataJSON().config });
    const points = inputs.map(([at], i) => [at, targets[i]]).sort((a, b) => a[0] - b[0]);
    assert.deepEqual(rows.filter((row) => row[1] !== '').map((row) => [Number(row[0]), Number(row[1])]), points);
  },
  'playground: settings become the address': async () => {
    await page.to('playground?data=moons');
    const hidden = (sizes) => until(() => assert.equal(param('hidden'), sizes));
    const layer = (i) => page.getByRole('group', { name: `Units of layer ${i}` });
    await layer(1).getByRole('button', { name: 'More units' }).click();
    await hidden('7,4');
    assert.deepEqual([await layer(1).locator('output').textContent(), await layer(2).locator('output').textContent()], ['7', '4']);
    await layer(2).getByRole('button', { name: 'Fewer units' }).click();
    await hidden('7,3');
    await page.getByRole('button', { name: 'Add' }).click();
    await hidden('7,3,4');
    await page.getByRole('button', { name: 'Remove' }).click();
    await hidden('7,3');
    await page.getByRole('slider', { name: /^Learning rate/ }).fill('-2');
    await until(() => assert.equal(param('rate'), '0.01'));
    await page.getByRole('combobox', { name: 'Optimiser' }).selectOption('sgd');
    // The address changes at once, the drawing when the engine has answered.
    await until(async () => assert.equal(await page.locator('.wire').count(), 2 * 7 + 7 * 3 + 3 * 2));
    // A line is blue where its weight is above zero, orange below.
    const wires = await page.locator('.wire').evaluateAll((all) => all.map((g) => [g.querySelector('title').textContent, g.querySelector('path').style.stroke]));
    for (const [title, stroke] of wires) assert.equal(stroke, number(title.split(' = ')[1]) < 0 ? 'var(--negative)' : 'var(--positive)', title);
    const drawn = (name) => page.locator(`.unit[aria-label="${name}"] canvas`).evaluate((c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.join());
    assert.notEqual(await drawn('layer 1, unit 0'), await drawn('layer 2, unit 0'));
  },
  'playground: how many layers and units there may be, and how many are drawn': async () => {
    const off = () => page.locator('.stepper button, .stepper ~ button, .stepper + button').evaluateAll((all) => all.filter((b) => b.disabled).map((b) => b.getAttribute('aria-label') ?? b.textContent));
    const note = page.getByText('Only the first eight units of each layer are shown.', { exact: true });
    for (const [hidden, disabled, many] of [['1,8', ['Fewer units'], 0], ['64,9', ['More units'], 1], ['2,2,2,2,2,2', ['Add'], 0]]) {
      await page.to(`playground?data=moons&hidden=${hidden}`);
      await until(async () => assert.deepEqual(await off(), disabled), hidden);
      await until(async () => assert.equal(await page.locator('.unit-at').count(), 4 + hidden.split(',').reduce((sum, n) => sum + Math.min(Number(n), 8), 0)), hidden);
      assert.equal(await note.count(), many, hidden);
    }
    await page.to('playground?data=moons&hidden=2');
    await page.getByRole('button', { name: 'Remove' }).click();
    await until(async () => assert.equal(await page.locator('.unit-at').count(), 4), 'no layer is left');
    assert.ok(await page.getByRole('button', { name: 'Remove' }).isDisabled());
  },
  'playground: every setting of an address is the engine’s, every control one of the address': async () => {
    const [request] = await Promise.all([
      page.waitForRequest((r) => r.url().endsWith('/api/play') && r.postData().includes('rmsprop')),
      page.to('playground?data=circles&noise=0.2&dseed=4&hidden=3&activation=relu&optimizer=rmsprop&rate=0.02&l2=0.01&dropout=0.25&batch=8&seed=5'),
    ]);
    const config = { data: { name: 'circles', noise: 0.2, count: 200, seed: 4 }, hidden: [3], activation: 'relu', optimizer: 'rmsprop', rate: 0.02, l2: 0.01, dropout: 0.25, batch: 8, seed: 5 };
    assert.deepEqual(request.postDataJSON().config, config);
    // A slider of a rate goes by powers of ten, in steps of a twentieth.
    const field = (role, name) => page.getByRole(role, { name: new RegExp(`^${name}`) }).inputValue();
    const sliders = ['Noise', 'Learning rate', 'L2 regularisation', 'Dropout', 'Batch'];
    await until(async () => assert.deepEqual(await Promise.all(sliders.map((name) => field('slider', name))), ['0.2', '-1.7', '0.01', '0.25', '8']));
    assert.deepEqual(await Promise.all([field('combobox', 'Activation'), field('combobox', 'Optimiser'), field('spinbutton', 'Seed')]), ['relu', 'rmsprop', '5']);
    await page.getByText('Learning rate0.0200', { exact: true }).waitFor();
    for (const [name, key, value] of [['Noise', 'noise', '0.3'], ['L2 regularisation', 'l2', '0.05'], ['Dropout', 'dropout', '0.5'], ['Batch', 'batch', '32']]) {
      await page.getByRole('slider', { name: new RegExp(`^${name}`) }).fill(value);
      await until(() => assert.equal(param(key), value), name);
    }
    await page.getByRole('combobox', { name: 'Activation' }).selectOption('gelu');
    await page.getByRole('spinbutton', { name: 'Seed' }).fill('7');
    await page.keyboard.press('Enter');
    await until(() => assert.deepEqual(['activation', 'seed', 'optimizer', 'l2'].map(param), ['gelu', '7', 'rmsprop', '0.05']));
  },
  'playground: another rate while it trains is in no command': async () => {
    const step = () =>
      until(async () => {
        if ((await steps()) === 0) await page.getByRole('button', { name: 'One step' }).click();
        assert.ok((await steps()) > 0);
      }, 'a step');
    await page.to('playground?data=moons&hidden=2&seed=1');
    await step();
    const button = page.getByRole('button', { name: /^Export/ });
    await button.waitFor();
    await page.getByRole('slider', { name: /^Learning rate/ }).fill('-1');
    await page.getByText('The rate or the regularisation was changed during training: no command trains to this network.').waitFor();
    assert.equal(await button.count(), 0);
    await page.getByRole('button', { name: 'Reset' }).click();
    await until(async () => assert.equal(await steps(), 0));
    await step();
    await button.waitFor();
  },
  'playground: three classes, and the command gives the same hash': async () => {
    await page.to('playground?data=moons&hidden=5&noise=0.4');
    await page.getByRole('button', { name: 'Three arms' }).click();
    await until(() => assert.match(page.url(), /data=arms/));
    await until(() => assert.equal(param('noise'), null)); // the noise of other data
    await until(async () => assert.equal(await steps(), 0));
    await until(async () => {
      if ((await steps()) < 3) await page.getByRole('button', { name: 'One step' }).click();
      assert.ok((await steps()) >= 3);
    }, 'three steps');
    await exportAndRepeat('arms');
    // Where it is sure of a class, the surface has the colour of that class.
    await page.getByRole('slider', { name: 'Steps per frame' }).fill('50');
    await page.getByRole('button', { name: 'Train' }).click();
    await until(async () => assert.ok((await steps()) >= 300));
    await page.getByRole('button', { name: 'Pause' }).click();
    const [response] = await until(async () => {
      const answer = page.waitForResponse((r) => r.url().endsWith('/api/play') && r.request().postDataJSON().steps === 1, { timeout: 1000 });
      return Promise.all([answer, page.getByRole('button', { name: 'One step' }).click({ timeout: 1000 })]);
    });
    const { step, surface } = await response.json();
    await until(async () => assert.equal(await steps(), step));
    const p = new Float32Array(Uint8Array.from(Buffer.from(surface.base64, 'base64')).buffer);
    const { pixels, colours } = await page.locator('.surface').evaluate((root) => {
      const canvas = root.querySelector('canvas');
      const rgb = (i) => getComputedStyle(i).backgroundColor.match(/\d+/g).map(Number);
      return { pixels: [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data], colours: [...root.querySelectorAll('.legend i')].map(rgb) };
    });
    const { grid } = surface;
    let sure = 0;
    for (let i = 0; i < grid * grid; ++i) {
      const all = p.subarray(3 * i, 3 * i + 3);
      const most = all.indexOf(Math.max(...all));
      if (all[most] < 0.9) continue;
      ++sure;
      const at = 4 * ((grid - 1 - Math.floor(i / grid)) * grid + (i % grid));
      // It is paler: its way from white is the same, and shorter.
      const alike = colours.map((c) => c.reduce((sum, v, k) => sum + (255 - v) * (255 - pixels[at + k]), 0) / Math.hypot(...c.map((v) => 255 - v)));
      assert.equal(alike.indexOf(Math.max(...alike)), most, `the colour at ${i}`);
    }
    assert.ok(sure > 100, `${sure} places`);
  },
  'playground: a weight set by hand, and reset': async () => {
    await page.to('playground?data=xor&hidden=3');
    await page.getByText('Weights as a table').click();
    await page.getByRole('button', { name: /^layers\.0\.weight 1, 0/ }).click();
    const slider = page.locator('.weight-slider input');
    await slider.fill('2');
    await until(async () => assert.equal(await page.locator('.weight-slider .value').textContent(), '2'));
    await page.getByText(/no command trains/).waitFor();
    await page.getByRole('button', { name: 'Reset' }).click();
    await until(async () => assert.notEqual(await page.locator('.weight-slider .value').textContent(), '2'));
    // Each number of the table is that of its weight, and a line is the weight that it says.
    const cells = await page.locator('table td button').evaluateAll((all) => all.map((b) => [b.textContent, b.getAttribute('aria-label')]));
    assert.equal(cells.length, 3 * 2 + 3 + 2 * 3 + 2);
    for (const [text, name] of cells) near(number(text), number(name.split(': ')[1]), 0.001, name);
    await page.locator('.wire', { has: page.locator('title', { hasText: 'layers.1.weight[0, 2]' }) }).dispatchEvent('click');
    await until(async () => assert.equal(await page.locator('.weight-slider .mono').first().textContent(), 'layers.1.weight[0, 2]'));
  },
  'playground: a table of one’s own': async () => {
    await page.to('playground?data=moons&hidden=4');
    const rows = Array.from({ length: 60 }, (_, i) => `${Math.sin(i)},${Math.cos(i * 1.7)},${Math.sin(i) > 0.2 ? 'up' : 'down'}`);
    const csv = `a,b,kind\n${rows.join('\n')}\n`;
    writeFileSync(join(work, 'data.csv'), csv);
    await page.locator('#csv').setInputFiles({ name: 'data.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await until(async () => assert.match(await page.locator('.axis-names').textContent(), /^a .* b |^a .*b /));
    assert.deepEqual((await page.locator('.surface .legend li').allTextContents()).sort(), ['down', 'up']);
    // Another column to learn, of a table of numbers.
    await page.locator('#csv').setInputFiles({ name: 'numbers.csv', mimeType: 'text/csv', buffer: Buffer.from(`p,q,r\n${rows.map((_, i) => `${i / 60},${Math.cos(i)},${Math.sin(i)}`).join('\n')}\n`) });
    await page.getByRole('combobox', { name: 'Target column' }).selectOption('q');
    await until(async () => assert.match(await page.locator('.axis-names').textContent(), /^p .*r /));
    await page.locator('#csv').setInputFiles({ name: 'data.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await until(async () => assert.match(await page.locator('.axis-names').textContent(), /^a .*b /));
    // A table of another kind: one sentence, and nothing is lost.
    await page.locator('#csv').setInputFiles({ name: 'wide.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b,c,d\n1,2,3,x\n4,5,6,y\n7,8,9,x\n') });
    await page.getByText('wide.csv: playground: expected data with one or two features, got 3').waitFor();
    assert.match(await page.locator('.axis-names').textContent(), /^a .*b /);
    // A step requested while the network restarts is ignored.
    await until(async () => {
      if ((await steps()) === 0) await page.getByRole('button', { name: 'One step' }).click();
      assert.ok((await steps()) > 0);
    }, 'a step');
    await exportAndRepeat('csv');
    assert.equal(await exported('The data', 'data.csv'), csv);
    // It is kept while the page is open; another one may be dropped.
    await page.to('lab');
    await page.to('playground?data=csv');
    await until(async () => assert.match(await page.locator('.axis-names').textContent({ timeout: 1000 }), /^a .*b /));
    const opened = [];
    const keep = (r) => r.url().includes('/api/open') && opened.push(r.url());
    page.on('request', keep);
    await page.locator('.play-settings').evaluate((settings) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([`v,w,kind\n${Array.from({ length: 30 }, (_, i) => `${i},${i % 7},${i % 2 ? 'odd' : 'even'}`).join('\n')}\n`], 'dropped.csv'));
      settings.querySelector('h2').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    });
    await until(async () => assert.match(await page.locator('.axis-names').textContent({ timeout: 1000 }), /^v .*w /));
    page.off('request', keep);
    assert.deepEqual(opened, [], 'as a model');
  },
  'lab: softmax, and a perceptron that fails at XOR': async () => {
    await page.to('lab?of=softmax');
    const p = () => page.locator('.experiment [data-probability]').evaluateAll((all) => all.map((e) => Number(e.dataset.probability)));
    const logits = [2, 1, 0.1, -1].map(Math.exp);
    const sum = logits.reduce((a, b) => a + b);
    await until(async () => {
      const shown = await p();
      assert.equal(shown.length, logits.length);
      shown.forEach((v, i) => assert.ok(Math.abs(v - logits[i] / sum) < 1e-6));
    });
    const share = logits.map((v) => v / sum);
    await page.getByText(`Entropy ${(-share.reduce((s, v) => s + v * Math.log(v), 0)).toFixed(4)}.`).waitFor();
    await page.getByRole('slider', { name: /^Temperature/ }).fill('2');
    await until(() => assert.equal(param('temperature'), '2'));
    await page.to('lab?of=perceptron');
    await page.getByText('Not learnt.').waitFor();
    await page.getByRole('button', { name: 'AND', exact: true }).click();
    await page.getByText('Learnt.', { exact: true }).waitFor();
  },
  'lab: every experiment answers': async () => {
    await page.to('lab');
    await page.locator('.lab nav a').first().waitFor();
    const names = await page.locator('.lab nav a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    assert.equal(names.length, 10);
    // Over many powers of ten the axis has numbers, too, and no more than fit: they are drawn on the canvas, in a strip of their own.
    await page.to('lab?of=init&layers=50');
    await until(async () => {
      const rows = await page.locator('.plot canvas').evaluate((c) => {
        const { data, width, height } = c.getContext('2d').getImageData(0, 0, Math.floor((40 * c.width) / c.clientWidth), Math.floor(c.height * 0.8));
        return [...Array(height).keys()].map((y) => data.subarray(4 * y * width, 4 * (y + 1) * width).filter((v, i) => i % 4 === 3 && v > 60).length);
      });
      const marks = rows.filter((ink, y) => ink > 0 && !rows[y - 1]).length;
      assert.ok(rows.reduce((a, b) => a + b) > 100 && marks >= 3 && marks <= 9, `${marks} numbers: ${rows}`);
    }, 'the numbers of the axis');
    for (const href of names) {
      await page.to(href.slice(2));
      await page.locator('.experiment canvas, .experiment td.number, .experiment [data-probability]').first().waitFor();
      assert.equal(await page.locator('.experiment .note.bad').count(), 0, href);
      const more = page.locator('.experiment p a').last();
      const told = await page.evaluate(async (address) => (await fetch(address)).text(), await more.getAttribute('href'));
      assert.equal(told, readFileSync(join(web, '..', await more.textContent()), 'utf8'), href);
    }
  },
  'lab: every control is one of the address and of what the engine is asked': async () => {
    for (const [of, request, name, value, key, number] of [
      ['softmax', 'softmax', 'logit 1', '-2', 'logits', [2, -2, 0.1, -1]],
      ['softmax', 'softmax', 'Temperature', '0.5', 'temperature', 0.5],
      ['losses', 'losses', 'Target', '0', 'target', 0],
      ['init', 'init', 'Layers', '7', 'layers', 7],
      ['init', 'init', 'Width', '24', 'width', 24],
      ['init', 'init', 'Seed', '3', 'seed', 3],
      ['dropout', 'dropout', 'Rate', '0.25', 'rate', 0.25],
      ['dropout', 'dropout', 'Seed', '4', 'seed', 4],
      ['optimisers', 'optimizers', 'Learning rate', '-1', 'rate', 0.1],
      ['optimisers', 'optimizers', 'Steps', '25', 'steps', 25],
      ['collapse', 'collapse', 'Hidden units', '5', 'hidden', 5],
      ['collapse', 'collapse', 'Seed', '6', 'seed', 6],
    ]) {
      await page.to(`lab?of=${of}`);
      const slider = page.getByRole('slider', { name: new RegExp(`^${name}`) });
      const ofIt = (r) => r.url().endsWith(`/api/lab/${request}`) && String(r.request().postDataJSON()[key]) === String(number);
      // Waits for the answer: the engine refuses a request if 16 are waiting.
      const [answer] = await Promise.all([page.waitForResponse(ofIt), slider.fill(value)]);
      await until(() => assert.deepEqual([answer.request().postDataJSON()[key], param(key)], [number, String(number)], `${of}: ${name}`));
    }
    await page.to('lab?of=norms');
    await page.getByRole('slider', { name: 'Row to change' }).fill('3');
    await page.getByRole('slider', { name: 'Scale of that row' }).fill('0.5');
    await until(() => assert.deepEqual([param('row'), param('scales')], ['3', '1,2,3,0.5']));
    // A value that is the default is not in the address.
    await page.getByRole('slider', { name: 'Scale of that row' }).fill('4');
    await until(() => assert.equal(param('scales'), null));
    await page.to('lab?of=losses');
    await page.getByRole('button', { name: 'slope', exact: true }).click();
    await page.getByText('Slope by prediction').first().waitFor();
    await page.to('lab?of=activations');
    await page.getByRole('combobox', { name: 'Activation' }).selectOption('tanh');
    await until(async () => assert.equal(await page.locator('figure.chart figcaption span').textContent(), 'tanh'));
    await until(() => assert.equal(param('activation'), 'tanh'));
  },
  'lab: the numbers of experiments are the engine’s': async () => {
    const text = (t) => page.locator('.experiment').getByText(t).waitFor();
    await page.to('lab?of=activations&activation=relu');
    const { slope } = (await engine('lab/activations', {})).curves.find((c) => c.name === 'relu');
    await text(`Flat in ${(100 * slope.filter((s) => Math.abs(s) < 0.01).length / slope.length).toFixed(0)}\u202f% of`);
    const relu = (await engine('lab/activations', {})).curves.find((c) => c.name === 'relu');
    const drawnCurve = (await tableOf(page.locator('figure.chart'))).map((row) => row.map(Number));
    assert.deepEqual(drawnCurve, relu.x.map((x, i) => [x, relu.y[i], relu.slope[i]]));
    await page.to('lab?of=init&layers=5&width=16&seed=2');
    const { rows: spreads } = await engine('lab/init', { layers: 5, width: 16, seed: 2 });
    const schemes = spreads.filter((r) => r.layer === spreads[0].layer);
    await page.locator('figure.chart', { hasText: 'Standard deviation of activations' }).waitFor();
    const layers = await tableOf(page.locator('figure.chart'));
    assert.deepEqual(layers.map((row) => row.map(Number)), schemes[0].stds.map((_, k) => [k, ...schemes.map((r) => r.stds[k])]));
    await page.to('lab?of=losses&show=slope');
    await page.getByText('Slope by prediction').first().waitFor();
    const [loss] = (await engine('lab/losses', { target: 1 })).losses;
    const rows = (await tableOf(page.locator('figure.chart'))).filter((row) => row[1] !== '');
    assert.deepEqual(rows.map((row) => [Number(row[0]), Number(row[1])]), loss.x.map((x, i) => [x, loss.slope[i]]).filter(([, y]) => Number.isFinite(y)));
    await page.to('lab?of=dropout&rate=0.2&seed=3');
    const dropped = await engine('lab/dropout', { rate: 0.2, seed: 3, values: Array(64).fill(1) });
    await text(`${dropped.values.filter((v) => v !== 0).length} of 64 kept.`);
    assert.notEqual(dropped.mean, 1);
    near(number((await page.locator('.experiment p', { hasText: ' of 64 kept.' }).textContent()).match(/ Mean (\S+); it was 1\.$/)[1]), dropped.mean, 0.001, 'the mean');
    let asked;
    const keep = (r) => r.url().endsWith('/api/lab/norms') && (asked = r.postDataJSON());
    page.on('request', keep);
    await page.to('lab?of=norms&row=2');
    await page.getByRole('slider', { name: 'Scale of that row' }).fill('5');
    await until(() => assert.equal(param('scales'), '1,2,5,4'));
    await until(async () => {
      const [{ name, after }] = (await engine('lab/norms', asked)).rows;
      const [at, value] = (await label(page.locator(`.norms [aria-label^="${name},"]`), 'Home', 'ArrowDown', 'ArrowRight', 'ArrowRight')).split(': ').at(-1).split(' = ');
      assert.deepEqual([at, Number(value)], ['1, 2', after[10]]);
    }, 'a number after a norm');
    page.off('request', keep);
    await page.to('lab?of=collapse');
    const networks = page.locator('.experiment tbody tr');
    await networks.first().waitFor();
    const folded = (await engine('lab/collapse', { hidden: 16, seed: 0 })).rows;
    const cells = await networks.evaluateAll((all) => all.map((tr) => [...tr.cells].slice(0, 3).map((c) => c.textContent.replaceAll(',', ''))));
    assert.deepEqual(cells, folded.map((r) => [r.network.replaceAll(',', ''), `${r.before.ops} → ${r.after.ops}`, `${r.before.parameters} → ${r.after.parameters}`]));
    assert.ok(folded.some((r) => r.before.ops > r.after.ops));
    await page.to('lab?of=approximation&seed=1');
    const { rows: learnt } = await engine('lab/approximation', { seed: 1 });
    assert.notDeepEqual(learnt, (await engine('lab/approximation', {})).rows);
    const task = learnt.find((r) => r.x[0].length === 1).task;
    const ofTask = learnt.filter((r) => r.task === task);
    const line = page.locator('.experiment tbody tr', { has: page.locator('td[title]') });
    await until(async () => assert.deepEqual(await line.evaluateAll((all) => all.map((tr) => [tr.cells[0].textContent, tr.cells[1].textContent, ...[2, 3].map((i) => Number(tr.cells[i].title))])), ofTask.map((r) => [String(r.units), r.activation, r.loss, r.error])));
    (await line.evaluateAll((all) => all.map((tr) => [2, 3].map((i) => tr.cells[i].textContent)))).forEach((shown, i) => [ofTask[i].loss, ofTask[i].error].forEach((v, k) => near(number(shown[k]), v, 0.002, 'in short')));
    const curves = (await tableOf(page.locator('figure.chart'))).map((row) => row.map(Number));
    assert.deepEqual(curves, ofTask[0].x.map(([x], i) => [x, ofTask[0].y[i], ...ofTask.slice(0, 6).map((r) => r.predictions[i])]));
    await page.to('lab?of=optimisers');
    await page.locator('.path-line').first().waitFor();
    const { paths: ways, surface: { x, y } } = await engine('lab/optimizers', { surface: 'valley', rate: 0.01, steps: 150 });
    const drawn = await page.locator('.path-line').evaluateAll((all) => all.map((e) => e.getAttribute('points').split(' ')[1].split(',').map(Number)));
    drawn.forEach(([px, py], i) => {
      near(px, (100 * (ways[i].x[1] - x[0])) / (x.at(-1) - x[0]), 1e-6, ways[i].name);
      near(py, 100 - (100 * (ways[i].y[1] - y[0])) / (y.at(-1) - y[0]), 1e-6, ways[i].name);
    });
    const ends = (await page.locator('.experiment .legend li').allTextContents()).map((t) => t.split(' ends at '));
    assert.deepEqual(ends.map(([name]) => name), ways.map((w) => w.name));
    ends.forEach(([name, z], i) => near(number(z), Number(ways[i].z.at(-1)), 0.01, name));
    await page.getByRole('combobox', { name: 'Surface' }).selectOption('bowl');
    await until(() => assert.equal(param('surface'), 'bowl'));
    await page.to('lab?of=optimisers&steps=10');
    await until(async () => assert.ok((await page.locator('.path-line').evaluateAll((all) => all.map((e) => e.getAttribute('points').split(' ').length))).every((n) => n === 11)));
    await page.to('lab?of=perceptron&target=AND');
    await text('Learnt.');
    const { epochs } = await engine('lab/perceptron', { target: 'AND', epochs: 30 });
    assert.deepEqual(await tableOf(page.locator('figure.chart')), epochs.map((e, i) => [String(i + 1), String(e.mistakes)]));
  },
  'transformers: a text before one is typed, of a vocabulary without some of its characters': async () => {
    await page.to('transformers?model=r0');
    await page.locator('.tokens li').first().waitFor();
    assert.equal(await page.locator('.note.bad').count(), 0);
    const characters = new Set(readFileSync(join(work, 'text.txt'), 'utf8'));
    const text = await page.getByRole('textbox', { name: /^Text/ }).inputValue();
    assert.ok(text.length > 0 && [...text].every((c) => characters.has(c)), text);
    // What is shown is no longer of the text.
    assert.equal(await page.locator('.stale').count(), 0);
    await page.getByRole('textbox', { name: /^Text/ }).fill('\u2603');
    await page.locator('.note.bad').waitFor();
    assert.equal(await page.locator('.stale').count(), 2);
  },
  'transformers: the next token, attention, and generation as the tool does it': async () => {
    await page.to(`transformers?model=r0&text=${encodeURIComponent(PROMPT)}`);
    const expected = limpidJson('run', 'gpt', '--prompt', PROMPT).next;
    const shown = (what) => page.locator(`.next-tokens [data-${what}]`).evaluateAll((all, key) => all.map((e) => Number(e.dataset[key])), what);
    await until(async () => assert.deepEqual((await shown('logit')).slice(0, expected.length), expected.slice(0, 16).map((t) => t.logit)));
    (await shown('probability')).slice(0, expected.length).forEach((p, i) => assert.ok(Math.abs(p - expected[i].probability) < 1e-7));
    await page.locator('.arcs canvas').waitFor();
    await page.locator('.arcs').focus();
    await page.keyboard.press('ArrowUp');
    await until(async () => assert.match(await page.locator('.arcs').getAttribute('aria-label'), /attends most to/));
    await page.getByRole('button', { name: 'matrix' }).click();
    await page.locator('.attention-main .heat').waitFor();
    await accessible(page, 'transformers');
    // One at a time they are the same tokens.
    const written = () => page.getByRole('textbox', { name: /^Text/ }).inputValue();
    for (let i = 1; i <= 6; ++i) {
      await until(async () => assert.equal(await page.locator('.tokens li').count(), PROMPT.length + i - 1));
      await page.getByRole('button', { name: 'Next token' }).click();
      await until(async () => assert.equal((await written()).length, PROMPT.length + i));
    }
    assert.ok(limpid('generate', 'gpt', '--prompt', PROMPT, '--tokens', '6', '--seed', '0').includes(await written()));
    await until(async () => assert.match(await page.locator('.side .field .value').last().textContent(), new RegExp(`^${PROMPT.length + 6} of 32 tokens`)));
    await page.getByRole('textbox', { name: /^Text/ }).fill(PROMPT);
    await until(async () => assert.match(await page.locator('.side .field .value').last().textContent(), new RegExp(`^${PROMPT.length} of 32 tokens`)));
    await page.getByRole('button', { name: '16 tokens' }).click();
    const text = limpid('generate', 'gpt', '--prompt', PROMPT, '--tokens', '16', '--seed', '0');
    const generated = page.getByRole('textbox', { name: /^Text/ });
    await until(async () => {
      const value = await generated.inputValue();
      assert.equal(value.length, PROMPT.length + 16);
      assert.ok(text.includes(value), `the tool writes ${JSON.stringify(text)}, the page ${JSON.stringify(value)}`);
    });
    for (const width of [820, 400]) {
      await page.setViewportSize({ width, height: 900 });
      await fits(page, `transformers at ${width}`);
    }
  },
  'transformers: a token is added to the text that is typed, before an answer to it has come': async () => {
    await page.to(`transformers?model=r0&text=${encodeURIComponent(PROMPT)}`);
    await page.locator('.tokens li').first().waitFor();
    const answer = await hold(page, 'language');
    const box = page.getByRole('textbox', { name: /^Text/ });
    await box.fill('the mat');
    await page.getByRole('button', { name: 'Next token' }).click();
    await until(async () => assert.match(await box.inputValue(), /^the mat./));
    answer();
    // Text that is typed before the token comes is kept.
    await page.to(`transformers?model=r0&text=${encodeURIComponent(PROMPT)}`);
    await until(async () => assert.equal(await page.locator('.tokens li').count(), PROMPT.length));
    const token = await hold(page, 'generate');
    const made = page.waitForResponse((r) => r.url().endsWith('/api/generate'));
    await page.getByRole('button', { name: 'Next token' }).click();
    await box.fill('the hat');
    token();
    await made;
    await until(async () => assert.ok(await page.getByRole('button', { name: 'Next token' }).isEnabled()));
    await until(async () => assert.deepEqual([await box.inputValue(), param('text')], ['the hat', 'the hat']));
    // A model that ends the text before the last token says so, until there is another text.
    const ended = page.getByText('The model ended the text here.');
    assert.equal(await ended.count(), 0);
    await page.route('**/api/generate', async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), added: [] } }), { times: 1 });
    await page.getByRole('button', { name: '16 tokens' }).click();
    await ended.waitFor();
    assert.equal(await box.inputValue(), 'the hat');
    await box.fill('the cat');
    await until(async () => assert.equal(await ended.count(), 0));
    // Choosing another head asks for attention only.
    await until(async () => assert.equal(await page.locator('.tokens li').count(), 'the cat'.length));
    const asked = [];
    const keep = (r) => r.url().includes('/api/') && asked.push(new URL(r.url()).pathname);
    page.on('request', keep);
    await page.locator('.attention-heads .heat-root').focus();
    for (const key of ['End', 'Enter']) await page.keyboard.press(key);
    await page.getByText(/, head 3$/).waitFor();
    await until(() => assert.ok(asked.length > 0));
    page.off('request', keep);
    assert.deepEqual(asked, ['/api/attention']);
  },
  'compare: two models of text run on the text that was shown': async () => {
    await page.to('compare?a=r0&b=r1&model=r0&text=the+mat');
    await page.getByRole('checkbox', { name: 'run both on the text “the mat”', exact: true }).waitFor();
    const long = 'the cat sat on the mat, the dog sat on the log, the rat';
    await page.to(`compare?a=r1&b=r1&model=r1&text=${encodeURIComponent(long)}`);
    await page.getByRole('checkbox', { name: `run both on ${`the text “${long}`.slice(0, 59)}…`, exact: true }).waitFor();
    await page.getByText('Bit-identical everywhere.').waitFor();
  },
  'transformers: heads, blocks and a way to draw tokens, number by number': async () => {
    const text = 'the cat sat on the mat, th'; // more tokens than blocks are shown for
    const input = { text };
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.to(`transformers?model=r0&text=${encodeURIComponent(text)}`);
    const { tokens, attention, blocks } = await engine('language', { model: 'r0', input });
    const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
    const heads = page.locator('.attention-heads .heat-root');
    await until(async () => assert.match(await label(heads, 'Home'), /^layer 0, head 0 = /));
    await until(async () => {
      const [at, entropy] = (await label(heads, 'Home', ...Array(3).fill('ArrowRight'), 'ArrowDown', 'ArrowLeft')).split(' = ');
      assert.equal(at, 'layer 1, head 2');
      near(number(entropy), mean(attention[1].entropy[2]), 0.001, 'entropy');
    });
    await page.keyboard.press('Enter');
    await page.getByText(`${attention[1].name}, head 2`, { exact: true }).waitFor();
    const { weights, keys } = await engine('attention', { model: 'r0', input, layer: 1, head: 2, as: 'numbers' });
    const row = weights.values.slice(5 * keys, 6 * keys);
    const best = row.indexOf(Math.max(...row));
    const arcs = page.locator('.attention-main');
    await until(async () => {
      await page.locator('.tokens button').nth(5).click();
      assert.equal(await label(arcs.locator('.arcs')), `token 5 ${seen(tokens[5])} attends most to token ${best} ${seen(tokens[best])}, ${(100 * row[best]).toFixed(1)}\u202f%`);
    });
    // One further by keys, to the last one and no further; a token that is clicked again, and Escape, choose none.
    for (const [key, query] of [['ArrowUp', '4'], ...Array(30).fill(['ArrowDown']), ['ArrowDown', String(tokens.length - 1)], ['Escape', null]]) {
      await arcs.locator('.arcs').focus();
      await page.keyboard.press(key);
      if (query !== undefined) await until(() => assert.equal(param('query'), query), key);
    }
    for (const query of ['5', null, '5']) {
      await arcs.locator('.arc-tokens li').nth(5).click();
      await until(() => assert.equal(param('query'), query));
    }
    const shown = await tableOf(arcs);
    assert.deepEqual(shown.map((r) => r.slice(0, 2)), row.flatMap((w, k) => (w > 0 ? [[`5 ${seen(tokens[5])}`, `${k} ${seen(tokens[k])}`]] : [])));
    shown.forEach((r, k) => assert.equal(Math.fround(r[2]), Math.fround(row[k])));
    // A head that is none is the last one, of the last layer.
    await page.to(`transformers?model=r0&text=${encodeURIComponent(text)}&layer=9&head=9`);
    await page.getByText(`${attention[1].name}, head 3`, { exact: true }).waitFor();
    // Last block first; of the last tokens.
    const lens = await page.locator('.lens tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].map((c) => c.textContent)));
    assert.deepEqual(lens, blocks.toReversed().map((b) => [b.name, ...b.lens.slice(-14).map((list) => seen(list[0]))]));
    assert.equal(lens[0].length, 15);
    // As a matrix: a query in each row. A cell chooses its query.
    await page.getByText(`${tokens.length} tokens`, { exact: true }).waitFor();
    await page.to(`transformers?model=r0&text=${encodeURIComponent(text)}&layer=1&head=2&as=matrix`);
    const matrix = page.locator('.attention-main .heat-root');
    await until(async () => {
      const [at, weight] = (await label(matrix, 'Home', ...Array(5).fill('ArrowDown'), 'ArrowRight', 'ArrowRight')).split(' = ');
      assert.equal(at, `5 ${seen(tokens[5])} to 2 ${seen(tokens[2])}`);
      assert.equal(Math.fround(Number(weight)), Math.fround(row[2]));
    });
    await page.keyboard.press('Enter');
    await until(() => assert.equal(param('query'), '5'));
    await until(async () => assert.deepEqual(await page.locator('.tokens [aria-pressed=true]').evaluateAll((all) => all.map((b) => [...document.querySelectorAll('.tokens button')].indexOf(b))), [5]));
    const norms = await label(page.getByLabel(/^norm of the residual stream/), 'Home', 'ArrowDown', ...Array(2).fill('ArrowRight'));
    assert.equal(norms.split(' = ')[0], `${blocks[1].name}, token 2`);
    near(number(norms.split(' = ')[1]), blocks[1].norms[2], 0.001, 'norm');
    const { cache } = await engine('language', { model: 'r0', input });
    await page.getByText(`${cache.length} of ${cache.capacity} tokens, ${(cache.bytes / 1024).toFixed(cache.bytes < 10 * 1024 ? 1 : 0)} KiB`, { exact: true }).waitFor();
    // What changes nothing is not in the address.
    const slide = async (name, value) => page.getByRole('slider', { name: new RegExp(`^${name}`) }).fill(value);
    for (const [name, key, value, said] of [['Temperature', 'temperature', '0.5', '0.5'], ['Top-k', 'top_k', '3', '3'], ['Top-k', 'top_k', '0', null], ['Top-p', 'top_p', '0.5', '0.5'], ['Top-p', 'top_p', '1', null]]) {
      await slide(name, value);
      await until(() => assert.equal(param(key), said), `${name} ${value}`);
    }
    // Another seed draws from the beginning.
    await page.to(`transformers?model=r0&text=${encodeURIComponent(PROMPT)}&drawn=3`);
    await page.getByRole('spinbutton', { name: 'Seed' }).fill('5');
    await until(() => assert.deepEqual([param('seed'), param('drawn')], ['5', null]));
    // Temperature, top-k, top-p and the seed are the tool's.
    const way = { temperature: 0.5, top_k: 3 };
    await page.to(`transformers?model=r0&text=${encodeURIComponent(PROMPT)}&temperature=0.5&top_k=3&seed=5`);
    const { next } = await engine('language', { model: 'r0', input: { text: PROMPT }, ...way });
    await until(async () => assert.deepEqual(await page.locator('.next-tokens [data-probability]').evaluateAll((all) => all.map((e) => Number(e.dataset.probability))), next.slice(0, 16).map((t) => t.probability)));
    assert.equal(await page.locator('.next-tokens li:not(.cut)').count(), 3);
    const few = { temperature: 3, top_p: 0.4 };
    await page.to(`transformers?model=r0&text=${encodeURIComponent(PROMPT)}&temperature=3&top_p=0.4&seed=2`);
    const kept = (await engine('language', { model: 'r0', input: { text: PROMPT }, ...few })).next.slice(0, 16).map((t) => t.kept);
    assert.ok(kept.includes(true) && kept.includes(false));
    await until(async () => assert.deepEqual(await page.locator('.next-tokens li').evaluateAll((all) => all.map((e) => !e.classList.contains('cut'))), kept));
    await slide('Top-p', '1');
    await until(async () => assert.equal(await page.locator('.next-tokens li.cut').count(), 0));
    await slide('Top-p', '0.4');
    await page.getByRole('button', { name: '16 tokens' }).click();
    const nucleus = limpid('generate', 'gpt', '--prompt', PROMPT, '--tokens', '16', '--seed', '2', '--temperature', '3', '--top-p', '0.4');
    assert.notEqual(nucleus, limpid('generate', 'gpt', '--prompt', PROMPT, '--tokens', '16', '--seed', '2', '--temperature', '3'));
    await until(async () => assert.equal(await page.getByRole('textbox', { name: /^Text/ }).inputValue(), nucleus.replace(/\n$/, '')));
    await page.to(`transformers?model=r0&text=${encodeURIComponent(PROMPT)}&temperature=0.5&top_k=3&seed=5`);
    await until(async () => assert.equal(await page.locator('.next-tokens li:not(.cut)').count(), 3));
    await page.getByRole('button', { name: '16 tokens' }).click();
    const written = limpid('generate', 'gpt', '--prompt', PROMPT, '--tokens', '16', '--seed', '5', '--temperature', '0.5', '--top-k', '3');
    await until(async () => assert.equal(await page.getByRole('textbox', { name: /^Text/ }).inputValue(), written.replace(/\n$/, '')));
  },
  'training: samples of the text, the last one first': async () => {
    const samples = readFileSync(join(work, 'gpt/log.jsonl'), 'utf8').split('\n').filter((line) => line.startsWith('{"event":"sample"')).map((line) => JSON.parse(line));
    assert.ok(samples.length > 4);
    await page.to('training?runs=r0');
    await page.locator('.sample').first().waitFor();
    const shown = await page.locator('section[aria-labelledby=samples-title] > div').evaluateAll((all) => all.map((e) => [e.querySelector('p').textContent, e.querySelector('pre').textContent]));
    assert.deepEqual(shown, samples.slice(-4).reverse().map((s) => [`after ${s.step} steps`, s.text]));
  },
  'graph: boxes side by side, the body of an op, and arrows to the sides': async () => {
    await page.to('graph?model=r0');
    await page.getByRole('button', { name: 'Unfold all' }).click();
    const places = () =>
      page.locator('.graph-canvas .box').evaluateAll((all) =>
        all.map((g) => {
          const [x, y] = g.getAttribute('transform').match(/-?[\d.]+/g).map(Number);
          const rect = g.querySelector('rect:not(.under)');
          return { id: g.dataset.id, open: g.classList.contains('open'), x, y, right: x + Number(rect.getAttribute('width')), bottom: y + Number(rect.getAttribute('height')) };
        }),
      );
    await until(async () => assert.ok((await places()).filter((p) => p.id.startsWith('n')).length > 30));
    const all = await places();
    const leaves = all.filter((p) => !p.open);
    const apart = (a, b) => a.right <= b.x || b.right <= a.x || a.bottom <= b.y || b.bottom <= a.y;
    const within = (a, b) => a.x >= b.x && a.right <= b.right && a.y >= b.y && a.bottom <= b.bottom;
    leaves.forEach((a, i) => leaves.slice(i + 1).forEach((b) => assert.ok(apart(a, b), `${a.id} on ${b.id}`)));
    for (const a of leaves) for (const b of all.filter((p) => p.open)) assert.ok(apart(a, b) || within(a, b), `${a.id} over the border of ${b.id}`);
    await page.getByRole('searchbox', { name: 'Find' }).fill('layers.0.self_attn.k_proj.weight');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    const middle = (id) => (all.find((p) => p.id === id).x + all.find((p) => p.id === id).right) / 2;
    await until(() => assert.match(param('at') ?? '', /^n/));
    await page.locator('.graph-canvas svg').focus();
    for (const [key, sign] of [['ArrowRight', 1], ['ArrowLeft', -1]]) {
      const before = param('at');
      await page.keyboard.press(key);
      await until(() => assert.notEqual(param('at'), before));
      assert.equal(Math.sign(middle(param('at')) - middle(before)), sign, `${key} from ${before} to ${param('at')}`);
    }
    await page.getByRole('searchbox', { name: 'Find' }).fill('layer_norm');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Show its body' }).click();
    await page.getByRole('navigation', { name: 'Bodies' }).getByText('layer_norm').waitFor();
    await until(async () => assert.ok((await page.locator('.box.op .title').allTextContents()).includes('sqrt')));
    await page.getByRole('navigation', { name: 'Bodies' }).getByRole('button').click();
    await until(() => assert.equal(param('node'), null));
  },
  'transformers: tokens that are parts of characters': async () => {
    const prompt = 'η γάτ';
    await page.to(`transformers?model=r1&text=${encodeURIComponent(prompt)}`);
    await until(async () => assert.equal(await page.locator('.tokens li').count(), 9));
    assert.equal(await page.locator('.tokens li').first().textContent(), '<ce>');
    for (let i = 1; i <= 7; ++i) {
      await page.getByRole('button', { name: 'Next token' }).click();
      await until(async () => assert.equal(await page.locator('.tokens li').count(), 9 + i));
    }
    assert.equal(await page.getByRole('textbox', { name: /^Text/ }).inputValue(), limpid('generate', 'greek', '--prompt', prompt, '--tokens', '7', '--seed', '0').replace(/\n$/, ''));
  },
  'forward: the rows of a text, one for each token': async () => {
    await page.to(`forward?model=r0&text=${encodeURIComponent(PROMPT)}`);
    const next = limpidJson('run', 'gpt', '--prompt', PROMPT).next;
    const seen = (t) => t.slice(1, -1).replaceAll(' ', '\u2423'); // the tool has it in quotes
    await until(async () => assert.equal(await page.locator('.answer .bar-name').first().textContent(), seen(next[0].text)), 'the likeliest token');
    const cells = page.locator('.layer', { has: page.getByRole('heading', { name: 'layers.0.mlp.up_proj', exact: true }) }).locator('.heat-root');
    await cells.focus();
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
    await until(async () => assert.match(await page.locator('.neuron .row').first().textContent(), /neuron 2of 128, row 1/));
    const chosen = await cells.locator('.heat-mark.chosen').evaluate((e) => [e.style.left, e.style.top].map(parseFloat));
    near(chosen[0], (100 * 2) / 128, 1e-4, 'its column');
    near(chosen[1], 100 / PROMPT.length, 1e-4, 'its row');
    // What is typed is the text, and an example of the data is shown as one.
    await page.locator('.input-panel').getByRole('textbox', { name: 'Text' }).fill('the mat');
    await until(() => assert.deepEqual([param('from'), param('text')], ['text', 'the mat']));
    await page.to('forward?model=r0&from=data&index=1');
    const { examples } = await engine('data', { model: 'r0', first: 1 });
    await until(async () => assert.equal(await page.locator('.input-panel pre.sample').textContent({ timeout: 1000 }), examples[0].text));
    await page.to(`backward?model=r0&text=${encodeURIComponent(PROMPT)}`);
    await until(async () => assert.equal(await page.locator('.field select option').first().textContent(), `next token ${seen(next[0].text)}`));
    await until(async () => assert.equal(Number(await page.locator('[data-number=value]').textContent()), next[0].logit), 'the logit of the last token');
  },
  'backward: the next token after the last window of a text': async () => {
    await page.to('backward?model=r0&from=data&index=0');
    await until(async () => {
      // Until the number of examples is known, there is none before the first.
      if (param('index') === '0') await page.getByRole('button', { name: 'Previous example' }).click();
      assert.notEqual(param('index'), '0');
    }, 'the last window');
    const index = param('index');
    const { prediction, logits } = limpidJson('run', 'gpt', '--data', 'text:text.txt', '--index', index).answers[0];
    await page.to(`backward?model=r0&from=data&index=${index}&of=${prediction}`);
    await until(async () => assert.equal(Number(await page.locator('[data-number=value]').textContent()), logits[prediction]), 'its logit');
  },
  'what if: a unit in every row of a text': async () => {
    await page.to(`whatif?model=r0&text=${encodeURIComponent(PROMPT)}&all=1`);
    const layer = page.locator('.layer', { has: page.getByRole('heading', { name: 'layers.0.mlp.up_proj', exact: true }) });
    assert.match(await label(layer.locator('.heat-root'), ...Array(3).fill('ArrowRight'), 'ArrowDown'), /^1, 2 = /);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'the unit in every row' }).click();
    await page.getByRole('button', { name: 'Zero' }).click();
    await until(async () => assert.match((await page.locator('.edits li .mono').allTextContents()).join(), /^%\d+ \[all, 2\]: set to 0$/));
    await until(async () => assert.equal(await layer.locator('.tag').textContent(), `${PROMPT.length} changed`));
  },
  'nothing went wrong on the page': () => assert.deepEqual(page.problems, []),
});
await browser.close();
await server.stop();
process.exit(failed ? 1 : 0);
