// The page of `limpid view` in figures: its size, how long a large graph takes to open, how long an update takes under the pen, and the
// memory of a page that follows a training. page_bench.mjs <limpid> <web folder> <folder to work in>; prints a table.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** A model of ten thousand ops: blocks of a hundred of them. */
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
const server = await view('long.safetensors', 'digits', '--data', 'idx:signs', '--runs', 'started');

{
  const times = [];
  for (let i = 0; i < 5; ++i) {
    const page = await pageOf(browser, server.address);
    const from = performance.now();
    await page.goto(`${server.address}#/graph?model=m0`);
    await page.locator('.graph-canvas svg .box').first().waitFor();
    times.push(performance.now() - from);
    await page.context().close();
  }
  times.sort((a, b) => a - b);
  row(`a graph of ${OPS.toLocaleString('en-GB')} ops, from the address to the drawing, folded (median of 5)`, `${times[2].toFixed(0)} ms`);
}

{
  const page = await pageOf(browser, server.address);
  await page.goto(`${server.address}#/forward?model=r0&from=draw`);
  await page.locator('.layer').first().waitFor();
  // From the request that a stroke sends to the frame after its answer.
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
        body: JSON.stringify({ name: 'long', config: { data: 'moons', epochs: 100000 } }),
      }),
    token,
  );
  await page.reload();
  await page.goto(`${server.address}#/training?runs=r1`);
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize / 2 ** 20;
  };
  await until(async () => {
    if ((await page.locator('.chart').count()) === 0) throw new Error('no chart yet');
  });
  await page.waitForTimeout(10_000);
  const first = await heap();
  await page.waitForTimeout(Number(process.env.LIMPID_BENCH_SECONDS ?? 60) * 1000);
  row('heap of a page that follows a training: after 10 s, a minute later', `${first.toFixed(1)} MiB, ${(await heap()).toFixed(1)} MiB`);
  await page.getByRole('button', { name: 'Stop' }).first().click();
  await page.context().close();
}
console.log(`| what | figure |\n|---|---|\n${rows.join('\n')}`);
await browser.close();
await server.stop();
