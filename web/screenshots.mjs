// Makes the pictures of the page in README and docs/view.md: web/screenshots.mjs <limpid> <folder to work in>, after ./dev build.
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const [tool, folder] = process.argv.slice(2);
if (!tool || !folder) {
  console.error('usage: node web/screenshots.mjs LIMPID FOLDER');
  process.exit(2);
}
const web = import.meta.dirname;
process.argv.splice(2, process.argv.length, tool, web, folder);
const { begin, limpid, pageOf, until, view } = await import('../tests/view_page/browser.mjs');

const browser = await begin();
limpid('train', '--data', 'digits', '--layers', '784,64,32,10', '--epochs', '3', '--out', 'digits');
limpid('train', '--data', 'digits', '--layers', '784,64,32,10', '--epochs', '3', '--lr', '0.01', '--out', 'slower');
const server = await view('digits', 'slower');
const pictures = join(web, '../docs/images');
mkdirSync(pictures, { recursive: true });

async function picture(name, fragment, ready, then = async () => {}, height = 860) {
  const page = await pageOf(browser, server.address, { viewport: { width: 1360, height }, colorScheme: 'light' });
  await page.to(fragment);
  await page.locator(ready).first().waitFor();
  await then(page);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  copyFileSync(join(folder, `${name}.png`), join(pictures, `${name}.png`));
  await page.context().close();
}
await picture('forward', 'forward?model=r0&index=3&cell=layers.1:5', '.terms tbody tr');
await picture('training', 'training?runs=r0,r1', '.confusion tbody td', undefined, 1000);
await picture('playground', 'playground?data=moons&hidden=6,4', '.unit canvas', async (page) => {
  await page.getByRole('button', { name: 'Train' }).click();
  await until(async () => {
    if (Number(await page.locator('[data-number=step]').textContent()) < 200) throw new Error('not yet');
  });
  await page.getByRole('button', { name: 'Pause' }).click();
});
await browser.close();
await server.stop();
