// Builds the page into web/dist, which the tool embeds: a document, a script, a style sheet and the worker that lays out graphs. With
// LIMPID_VIEW=http://127.0.0.1:PORT `npx vite` serves the sources in front of a running `limpid view`.
import { defineConfig, loadEnv } from 'vite';

const engine = loadEnv('', '.', 'LIMPID_')['LIMPID_VIEW'] ?? 'http://127.0.0.1:8000';

export default defineConfig({
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
  },
  worker: { format: 'es' },
  server: {
    fs: { allow: ['..'] }, // the pages of docs that the lab links to
    proxy: { '/api': { target: engine, headers: { Origin: engine } } },
  },
});
