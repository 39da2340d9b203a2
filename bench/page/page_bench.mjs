// Measures the page of `limpid view`: its size; the time to open a large graph and a long log; the time of an update while drawing, of a
// gradient and of a token; and the memory of a page that shows a training run for LIMPID_BENCH_MINUTES (default: 1). Prints a table.
// usage: page_bench.mjs <limpid> <web folder> <folder to work in>
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { begin, limpid, pageOf, until, view, web, work, writeDigits } from '../../tests/view_page/browser.mjs';

const OPS = 10_000;
const rows = [];
const row = (what, figure) => {
  rows.push(`| ${what} | ${figure} |`);
  console.error(`${what}: ${figure}`);
};

const browser = await begin();
const dist = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((f) => (f.isDirectory() ? dist(join(folder, f.name)) : [join(folder, f.name)]));
row('the page, compressed', `${(dist(join(web, 'dist')).reduce((sum, f) => sum + gzipSync(readFileSync(f), { level: 9 }).length, 0) / 1024).toFixed(0)} KiB`);

/** A model of ten thousand ops, in blocks of a hundred. */
function writeLong(path) {
  let text = 'function long(%x: f32[64]) {\n';
  for (let i = 0; i < OPS; ++i) text += `  %${i} = ${i % 2 ? 'tanh' : 'negate'}(%${i ? i - 1 : 'x'}) : f32[64]  @block.${Math.floor(i / 100)}\n`;
  text += `  return y = %${OPS - 1}\n}\n`;
  const header = Buffer.from(JSON.stringify({ __metadata__: { 'limpid.format': '1', 'limpid.function': text } }));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(path, Buffer.concat([size, header]));
}
writeLong(join(work, 'long.safetensors'));
writeDigits(join(work, 'signs'));
limpid('train', '--data', 'idx:signs', '--layers', '784,256,128,10', '--steps', '20', '--out', 'digits');
/** A log of a million steps in 31,250 epochs, with the numbers of a real log. */
function writeMillion(folder) {
  limpid('train', '--data', 'moons', '--epochs', '2', '--out', folder);
  const log = join(work, folder, 'log.jsonl');
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  const events = lines.map((line) => JSON.parse(line));
  const first = (name) => events.find((e) => e.event === name);
  const loss = () => Math.fround(Math.random());
  writeFileSync(log, `${lines[0]}\n`);
  for (let epoch = 1, step = 0; epoch <= 31_250; epoch += 250) {
    let text = '';
    for (let e = epoch; e < epoch + 250; ++e) {
      for (let i = 0; i < 32; ++i)
        text += `{"event":"step","step":${++step},"epoch":${e},"loss":${loss()},"learning_rate":${0.005 * (1 - step / 1e6)},"gradient_norm":${loss()}}\n`;
      text += `${JSON.stringify({ ...first('epoch'), epoch: e, step })}\n`;
    }
    appendFileSync(log, `${text}${JSON.stringify({ ...first('probe'), step })}\n`);
  }
  appendFileSync(log, `${lines.at(-1)}\n`);
}
writeMillion('million');
writeFileSync(join(work, 'text.txt'), 'the cat sat on the mat, the dog sat on the log, the rat sat on the hat. '.repeat(60));
limpid('train', '--data', 'text:text.txt', '--model', 'gpt', '--steps', '5', '--out', 'gpt');
const server = await view('long.safetensors', 'digits', 'million', 'gpt', '--data', 'idx:signs', '--runs', 'started');

/** The median of five times from opening the address on a new page until an element appears. */
async function opening(fragment, shown) {
  const times = [];
  for (let i = 0; i < 5; ++i) {
    const page = await pageOf(browser, server.address);
    const from = performance.now();
    await page.goto(`${server.address}#/${fragment}`);
    await page.locator(shown).first().waitFor();
    times.push(performance.now() - from);
    await page.context().close();
  }
  return `${times.sort((a, b) => a - b)[2].toFixed(0)} ms`;
}
row(`a graph of ${OPS.toLocaleString('en-GB')} ops, from the address to the drawing, folded (median of 5)`, await opening('graph?model=m0', '.graph-canvas svg .box'));
row('a run of 1,000,000 logged steps, from the address to its last loss (median of 5)', await opening('training?runs=r1', 'table.runs td[title]:not([title=""])'));

/** Median and 95th percentile of the times of requests as the page makes them. */
async function requests(name, count, body) {
  const { origin, searchParams } = new URL(server.address);
  const times = [];
  for (let i = 0; i < count; ++i) {
    const from = performance.now();
    const answer = await fetch(`${origin}/api/${name}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${searchParams.get('token')}` },
      body: JSON.stringify(body(i)),
    });
    await answer.text();
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  return `${times[count >> 1].toFixed(1)} ms, ${times[Math.floor(count * 0.95)].toFixed(1)} ms`;
}
row(
  'the gradient of the loss by every value of 784-256-128-10, another example each time: median, 95th of 100',
  await requests('gradient', 100, (i) => ({ model: 'r0', input: { index: i % 40 }, of: { loss: { target: null } } })),
);
row(
  'the next token of a GPT of 4 layers, width 128, after 1 to 48 tokens: median, 95th of 96',
  await requests('generate', 96, (i) => ({ model: 'r2', tokens: Array.from({ length: 1 + (i % 48) }, (_, k) => k % 8), seed: i, count: 1 })),
);

{
  const page = await pageOf(browser, server.address);
  await page.goto(`${server.address}#/forward?model=r0&from=draw`);
  await page.locator('.layer').first().waitFor();
  // From the request of a pen stroke to the frame after its answer.
  await page.evaluate(() => {
    globalThis.latencies = [];
    const ask = globalThis.fetch;
    globalThis.fetch = async (...args) => {
      if (!String(args[0]).endsWith('/forward')) return ask(...args);
      const from = performance.now();
      const answer = await ask(...args);
      requestAnimationFrame(() => setTimeout(() => globalThis.latencies.push(performance.now() - from)));
      return answer;
    };
  });
  const box = await page.locator('.pad canvas').boundingBox();
  await page.mouse.move(box.x + 40, box.y + 40);
  await page.mouse.down();
  for (let i = 0; (await page.evaluate(() => globalThis.latencies.length)) < 100 && i < 2000; ++i)
    await page.mouse.move(box.x + 110 + 70 * Math.cos(i / 9), box.y + 110 + 70 * Math.sin(i / 7));
  await page.mouse.up();
  const times = (await page.evaluate(() => globalThis.latencies)).slice(0, 100).sort((a, b) => a - b);
  row('an update of 784-256-128-10 under the pen, request to frame: median, 95th of 100', `${times[50].toFixed(1)} ms, ${times[94].toFixed(1)} ms`);
  await page.context().close();
}

{
  const page = await pageOf(browser, server.address);
  await page.goto(`${server.address}#/training?runs=r0`);
  const token = new URL(server.address).searchParams.get('token');
  await page.evaluate(
    async (bearer) =>
      fetch('/api/run/start', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${bearer}` },
        body: JSON.stringify({ name: 'long', config: { data: 'moons', epochs: 100_000_000 } }),
      }),
    token,
  );
  await page.reload();
  await page.goto(`${server.address}#/training?runs=r3`);
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize / 2 ** 20;
  };
  await until(async () => {
    if ((await page.locator('.chart').count()) === 0) throw new Error('no chart yet');
  });
  await page.waitForTimeout(10_000);
  const series = [await heap()];
  for (let minute = 0; minute < Number(process.env.LIMPID_BENCH_MINUTES ?? 1); ++minute) {
    await page.waitForTimeout(60_000);
    series.push(await heap());
  }
  row('heap of a page that follows a training: after 10 s, then every minute', `${series.map((mib) => mib.toFixed(1)).join(', ')} MiB`);
  if (page.problems.length) throw new Error(page.problems[0]);
  await page.getByRole('button', { name: 'Stop' }).first().click();
  await page.context().close();
}
console.log(`| what | figure |\n|---|---|\n${rows.join('\n')}`);
await browser.close();
await server.stop();
