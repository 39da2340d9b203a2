// What the tests of the page share: the tool behind a page, a browser, numbers of the tool, and a list of paths that are tried in order.
// NAME_test.mjs <limpid> <web folder> <folder to work in>
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export const [tool, web, work] = process.argv.slice(2).map((path) => resolve(path));

export function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

/** Everything that the tests need, or says what is missing. */
export async function begin() {
  if (!chromium) skip('no chromium');
  const core = join(web, 'node_modules/playwright-core/index.mjs');
  if (!existsSync(core)) skip('no playwright-core: ./dev build installs it where npm is');
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const { chromium: engine } = await import(pathToFileURL(core));
  return engine.launch({
    executablePath: chromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
  });
}

/** The tool's standard output. */
export const limpid = (...args) => execFileSync(tool, args, { cwd: work, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });
export const limpidJson = (...args) => JSON.parse(limpid(...args, '--json'));

/**
 * A data set of pictures as MNIST's files have them: ten signs of seven strokes, as clocks show digits, here and there with noise. Small,
 * so that each of the tool's answers is quick.
 */
export function writeDigits(folder, train = 600, test = 40) {
  mkdirSync(folder, { recursive: true });
  const strokes = ['abcdef', 'bc', 'abdeg', 'abcdg', 'bcfg', 'acdfg', 'acdefg', 'abc', 'abcdefg', 'abcdfg'];
  const boxes = { a: [5, 8, 2, 12], b: [5, 18, 9, 2], c: [14, 18, 9, 2], d: [21, 8, 2, 12], e: [14, 8, 9, 2], f: [5, 8, 9, 2], g: [13, 8, 2, 12] };
  let state = 12345;
  const draw = (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  for (const [part, count] of [
    ['train', train],
    ['t10k', test],
  ]) {
    const images = Buffer.alloc(16 + 784 * count);
    const labels = Buffer.alloc(8 + count);
    [0x803, count, 28, 28].forEach((v, i) => images.writeUInt32BE(v, 4 * i));
    [0x801, count].forEach((v, i) => labels.writeUInt32BE(v, 4 * i));
    for (let n = 0; n < count; ++n) {
      const label = draw(10);
      labels[8 + n] = label;
      const [dy, dx] = [draw(5) - 2, draw(5) - 2];
      for (const stroke of strokes[label]) {
        const [y, x, h, w] = boxes[stroke];
        for (let r = 0; r < h; ++r) for (let c = 0; c < w; ++c) images[16 + 784 * n + (y + r + dy) * 28 + x + c + dx] = 155 + draw(101);
      }
      for (let i = 0; i < 8; ++i) images[16 + 784 * n + draw(784)] = draw(120);
    }
    writeFileSync(join(folder, `${part}-images-idx3-ubyte`), images);
    writeFileSync(join(folder, `${part}-labels-idx1-ubyte`), labels);
  }
}

/** `limpid view` of some paths; its address, and what ends it. */
export async function view(...args) {
  const child = spawn(tool, ['view', ...args, '--no-open'], { cwd: work, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, said] = ['', ''];
  child.stderr.on('data', (d) => (said += d));
  const address = await new Promise((resolve, reject) => {
    child.stdout.on('data', (d) => {
      out += d;
      if (out.includes('\n')) resolve(out.slice(0, out.indexOf('\n')));
    });
    child.on('exit', (code) => reject(new Error(`limpid view ended with ${code}: ${said}`)));
  });
  if (said.includes('has no page')) {
    child.kill('SIGKILL');
    skip('the tool was built without the page');
  }
  return {
    address,
    stop: () =>
      new Promise((resolve) => {
        child.removeAllListeners('exit');
        child.on('exit', resolve);
        child.kill('SIGTERM');
        setTimeout(() => child.kill('SIGKILL'), 3000).unref();
      }),
  };
}

/** A page at a view; what goes wrong in it fails the test. */
export async function pageOf(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.problems = [];
  page.on('pageerror', (e) => page.problems.push(`error: ${e.message}`));
  page.on('console', (m) => {
    // Answers of 4xx come from the engine, and the page shows them.
    if (m.type() === 'error' && !m.text().startsWith('Failed to load resource')) page.problems.push(`console: ${m.text()}`);
  });
  page.on('request', (r) => {
    const url = new URL(r.url());
    if (url.protocol.startsWith('http') && url.host !== new URL(address).host) page.problems.push(`a request left: ${r.url()}`);
  });
  page.to = async (fragment) => {
    await page.goto(`${address}#/${fragment}`);
    await page.waitForSelector('main h1');
  };
  return page;
}

/** The engine's next answer of this name comes when the function that it returns is called. */
export async function hold(page, name) {
  let answer;
  const called = new Promise((resolve) => (answer = resolve));
  await page.route(`**/api/${name}`, (route) => called.then(() => route.continue()), { times: 1 });
  return answer;
}

const axeSource = () => readFileSync(join(web, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** No violation of axe's rules, or of those that are named, on what is shown. */
export async function accessible(page, what, rules) {
  await page.evaluate(axeSource());
  const violations = await page.evaluate(async (only) =>
    (await globalThis.axe.run(document, only ? { runOnly: only } : {})).violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`),
    rules,
  );
  assert.deepEqual(violations, [], `axe on ${what}`);
}

/** Nothing is wider than the window, as soon as drawings have followed its size. */
export async function fits(page, what) {
  await until(async () => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${wide} pixels wider than the window`);
  }, what);
}

/** Waits until `check` passes; its last failure is the test's. */
export async function until(check, what = '', limit = 20_000) {
  const end = Date.now() + limit;
  for (;;) {
    try {
      return await check();
    } catch (e) {
      if (Date.now() > end) throw new Error(`${what}: ${e.message}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** The words of a command as a shell reads them, the first one left out. */
export const wordsOf = (command) => [...command.trim().matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", '')).slice(1);

/**
 * Tries paths one after the other, or the one that LIMPID_ONLY names; the process fails if one does. With LIMPID_FIRST_FAILURE set it
 * is the last that is tried.
 */
export async function paths(list) {
  const only = process.env.LIMPID_ONLY;
  if (only && !(only in list)) {
    console.log(`FAILED  no path is named ${only}`);
    return 1;
  }
  let failed = 0;
  for (const [name, run] of Object.entries(list)) {
    if (only && name !== only) continue;
    const begun = Date.now();
    try {
      await run();
      console.log(`ok      ${name} (${Date.now() - begun} ms)`);
    } catch (e) {
      ++failed;
      console.log(`FAILED  ${name}\n${e.stack}`);
      if (process.env.LIMPID_FIRST_FAILURE) break;
    }
  }
  return failed;
}
