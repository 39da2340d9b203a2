// Training on the page: a finished run's numbers, runs started, paused and resumed there, a killed one, and any step again.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { begin, limpid, pageOf, paths, tool, until, view, work } from './browser.mjs';

const browser = await begin();
const eventsOf = (run) =>
  readFileSync(join(work, run, 'log.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line));
const modelHash = (model) => limpid('hash', model, '--data', 'moons').match(/model\s+(\S+)/)[1];

limpid('train', '--data', 'moons', '--epochs', '6', '--out', 'a');
limpid('train', '--data', 'moons', '--epochs', '6', '--lr', '0.02', '--out', 'b');
// One that is killed in the middle.
limpid('train', '--data', 'moons', '--epochs', '60', '--checkpoint-every', '50', '--out', 'whole');
const killed = spawn(tool, ['train', '--data', 'moons', '--epochs', '60', '--checkpoint-every', '50', '--out', 'killed'], { cwd: work, stdio: 'ignore' });
await until(() => assert.ok(eventsOf('killed').some((e) => e.event === 'epoch' && e.epoch >= 3)), 'the run that is killed');
killed.kill('SIGKILL');
await new Promise((resolve) => killed.on('exit', resolve));
const unfinished = !eventsOf('killed').some((e) => e.event === 'end');

// The first run with one bit of one logged loss changed, and a finding with remedies of settings and of words, as the doctor writes them.
const FOUND = {
  ...{ event: 'finding', rule: 'overfitting', severity: 'warning', layer: '', symptom: 'the test loss rose', cause: 'the network learns its examples by heart' },
  ...{ fix: '--epochs 32, or more data', step: 9, remedies: [{ settings: [{ key: 'epochs', value: 32 }] }, { settings: [{ key: 'model.dropout', value: 0.2 }, { key: 'epochs', value: 8 }] }, { words: 'more data' }] },
};
const PLANTED = { step: 9, bit: 3 };
// What the log of that run says it was: its classes, and a command with a word that a shell must be kept from.
const CLASSES = ['upper', 'lower'];
const WORDS = ['limpid', 'train', '--data', "csv:it's $HOME.csv,target=y", '--out', 'planted'];
const f64 = (x) => Buffer.from(new Float64Array([x]).buffer).readBigUInt64LE();
cpSync(join(work, 'a'), join(work, 'planted'), { recursive: true });
writeFileSync(
  join(work, 'planted/log.jsonl'),
  eventsOf('a')
    .map((e) => {
      const loss = e.event === 'step' && e.step === PLANTED.step ? Number(new Float64Array(new BigUint64Array([f64(e.loss) ^ (1n << BigInt(PLANTED.bit))]).buffer)[0]) : e.loss;
      if (e.event === 'run') return `${JSON.stringify({ ...e, command: WORDS, data: { ...e.data, class_names: CLASSES } })}\n`;
      return `${e.event === 'end' ? `${JSON.stringify(FOUND)}\n` : ''}${JSON.stringify(e.loss === undefined ? e : { ...e, loss })}\n`;
    })
    .join(''),
);

// More runs than a browser has connections to a server, one of them without its checkpoint's configuration.
const MANY = Array.from({ length: 6 }, (_, i) => `many${i}`);
for (const name of MANY) cpSync(join(work, 'a'), join(work, name), { recursive: true });
cpSync(join(work, 'whole'), join(work, 'other'), { recursive: true });
writeFileSync(join(work, 'other/config.json'), readFileSync(join(work, 'whole/config.json'), 'utf8').replace('"moons"', '"circles"'));
writeFileSync(join(work, 'other/log.jsonl'), readFileSync(join(work, 'whole/log.jsonl'), 'utf8').split('\n').slice(0, 9).join('\n') + '\n');

const server = await view('a', 'b/', 'killed', 'planted', 'other', ...MANY, '--runs', 'started');
const page = await pageOf(browser, server.address);
const row = (name) => page.locator('table.runs tbody tr', { has: page.locator('th', { hasText: new RegExp(`^${name}$`) }) });
/** Resumes a run once, where it is not at its end: a run that is quick may be there before it could be paused. */
async function resumeToTheEnd(name) {
  let resumed = false;
  await until(async () => {
    const resume = row(name).getByRole('button', { name: 'Resume' });
    if (!resumed && (await resume.count())) {
      await resume.click({ timeout: 1000 });
      resumed = true;
    }
    assert.equal(await row(name).locator('td').nth(1).textContent(), 'finished');
  }, `${name} is finished`, 60_000);
}
const plain = (text) => text.replaceAll(',', '').replaceAll('\u2212', '-');

const failed = await paths({
  'a finding with a remedy of words': async () => {
    await page.to('training?runs=r3');
    const finding = page.locator('.finding', { hasText: FOUND.symptom });
    await finding.waitFor();
    assert.match(await finding.textContent(), /or more data/);
    assert.match(await finding.textContent(), /step 9 · overfitting$/);
    assert.match(await finding.textContent(), new RegExp(`Likely cause: ${FOUND.cause}To try: ${FOUND.fix}`));
    assert.deepEqual(await finding.locator('.tag').allTextContents(), ['warning']);
    assert.deepEqual(await finding.getByRole('button').allTextContents(), ['epochs = 32', 'model.dropout = 0.2, epochs = 8']);
    const names = (part) => page.locator(`table.confusion ${part} th`).allTextContents();
    assert.deepEqual([await names('thead'), await names('tbody')], [CLASSES, CLASSES]);
    const command = page.locator('section', { hasText: 'Command to reproduce it' }).locator('pre');
    assert.deepEqual(execFileSync('sh', ['-c', `printf '%s\\n' ${await command.textContent()}`], { encoding: 'utf8' }).trim().split('\n'), WORDS);
    assert.deepEqual(page.problems, []);
  },
  'another remedy while the form is open': async () => {
    await page.getByRole('button', { name: 'Start a run' }).click();
    const epochs = page.locator('form label.field', { has: page.locator('span:text-is("epochs")') }).first().locator('input');
    await epochs.waitFor();
    await page.locator('.finding', { hasText: FOUND.symptom }).getByRole('button', { name: 'epochs = 32' }).click();
    await until(async () => assert.equal(await epochs.inputValue(), '32'));
  },
  'a log that cannot be read says why': async () => {
    await page.route('**/api/run/log', (route) => route.fulfill({ status: 400, json: { error: { code: 'format', message: 'It is no log.' } } }), { times: 1 });
    await page.to('training?runs=r0');
    await page.getByText('a: It is no log.', { exact: true }).waitFor();
    assert.equal(await row('a').locator('td').nth(1).textContent(), 'finished');
    // Two are shown unless one says which.
    await page.to('training');
    await row('a').locator('td.number[title]').waitFor();
    assert.deepEqual(await page.locator('table.runs [type=checkbox]').evaluateAll((all) => all.map((c) => c.checked)), [true, true, ...Array(3 + MANY.length).fill(false)]);
  },
  'many runs at once': async () => {
    const ids = Array.from({ length: 5 + MANY.length }, (_, i) => `r${i}`);
    await page.to(`training?runs=${ids.join()}`);
    await until(async () => assert.equal(await page.locator('table.runs td[title]:not([title=""]):not([title^="Its"])').count(), ids.length));
    // What else is asked is still answered.
    await page.getByRole('link', { name: 'Lab' }).click();
    await page.locator('.experiment canvas').first().waitFor();
    await page.to(`training?runs=${ids.join()}`);
    await page.getByRole('button', { name: 'a', exact: true }).click();
    await until(async () => assert.equal(plain(await page.locator('.copy pre').last().textContent()).trim().split(' ').at(-1), 'a'), 'the command of a run');
  },
  'a run that cannot go on says why': async () => {
    await page.to('training?runs=r4');
    assert.equal(await row('other').locator('td').nth(1).textContent(), 'not ended');
    assert.match(await row('other').locator('td').nth(1).getAttribute('title'), /^Its log has no end: /);
    await row('other').getByRole('button', { name: 'Resume' }).click();
    await page.locator('.toast', { hasText: 'another configuration or other data' }).waitFor();
    assert.notEqual(await row('other').locator('td').nth(1).textContent(), 'running');
  },
  'two runs, one over the other': async () => {
    await page.to('training?runs=r0,r5');
    await page.getByText('They do not differ.', { exact: true }).waitFor();
    await page.to('training?runs=r0,r1');
    await row('a').locator('td[title]').waitFor();
    for (const name of ['a', 'b']) {
      const steps = eventsOf(name).filter((e) => e.event === 'step');
      await until(async () => assert.equal(Number(await row(name).locator('td[title]').getAttribute('title')), steps.at(-1).loss), 'the last loss');
      await until(async () => assert.equal(plain(await row(name).locator('td').nth(2).textContent()).split(' ')[0], String(steps.at(-1).step)), 'the last step');
      const accuracy = eventsOf(name).findLast((e) => e.event === 'epoch').validation.accuracy;
      await until(async () => assert.equal(await row(name).locator('td').nth(4).textContent(), `${(100 * accuracy).toFixed(2)}\u202f%`), 'the last accuracy');
    }
    assert.equal(await row('a').locator('td').nth(0).textContent(), 'moons');
    const [ofA, ofB] = await page.locator('table.runs .run-name i').evaluateAll((all) => all.slice(0, 2).map((i) => getComputedStyle(i).backgroundColor));
    assert.notEqual(ofA, ofB, 'their colours');
    const diff = page.locator('section', { hasText: 'How their configurations differ' }).locator('tbody tr');
    await until(async () => assert.deepEqual(await diff.evaluateAll((all) => all.map((tr) => [...tr.cells].map((c) => c.textContent))), [['optimizer.lr', '0.005', '0.02']]));
    // Below are the details of the first run, or of the one that is chosen.
    const command = page.locator('section', { hasText: 'Command to reproduce it' }).locator('pre');
    for (const name of ['b', 'a']) {
      await page.getByRole('group', { name: 'Which run below' }).getByRole('button', { name, exact: true }).click();
      await until(async () => assert.equal((await command.textContent({ timeout: 1000 })).trim().split(' ').at(-1), name));
    }
    const confusion = eventsOf('a').find((e) => e.event === 'end').test.confusion;
    const shown = () => page.locator('table.confusion tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].slice(1).map((c) => Number(c.textContent) || 0)));
    await until(async () => assert.deepEqual(await shown(), confusion), 'the confusion matrix');
    const { accuracy, loss } = eventsOf('a').find((e) => e.event === 'end').test;
    const [, right, lost] = (await page.locator('section', { hasText: 'Confusion matrix on the test set' }).locator('p').first().textContent()).match(/^accuracy (\S+)\u202f%, loss (\S+)$/);
    assert.equal(right, (100 * accuracy).toFixed(2));
    assert.ok(Math.abs(Number(lost) - loss) < 1e-3 * loss, `${lost}, ${loss} is expected`);
  },
  'the loss as a chart, a cursor and a table': async () => {
    await page.to('training?runs=r0&smooth=0');
    const chart = page.locator('figure.chart', { hasText: 'Loss' }).first();
    const steps = eventsOf('a').filter((e) => e.event === 'step');
    await until(async () => {
      await chart.locator('.plot').focus();
      await page.keyboard.press('Home');
      assert.match(await chart.locator('output').textContent(), /^step 1: a /);
    });
    // A page is a twentieth of the steps.
    const last = steps.at(-1).step;
    for (const [key, step] of [['ArrowRight', 2], ['ArrowLeft', 1], ['End', last], ['ArrowLeft', last - 1], ['Home', 1], ['PageDown', 1 + Math.ceil(last / 20)], ['PageUp', 1]]) {
      await page.keyboard.press(key);
      await until(async () => assert.match(await chart.locator('output').textContent(), new RegExp(`^step ${step}: a `)), key);
    }
    await page.keyboard.press('Escape');
    await until(async () => assert.equal(await chart.locator('output').textContent(), ''), 'no cursor');
    await chart.locator('summary').focus();
    await page.keyboard.press('Enter');
    await until(async () => {
      const rows = await chart.locator('tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].slice(0, 2).map((c) => c.textContent)));
      const losses = new Map(rows.filter(([, loss]) => loss !== '').map(([step, loss]) => [Number(step), Number(loss)]));
      for (const e of steps) assert.equal(losses.get(e.step), e.loss, `step ${e.step}`);
    }, 'the table');
  },
  'the other charts of a run, and the smoothed loss': async () => {
    const steps = eventsOf('a').filter((e) => e.event === 'step');
    const [epochs, probes] = ['epoch', 'probe'].map((kind) => eventsOf('a').filter((e) => e.event === kind));
    const tableOf = async (name) => {
      const chart = page.locator('figure.chart', { has: page.locator(`figcaption span:text-is("${name}")`) });
      if (!(await chart.locator('tbody').count())) await chart.locator('summary').click();
      await chart.locator('tbody tr').first().waitFor();
      return chart.locator('table').evaluate((t) => [...t.rows].map((tr) => [...tr.cells].map((c) => c.textContent)));
    };
    // What is 0 or has no number at a step is empty.
    const columns = (x, ...ys) => x.map((at, i) => [at, ...ys.map((y) => y[i])]);
    const has = (rows, head, expected) => {
      assert.deepEqual(rows[0], head);
      assert.deepEqual(rows.slice(1).map((row) => row.map(Number)), expected);
    };
    const drawn = (name) => page.locator('figure.chart', { has: page.locator(`figcaption span:text-is("${name}")`) }).locator('.plot canvas').evaluate((c) => c.toDataURL());
    await page.to('training?runs=r0&smooth=0');
    await page.locator('figure.chart').first().waitFor();
    await until(async () => has(await tableOf('Learning rate'), ['step', 'a'], columns(steps.map((e) => e.step), steps.map((e) => e.learning_rate))));
    has(await tableOf('Gradient norm'), ['step', 'a'], columns(steps.map((e) => e.step), steps.map((e) => e.gradient_norm)));
    has(await tableOf('Validation accuracy'), ['step', 'a'], columns(epochs.map((e) => e.step), epochs.map((e) => e.validation.accuracy)));
    await page.getByRole('combobox', { name: 'Metric' }).selectOption('macro_recall');
    has(await tableOf('Validation macro recall'), ['step', 'a'], columns(epochs.map((e) => e.step), epochs.map((e) => e.validation.macro_recall)));
    const layers = probes[0].layers.map((l) => l.name);
    const ofLayers = (of) => columns(probes.map((p) => p.step), ...layers.map((_, k) => probes.map((p) => of(p.layers[k]))));
    has(await tableOf('Standard deviation of activations'), ['step', ...layers], ofLayers((l) => l.activations.at(-1).std));
    has(await tableOf('Share of dead units'), ['step', ...layers], ofLayers((l) => l.activations.at(-1).dead_share));
    has(await tableOf('Gradient norm of weights'), ['step', ...layers], ofLayers((l) => l.parameters[0].gradient_norm));
    has(await tableOf('Update-to-weight ratio'), ['step', ...layers], ofLayers((l) => l.parameters[0].update_norm / l.parameters[0].norm));
    // Weighted means of what was, whose weights halve with every step and add up to 1.
    await page.to('training?runs=r0&smooth=0.5');
    const halves = (of) =>
      steps.map((_, i) => {
        const weights = Array.from({ length: i + 1 }, (_, k) => 0.5 ** k);
        return weights.reduce((s, w, k) => s + w * steps[i - k][of], 0) / weights.reduce((s, w) => s + w);
      });
    await until(async () => {
      const [head, ...rows] = await tableOf('Loss');
      assert.deepEqual(head, ['step', 'a, unsmoothed', 'a', 'a, validation']);
      const at = new Map(rows.map((row) => [Number(row[0]), row]));
      const [losses, norms] = [halves('loss'), halves('gradient_norm')];
      steps.forEach((e, i) => assert.ok(Math.abs(Number(at.get(e.step)[2]) - losses[i]) < 1e-12, `step ${e.step}`));
      (await tableOf('Gradient norm')).slice(1).forEach((row, i) => assert.ok(Math.abs(Number(row[1]) - norms[i]) < 1e-9, `step ${row[0]}: ${row[1]}, ${norms[i]} is expected`));
      for (const e of epochs) assert.equal(Number(at.get(e.step)[3]), e.validation.loss);
    }, 'the smoothed loss');
    // A logarithmic chart is another drawing, and says the numbers themselves.
    await page.to('training?runs=r0&smooth=0');
    const linear = await until(async () => {
      assert.equal((await tableOf('Loss'))[0].length, 3);
      return [await drawn('Loss'), await drawn('Gradient norm')];
    });
    await page.to('training?runs=r0&smooth=0&log=1');
    for (const [i, name] of ['Loss', 'Gradient norm'].entries()) await until(async () => assert.notEqual(await drawn(name), linear[i]), name);
    const chart = page.locator('figure.chart', { hasText: 'Loss' }).first();
    await until(async () => {
      await chart.locator('.plot').focus();
      await page.keyboard.press('Home');
      assert.equal(await chart.locator('output').textContent({ timeout: 1000 }), `step 1: a ${steps[0].loss.toFixed(3)}`);
    });
    assert.equal(Number((await tableOf('Loss'))[1][1]), steps[0].loss);
  },
  'smoothing and a logarithm are in the address': async () => {
    const param = (name) => new URLSearchParams(page.url().split('?').at(-1)).get(name);
    await page.to('training?runs=r0');
    await page.getByRole('slider', { name: /^Smoothing/ }).fill('0.25');
    await until(() => assert.equal(param('smooth'), '0.25'));
    const logarithmic = page.getByRole('checkbox', { name: 'logarithmic' });
    await logarithmic.check();
    await until(() => assert.equal(param('log'), '1'));
    await logarithmic.uncheck();
    await until(() => assert.equal(param('log'), null));
  },
  'runs are chosen by their boxes': async () => {
    await page.to('training?runs=r0');
    const runs = (list) => until(() => assert.match(page.url(), new RegExp(`[?&]runs=${list}$`)));
    await row('b').getByRole('checkbox').check();
    await runs('r0,r1');
    const colour = () => row('b').locator('.run-name i').evaluate((i) => getComputedStyle(i).backgroundColor);
    const before = await colour();
    await row('a').getByRole('checkbox').uncheck();
    await runs('r1');
    assert.equal(await colour(), before, 'a run keeps its colour');
    await row('b').getByRole('checkbox').uncheck();
    await runs('none');
  },
  'runs are followed while the page is in sight': async () => {
    const asked = [];
    const keep = (r) => r.url().includes('/api/run/') && asked.push(new URL(r.url()).pathname);
    page.on('request', keep);
    await page.to('training?runs=r0');
    await row('a').locator('td[title]').waitFor();
    await until(() => assert.equal(asked.at(-1), '/api/run/events'));
    asked.length = 0;
    const turned = (hidden) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await turned(true);
    await page.evaluate(() => document.hidden);
    assert.deepEqual(asked, [], 'nothing while it is hidden');
    await turned(false);
    await until(() => assert.deepEqual(asked, ['/api/run/log', '/api/run/events']), 'read once, and followed from there');
    page.off('request', keep);
  },
  'compare: two runs, and a planted bit': async () => {
    const lossOf = (name, step) => eventsOf(name).find((e) => e.event === 'step' && e.step === step).loss;
    const numbers = () => page.locator('.first-table tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].slice(1, 3).map((c) => c.textContent)));
    const verdict = (text) => until(async () => assert.equal(await page.locator('.verdict').textContent(), text), 'the verdict');
    await page.to('compare?what=runs&ra=r0&rb=r3');
    await verdict(`They first differ at step ${PLANTED.step}: loss.`);
    const [a, b] = await numbers();
    assert.deepEqual([a, b].map(([decimal]) => Number(decimal)), ['a', 'planted'].map((name) => lossOf(name, PLANTED.step)));
    assert.deepEqual([a, b].map(([, hex]) => BigInt(`0x${hex.replace('0x', '')}`)), ['a', 'planted'].map((name) => f64(lossOf(name, PLANTED.step))));
    assert.equal(f64(Number(a[0])) ^ f64(Number(b[0])), 1n << BigInt(PLANTED.bit));
    // Trained again, the two are the same: what differs is the log.
    await page.getByRole('checkbox', { name: /^compute the steps again/ }).check();
    await until(async () => assert.equal(await page.getByText('Comparing').count(), 0));
    await verdict(`They first differ at step ${PLANTED.step}: loss.`);
    assert.equal(await page.getByRole('heading', { name: 'The first difference' }).count(), 0);
    // A copy is the same, in the log and trained again.
    await page.to('compare?what=runs&ra=r0&rb=r5');
    await verdict(`Bit-identical at the ${eventsOf('a').filter((e) => e.event === 'step').length} steps in both logs.`);
    assert.deepEqual([await numbers(), await page.locator('figure.chart').count()], [[], 0]);
    await page.getByRole('checkbox', { name: /^compute the steps again/ }).check();
    await verdict('Bit-identical after every step.');
    await page.getByRole('combobox', { name: 'B', exact: true }).selectOption('r6');
    await until(() => assert.match(page.url(), /[?&]ra=r0&rb=r6&/));
    // Another learning rate: the first update that differs, and the numbers of the logs after it.
    await page.to('compare?what=runs&ra=r0&rb=r1');
    const first = eventsOf('a').find((e) => e.event === 'step' && e.loss !== lossOf('b', e.step));
    await verdict(`They first differ at step ${first.step}: loss.`);
    await page.getByText('Their configurations differ in optimizer.lr.').waitFor();
    const growth = page.locator('figure.chart', { hasText: 'How the difference grows' });
    await growth.locator('summary').click();
    await growth.locator('tbody tr').first().waitFor();
    const grown = await growth.locator('tbody tr').evaluateAll((all) => all.map((tr) => [...tr.cells].map((c) => Number(c.textContent))));
    assert.ok(grown.length > 100);
    for (const [step, difference] of grown) assert.equal(difference, Math.abs(lossOf('a', step) - lossOf('b', step)), `step ${step}`);
    assert.deepEqual((await numbers()).map(([decimal]) => Number(decimal)), [first.loss, lossOf('b', first.step)]);
    await page.getByRole('checkbox', { name: /^compute the steps again/ }).check();
    await until(async () => assert.match(await page.locator('.verdict').first().textContent(), /^They first differ at step 1: layers\.0\..*\.$/), 'the first update');
    // A name is shown as it is.
    await page.route('**/api/compare/runs', async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), what: 'embed_tokens.weight' } }), { times: 1 });
    await page.to('compare?what=runs&ra=r1&rb=r0');
    await verdict(`They first differ at step ${first.step}: embed_tokens.weight.`);
  },
  'the report of a run': async () => {
    await page.to('training?runs=r0');
    const [report] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', { name: 'The report of a' }).click()]);
    await report.locator('h1').waitFor();
    assert.equal(await report.title(), 'moons: a training run of limpid');
    await report.getByText('limpid view RUN').waitFor();
    assert.notEqual(await report.locator('body').evaluate((body) => getComputedStyle(body).maxWidth), 'none', 'its style');
    await report.close();
  },
  'time machine: the bits of any step': async () => {
    await page.to('training?runs=r0');
    const last = eventsOf('a').filter((e) => e.event === 'step').at(-1).step;
    const to = async (step) => {
      const exact = page.getByRole('spinbutton', { name: 'Step, exactly' });
      await exact.fill(String(step));
      await exact.press('Enter');
      await until(async () => assert.match(plain(await page.locator('[data-number=step]').textContent()), new RegExp(`^${step} of`)), `step ${step}`);
      return page.locator('[data-number=hash]').textContent();
    };
    assert.equal(await to(last), modelHash('a'));
    const compared = page.locator('dt:text-is("saved checkpoint") + dd');
    assert.equal(await compared.textContent(), 'the same bits');
    // A step outside of the run becomes the nearest one.
    const exactly = page.getByRole('spinbutton', { name: 'Step, exactly' });
    await page.locator('form.time-row').evaluate((form) => (form.noValidate = true));
    for (const [text, step] of [['-3', 0], [String(last + 9), last]]) {
      await exactly.fill(text);
      await page.getByRole('button', { name: 'Go there' }).click();
      await until(async () => assert.match(plain(await page.locator('[data-number=step]').textContent()), new RegExp(`^${step} of ${last} `)), text);
    }
    const middle = await to(17);
    assert.notEqual(middle, modelHash('a'));
    const [, from] = (await page.locator('[data-number=step]').textContent()).match(/^17 of 192, from step (\d+) in /);
    assert.ok(Number(from) < 17, `from step ${from}`);
    assert.equal(Number(await page.locator('[data-number=loss]').getAttribute('title')), eventsOf('a').find((e) => e.event === 'step' && e.step === 17).loss);
    await page.route('**/api/run/step', async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), verified: false } }), { times: 1 });
    await to(last);
    assert.equal(await compared.textContent(), 'other bits');
    await page.route('**/api/run/step', (route) => route.fulfill({ status: 404, json: { error: 'the run is gone' } }), { times: 1 });
    await page.getByRole('button', { name: 'Go there' }).click();
    await page.getByText('the run is gone').waitFor();
    // The slider goes there by itself.
    await page.getByRole('slider', { name: 'Step', exact: true }).fill('9');
    await until(async () => assert.match(await page.locator('[data-number=step]').textContent(), /^9 of/));
    await page.getByRole('button', { name: 'Its weights' }).click();
    await until(async () => assert.equal(await page.locator('main h1').textContent(), 'Graph'));
    assert.match(page.url(), /model=r0@9|model=r0%409/);
    await page.to('training?runs=r0');
    await to(17);
    await page.getByRole('button', { name: 'Its activations' }).click();
    await page.locator('.layer').first().waitFor();
    assert.match(page.url(), /model=r0@17|model=r0%4017/);
  },
  'a run started here, paused, resumed, and repeated by its configuration': async () => {
    await page.to('training?runs=r0');
    await page.getByRole('button', { name: 'Start a run' }).click();
    const form = page.getByRole('form', { name: 'Start a run' });
    const field = (label) => form.locator('label.field', { has: page.locator(`span:text-is("${label}")`) }).first().locator('input');
    await field('epochs').waitFor();
    assert.equal(await field('name').inputValue(), `a-${6 + MANY.length}`);
    await field('seed').fill('9007199254740993');
    await form.getByRole('button', { name: 'Start', exact: true }).click();
    await form.getByText('seed: expected an integer of at most 9007199254740991, got 9007199254740993').waitFor();
    await form.getByRole('button', { name: 'Cancel' }).click();
    await until(async () => assert.equal(await form.count(), 0));
    await page.getByRole('button', { name: 'Start a run' }).click();
    await field('name').fill('here');
    await field('epochs').fill('40');
    await form.locator('summary').click();
    await field('model.layers').fill('2, 8, 2');
    assert.deepEqual(await form.locator('label.field', { has: page.locator('.tag') }).locator('.mono').allTextContents(), ['epochs', 'model.layers']);
    await form.getByRole('button', { name: 'Start', exact: true }).click();
    await row('here').waitFor();
    // It is shown beside the one that was shown, and is the one below.
    const param = (name) => new URLSearchParams(page.url().split('?').at(-1)).get(name);
    await until(() => assert.deepEqual([param('runs').split(',')[0], param('runs').split(',')[1]], ['r0', param('of')]));
    assert.ok(await row('here').getByRole('checkbox').isChecked());
    await until(async () => assert.match(await page.locator('section', { hasText: 'Command to reproduce it' }).locator('pre').textContent({ timeout: 1000 }), /^limpid train --config \S*started\/here\/config\.json --out \S*started\/here-again$/));
    await until(async () => {
      const pause = row('here').getByRole('button', { name: 'Pause' });
      if (await pause.count()) await pause.click({ timeout: 1000 });
      assert.match(await row('here').locator('td').nth(1).textContent(), /paused|finished/);
    }, 'paused');
    await resumeToTheEnd('here');
    assert.deepEqual(JSON.parse(readFileSync(join(work, 'started/here/config.json'))).model.layers, [2, 8, 2]);
    limpid('train', '--config', 'started/here/config.json', '--out', 'again');
    assert.deepEqual(readFileSync(join(work, 'started/here/model.safetensors')), readFileSync(join(work, 'again/model.safetensors')));
  },
  'a run that is stopped': async () => {
    await page.to('training?runs=r0');
    await page.getByRole('button', { name: 'Start a run' }).click();
    await page.locator('form').getByLabel('name', { exact: true }).fill('long');
    await page.locator('form label.field', { has: page.locator('span:text-is("epochs")') }).first().locator('input').fill('100000');
    await page.locator('form').getByRole('button', { name: 'Start', exact: true }).click();
    await until(async () => assert.equal(plain(await row('long').locator('td').nth(2).textContent()).split(' / ')[1], String(32 * 100_000)), 'its length');
    await row('long').getByRole('button', { name: 'Stop' }).click();
    await until(async () => assert.equal(await row('long').locator('td').nth(1).textContent(), 'stopped'));
    assert.equal(await row('long').getByRole('button', { name: 'Pause' }).count(), 0);
  },
  'a killed run resumed here ends as if nothing had been': async () => {
    await page.to('training?runs=r2');
    if (unfinished) await resumeToTheEnd('killed');
    assert.ok(existsSync(join(work, 'killed/model.safetensors')));
    assert.equal(modelHash('killed'), modelHash('whole'));
  },
  'nothing went wrong on the page': () => assert.deepEqual(page.problems, []),
});
await browser.close();
await server.stop();
process.exit(failed ? 1 : 0);
