// The example's page in Chromium: a digit that is drawn is read, with the bits and the hash of the tool.
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { folder, tool, withFolder, writeNpy } from "./common.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const core = join(root, "web/node_modules/playwright-core/index.mjs");
const browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
if (!existsSync(core) || !browser) {
  console.log(`skipped: ${browser ? "playwright-core (npm ci in web)" : "Chromium"} is missing`);
  process.exit(0);
}

const TYPES = { html: "text/html", js: "text/javascript", wasm: "application/wasm" };

test("a digit that is drawn", () =>
  withFolder(async (place) => {
    tool("train", "--data", "digits", "--layers", "784,64,10", "--steps", "600", "--out", join(place, "run"));
    cpSync(join(place, "run/model.safetensors"), join(place, "model.safetensors"));
    cpSync(join(root, "examples/web/index.html"), join(place, "index.html"));
    mkdirSync(join(place, "node_modules"));
    cpSync(folder, join(place, "node_modules/limpid"), { recursive: true });
    const server = createServer((request, answer) => {
      const path = join(place, new URL(request.url, "http://page").pathname.replace(/\/$/, "/index.html"));
      if (!existsSync(path)) return void answer.writeHead(404).end();
      answer.writeHead(200, { "content-type": TYPES[path.split(".").pop()] ?? "application/octet-stream" }).end(readFileSync(path));
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    const { chromium } = await import(pathToFileURL(core));
    const engine = await chromium.launch({ executablePath: browser, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
    try {
      const page = await engine.newPage({ viewport: { width: 760, height: 620 } });
      const wrong = [];
      page.on("pageerror", (error) => wrong.push(String(error)));
      await page.goto(`http://127.0.0.1:${server.address().port}/`);
      await page.waitForFunction(() => globalThis.f !== undefined);
      const { x, y } = await page.locator("canvas").boundingBox();
      await page.mouse.move(x + 140, y + 50);
      await page.mouse.down();
      for (let i = 1; i <= 12; ++i) await page.mouse.move(x + 140, y + 50 + 15 * i);
      await page.mouse.up();
      assert.equal(await page.locator("output").textContent(), "1");
      const drawn = Float32Array.from(await page.evaluate(() => Array.from(globalThis.pixels())));
      assert.ok(drawn.some((v) => v > 0));
      writeNpy(join(place, "x.npy"), drawn, [1, 784]);
      const hashes = JSON.parse(tool("hash", join(place, "run"), "--input", `x=${join(place, "x.npy")}`, "--json"));
      assert.equal(await page.locator("#hash").textContent(), hashes.outputs);
      assert.equal(await page.locator("#model").textContent(), hashes.model);
      if (process.env.LIMPID_PICTURE) writeFileSync(process.env.LIMPID_PICTURE, await page.screenshot());
      await page.getByRole("button", { name: "Clear" }).click();
      assert.equal(await page.locator("#hash").textContent(), "–");
      assert.deepEqual(wrong, []);
    } finally {
      await engine.close();
      server.close();
    }
  }));
