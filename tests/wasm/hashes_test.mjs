// The module computes the published hashes: every op, gradient, function and network.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { limpid } from "./common.mjs";

const table = (text) => new Map([...text.matchAll(/^\| (.+) \| ([0-9a-f]{16}) \|$/gm)].map(([, name, hash]) => [name, hash]));

test("every published hash", async () => {
  const published = table(readFileSync(new URL("../../docs/hashes.md", import.meta.url), "utf8"));
  for (const name of published.keys()) if (name.startsWith("every float")) published.delete(name);
  const computed = table(await limpid.hashes());
  assert.ok(published.size > 250, `${published.size}`);
  assert.deepEqual(Object.fromEntries(computed), Object.fromEntries(published));
});
