// The playground, the lab and a language model on the page. Exports must equal the tool's results, down to the hash.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { accessible, begin, fits, limpid, limpidJson, pageOf, paths, tool, until, view, web, work } from './browser.mjs';

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
  await page.getByRole('button', { name: /^Export/ }).click();
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
}
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
    await exportAndRepeat('moons');
  },
  'playground: three classes, and the command gives the same hash': async () => {
    await page.to('playground?data=moons&hidden=5');
    await page.getByRole('button', { name: 'Three arms' }).click();
    await until(() => assert.match(page.url(), /data=arms/));
    await until(async () => assert.equal(await steps(), 0));
    await until(async () => {
      if ((await steps()) < 3) await page.getByRole('button', { name: 'One step' }).click();
      assert.ok((await steps()) >= 3);
    }, 'three steps');
    await exportAndRepeat('arms');
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
  },
  'playground: a table of one’s own': async () => {
    await page.to('playground?data=moons&hidden=4');
    const rows = Array.from({ length: 60 }, (_, i) => `${Math.sin(i)},${Math.cos(i * 1.7)},${Math.sin(i) > 0.2 ? 'up' : 'down'}`);
    const csv = `a,b,kind\n${rows.join('\n')}\n`;
    writeFileSync(join(work, 'data.csv'), csv);
    await page.locator('#csv').setInputFiles({ name: 'data.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await until(async () => assert.match(await page.locator('.axis-names').textContent(), /^a .* b |^a .*b /));
    assert.deepEqual((await page.locator('.surface .legend li').allTextContents()).sort(), ['down', 'up']);
    // A table of another kind: one sentence, and nothing is lost.
    await page.locator('#csv').setInputFiles({ name: 'wide.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b,c,d\n1,2,3,x\n4,5,6,y\n7,8,9,x\n') });
    await page.getByText('wide.csv: playground: expected data with one or two features, got 3').waitFor();
    assert.match(await page.locator('.axis-names').textContent(), /^a .*b /);
    // A step requested while the network restarts is ignored.
    await until(async () => {
      if ((await steps()) === 0) await page.getByRole('button', { name: 'One step' }).click();
      assert.ok((await steps()) > 0);
    }, 'a step');
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
    await page.to('lab?of=perceptron');
    await page.getByText('Not learnt.').waitFor();
    await page.getByRole('button', { name: 'AND', exact: true }).click();
    await page.getByText('Learnt.', { exact: true }).waitFor();
  },
  'lab: every experiment answers': async () => {
    const names = await page.locator('.lab nav a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    assert.equal(names.length, 10);
    // Over many powers of ten the axis has numbers, too: they are drawn on the canvas, in a strip of their own.
    await page.to('lab?of=init&layers=50');
    await until(async () => {
      const marks = await page.locator('.plot canvas').evaluate((c) => {
        const strip = c.getContext('2d').getImageData(0, 0, Math.floor((40 * c.width) / c.clientWidth), Math.floor(c.height * 0.8)).data;
        return strip.filter((v, i) => i % 4 === 3 && v > 60).length;
      });
      assert.ok(marks > 100, `${marks} pixels of numbers`);
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
  'transformers: a text before one is typed, of a vocabulary without some of its characters': async () => {
    await page.to('transformers?model=r0');
    await page.locator('.tokens li').first().waitFor();
    assert.equal(await page.locator('.note.bad').count(), 0);
    const characters = new Set(readFileSync(join(work, 'text.txt'), 'utf8'));
    const text = await page.getByRole('textbox', { name: /^Text/ }).inputValue();
    assert.ok(text.length > 0 && [...text].every((c) => characters.has(c)), text);
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
    for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await until(async () => assert.match(await page.locator('.neuron .row').first().textContent(), /neuron 2of 128, row 0/));
    await page.to(`backward?model=r0&text=${encodeURIComponent(PROMPT)}`);
    await until(async () => assert.equal(await page.locator('.field select option').first().textContent(), `next token ${seen(next[0].text)}`));
    await until(async () => assert.equal(Number(await page.locator('[data-number=value]').textContent()), next[0].logit), 'the logit of the last token');
  },
  'nothing went wrong on the page': () => assert.deepEqual(page.problems, []),
});
await browser.close();
await server.stop();
process.exit(failed ? 1 : 0);
