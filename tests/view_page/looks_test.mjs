// Every view in light and dark and at three widths: reached by keys, no wider than the window, no violation of axe's rules.
import assert from 'node:assert/strict';
import { join } from 'node:path';

import { accessible, begin, fits, hold, limpid, pageOf, paths, until, view, work, writeDigits } from './browser.mjs';

const browser = await begin();
writeDigits(join(work, 'signs'));
limpid('train', '--data', 'idx:signs', '--layers', '784,32,16,10', '--epochs', '3', '--out', 'digits');
limpid('train', '--data', 'moons', '--epochs', '4', '--out', 'moons');
const server = await view('digits', 'moons', '--data', 'idx:signs', '--runs', 'started');

const VIEWS = {
  graph: ['graph?model=r0&at=g1&tensor=%25layers.1.weight', '.parameters .heat'],
  forward: ['forward?model=r0&index=3&cell=layers.1:5', '.terms tbody tr'],
  'forward, drawn': ['forward?model=r0&from=draw', '.pad canvas'],
  'forward, numbers': ['forward?model=r1&from=numbers', '.slider-row'],
  'what if': ['whatif?model=r0&index=3&edits=[{"at":"%253","index":[2],"set":0}]', '.edits li'],
  backward: ['backward?model=r0&index=3', '.forward-layers .heat'],
  training: ['training?runs=r0,r1', '.confusion tbody td'],
  compare: ['compare?a=r0&b=r0', '.verdict'],
  playground: ['playground?data=moons', '.surface canvas'],
  lab: ['lab?of=softmax', '.experiment [data-probability]'],
};
const checks = {};
for (const [name, [fragment, ready]] of Object.entries(VIEWS))
  checks[`${name}: three widths, light and dark`] = async () => {
    const page = await pageOf(browser, server.address, { colorScheme: 'light' });
    await page.to(fragment);
    await page.locator(ready).first().waitFor();
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    for (const [width, colours] of [
      [1440, 'light'],
      [820, 'dark'],
      [400, 'light'],
    ]) {
      await page.setViewportSize({ width, height: 900 });
      if ((await theme()) !== colours) await page.locator('body').press('t');
      assert.equal(await theme(), colours);
      await fits(page, `${name} at ${width}`);
      if (width > 400) await accessible(page, `${name} at ${width}, ${colours}`, colours === 'dark' ? ['color-contrast'] : undefined);
    }
    assert.deepEqual(page.problems, []);
    await page.context().close();
  };
checks['every view by its number, every drawing by Tab'] = async () => {
  const page = await pageOf(browser, server.address);
  await page.to('graph');
  const links = await page.locator('.rail a').allTextContents();
  assert.deepEqual(links, ['Graph', 'Forward', 'What if', 'Backward', 'Training', 'Compare', 'Playground', 'Lab']); // none of the models takes a text
  for (let i = 0; i < Math.min(links.length, 9); ++i) {
    await page.locator('body').press(String(i + 1));
    await until(async () => assert.equal(await page.locator('main h1').textContent(), links[i]));
  }
  // The graph is an SVG, not a canvas.
  await page.to('graph?model=r0');
  await page.locator('.graph-canvas svg').waitFor();
  for (const d of await page.locator('[role=application]').evaluateAll((all) => all.map((e) => [!!e.getAttribute('aria-label'), e.tabIndex]))) assert.deepEqual(d, [true, 0]);
  for (const fragment of ['forward?model=r0&index=3', 'training?runs=r0']) {
    await page.to(fragment);
    await page.locator('[role=application]').first().waitFor();
    await page.locator('canvas').first().waitFor();
    const drawings = await page.locator('canvas').evaluateAll((all) =>
      all.map((c) => {
        const root = c.closest('[role=application], [role=img]');
        return { named: !!root?.getAttribute('aria-label'), reached: root?.getAttribute('role') === 'img' || root?.tabIndex === 0 };
      }),
    );
    assert.ok(drawings.length > 0);
    for (const d of drawings) assert.deepEqual(d, { named: true, reached: true });
  }
  for (const leave of [() => page.keyboard.press('Escape'), () => page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()]) {
    await page.locator('body').press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('t');
    await page.keyboard.press('2');
    assert.deepEqual([await page.locator('main h1').textContent(), await page.evaluate(() => document.documentElement.dataset.theme)], ['Training', 'light']);
    await leave();
    // Its button has the focus until the next frame.
    await until(async () => assert.deepEqual([await page.getByRole('dialog').count(), await page.evaluate(() => document.activeElement.closest('dialog'))], [0, null]));
  }
  assert.deepEqual(page.problems, []);
};
checks['keys that are typed into a field are its own, and / goes to the search'] = async () => {
  const page = await pageOf(browser, server.address);
  await page.to('graph');
  await until(async () => assert.equal(await page.title(), 'Graph · Limpid'));  // it follows the view by a frame
  const find = page.getByRole('searchbox', { name: 'Find' });
  await find.waitFor();
  await page.locator('body').press('/');
  await page.keyboard.type('2t?/');
  assert.equal(await find.inputValue(), '2t?/');
  assert.equal(await page.locator('main h1').textContent(), 'Graph');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.getByText('No matches.').waitFor();
  // With another key they are the browser's.
  for (const key of ['Control', 'Alt', 'Meta']) {
    await find.blur();
    await page.locator('body').press(`${key}+/`);
    assert.notEqual(await page.evaluate(() => document.activeElement.type), 'search', key);
  }
  await find.focus();
  await page.keyboard.press('Escape');
  assert.equal(await find.inputValue(), '');
  await page.getByRole('link', { name: 'Skip to the view' }).focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'MAIN');
  await page.context().close();
};
checks['the colours that were chosen stay, else they follow the system'] = async () => {
  const page = await pageOf(browser, server.address, { colorScheme: 'light' });
  await page.to('lab');
  const theme = (is) => until(async () => assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), is));
  await page.emulateMedia({ colorScheme: 'dark' });
  await theme('dark');
  await page.getByRole('button', { name: 'Light colours' }).click();
  await theme('light');
  await page.reload();
  await page.waitForSelector('main h1');
  await theme('light');
  await page.getByRole('button', { name: 'Dark colours' }).click(); // as the system has them: nothing is kept
  await page.emulateMedia({ colorScheme: 'light' });
  await theme('light');
  await page.context().close();
};
checks['in a narrow window the strips of links show where one is'] = async () => {
  const page = await pageOf(browser, server.address, { viewport: { width: 400, height: 800 } });
  await page.to('lab?of=approximation');
  for (const strip of ['.rail', '.lab nav'])
    await until(async () => {
      const { x, width } = await page.locator(`${strip} [aria-current]`).boundingBox();
      assert.ok(x >= 0 && x + width <= 400, `${strip}: ${x} to ${x + width}`);
    });
};
checks['Back brings the example back that was shown'] = async () => {
  const page = await pageOf(browser, server.address);
  const answer = await hold(page, 'data');
  await page.to('forward?model=r1&from=numbers&values=0.25,-1.5');
  const first = page.getByRole('spinbutton').first();
  await page.locator('[data-value="%1"] .heat-root').click({ position: { x: 10, y: 10 } });
  await until(() => assert.match(page.url(), /cell=/));
  // The ranges of the sliders come from the data; what is typed stays.
  await first.fill('2');
  const least = page.getByRole('slider').first();
  assert.equal(await least.getAttribute('min'), '-3');
  answer();
  await until(async () => assert.notEqual(await least.getAttribute('min'), '-3'));
  await first.press('Enter');
  await until(() => assert.match(page.url(), /values=2,-1\.5/));
  await page.goBack();
  await until(async () => assert.equal(await first.inputValue(), '0.25'));
  // A drawing too: what the pad shows is what is computed.
  await page.to('forward?model=r0&from=draw');
  const { x, y } = await page.locator('.pad canvas').boundingBox();
  const stroke = async (from, to) => {
    await page.mouse.move(x + from[0], y + from[1]);
    await page.mouse.down();
    await page.mouse.move(x + to[0], y + to[1], { steps: 5 });
    await page.mouse.up();
  };
  const ink = () => page.locator('.pad-seen canvas').evaluate((c) => c.getContext('2d').getImageData(0, 0, 28, 28).data.join());
  await stroke([100, 40], [100, 180]);
  await until(() => assert.match(page.url(), /pixels=/));
  await page.locator('[data-value="%1"] .heat-root').click({ position: { x: 10, y: 10 } });
  await until(() => assert.match(page.url(), /cell=/));
  const before = await ink();
  await stroke([40, 40], [180, 40]);
  await until(async () => assert.notEqual(await ink(), before));
  await page.goBack();
  await until(async () => assert.equal(await ink(), before));
  assert.deepEqual(page.problems, []);
};
checks['an address that nobody made shows a view, not nothing'] = async () => {
  const page = await pageOf(browser, server.address);
  for (const fragment of ['whatif?model=r1&edits=[1,null,{"at":5},{"at":"%251","patch":3}]', 'forward?model=r1&cell=nothing', 'graph?model=r1&at=zz&node=abc', 'training?runs=r9&step=abc', 'lab?of=softmax&logits=a,b', 'playground?hidden=x&rate=abc']) {
    await page.to(fragment);
    await page.locator('main header, main .note').first().waitFor();
  }
  await page.to('forward?model=m77&index=0');
  await page.getByText('The model m77 of this link is not open here.').waitFor();
  assert.deepEqual(page.problems, []);
};
checks['a view that fails says why, and opens again without the rest of its address'] = async () => {
  const page = await pageOf(browser, server.address);
  await page.route('**/api/forward', (route) => route.fulfill({ json: {} }), { times: 1 });
  await page.to('forward?model=r1&from=numbers&values=0.25,-1.5');
  await page.getByRole('heading', { name: 'This view failed' }).waitFor();
  assert.match(await page.locator('main p').textContent(), /^Cannot read properties of undefined /);
  await page.getByRole('button', { name: 'Open it without the rest of the address' }).click();
  await page.locator('.answer [data-probability]').first().waitFor();
  await until(() => assert.equal(page.url().split('#')[1], '/forward'));
};
checks['the views are those that what is open needs'] = async () => {
  const page = await pageOf(browser, server.address);
  let change = () => ({});
  await page.route('**/api/session', async (route) => {
    const session = await (await route.fetch()).json();
    await route.fulfill({ json: { ...session, ...change(session) } });
  });
  const views = async (what, ...expected) => {
    change = what;
    await page.reload();
    await page.waitForSelector('main h1');
    assert.deepEqual(await page.locator('.rail a').allTextContents(), [...expected, 'Playground', 'Lab'], String(what));
  };
  await page.to('forward');
  await views(() => ({ models: [], runs: [], folder: null }));
  assert.equal(await page.locator('main h1').textContent(), 'Playground', 'instead of one that needs a model');
  await views(() => ({ models: [], runs: [] }), 'Training');
  await views((s) => ({ models: [], runs: s.runs, folder: null }), 'Training');
  await views((s) => ({ models: [{ ...s.models[0], text: 'a' }], runs: [], folder: null }), 'Graph', 'Forward', 'What if', 'Backward', 'Transformers', 'Compare');
  // A file of tensors is shown as a list, without a graph.
  await views((s) => ({ models: [{ ...s.models[0], kind: 'tensors' }], runs: [], folder: null }), 'Graph', 'Compare');
  await page.to('graph');
  await page.getByText('This file has tensors but no function.', { exact: true }).waitFor();
  await page.locator('.parameters tbody tr').first().waitFor();
  assert.equal(await page.locator('.graph-canvas, .subject select').count(), 0);
};
checks['without the token the page says what it needs'] = async () => {
  const page = await pageOf(browser, server.address.replace(/token=.*/, 'token=no'));
  await page.to('');
  await page.getByText('expected the token of the address that limpid view printed').waitFor();
};
checks['an engine that is gone is told, and asked again'] = async () => {
  const page = await pageOf(browser, server.address);
  await page.route('**/api/session', (route) => route.abort(), { times: 1 });
  await page.to('forward?model=r1&from=numbers&values=0.25,-1.5');
  assert.equal(await page.locator('main h1').textContent(), 'No engine');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('.answer [data-probability]').first().waitFor();
  await page.route('**/api/**', (route) => route.abort());
  await page.getByRole('spinbutton').first().fill('1');
  await page.keyboard.press('Enter');
  await page.locator('.toast', { hasText: 'The engine does not answer. Is `limpid view` still running?' }).waitFor();
  await page.unroute('**/api/**');
  await page.getByRole('spinbutton').first().fill('2');
  await page.keyboard.press('Enter');
  await until(async () => assert.equal(await page.locator('.toast').count(), 0));
};
checks['a link reopens the view'] = async () => {
  const page = await pageOf(browser, server.address);
  await page.to('forward?model=r1&from=numbers&values=0.25,-1.5');
  await until(async () => assert.equal(await page.getByRole('spinbutton').first().inputValue(), '0.25'));
  await until(async () => assert.equal(await page.getByRole('spinbutton').nth(1).inputValue(), '-1.5'));
  // The model after a step is computed again.
  await page.to('forward?model=r1@7&index=0');
  await until(async () => assert.equal(await page.locator('header select option:checked').textContent(), 'moons after 7 steps'));
  await page.to('compare?a=r1@3&b=r1');
  await until(async () => assert.equal(await page.getByRole('combobox', { name: 'A', exact: true }).inputValue(), 'r1@3'));
  // Numbers of the data have their names in a neuron, too.
  await page.to('forward?model=r1&from=numbers&values=0.25,-1.5&cell=layers.0:1');
  await until(async () => assert.deepEqual((await page.locator('.terms tbody th').allTextContents()).sort(), ['x', 'y']));
  // Experiments of the lab have their sliders in it.
  await page.to('lab?of=softmax&logits=1,1,1,1&temperature=2');
  await until(async () => assert.deepEqual(await page.locator('[data-probability]').evaluateAll((all) => all.map((e) => e.dataset.probability)), Array(4).fill('0.25')));
  await page.getByRole('slider', { name: 'logit 2' }).fill('3');
  await until(() => assert.match(page.url(), /logits=1,1,3,1/));
};
const failed = await paths(checks);
await browser.close();
await server.stop();
process.exit(failed ? 1 : 0);
