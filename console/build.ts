/**
 * The console's build: one HTML page, one script per console page, plain files. Nothing is inlined, so that the server
 * can forbid inline code, and every file is compressed once here instead of on each request.
 */
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { build, type InlineConfig, type Plugin } from 'vite'

const consoleFolder = fileURLToPath(new URL('.', import.meta.url))
export const distFolder = join(consoleFolder, 'dist')

/** The console's path on the server. */
const basePath = '/console/'
/** Compressing smaller files does not pay off. */
const minCompressedBytes = 512

/** Runs before the first paint, so it must be a classic script outside the module graph. */
const beforePaint: Plugin = {
  name: 'before-paint',
  transformIndexHtml: () => [
    { tag: 'script', attrs: { src: `${basePath}before-paint.js` }, injectTo: 'head-prepend' },
  ],
}

/** The browser would find the font only in the style sheet, and show texts in another font until then. */
const preloadFont: Plugin = {
  name: 'preload-font',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((name) => name.endsWith('.woff2'))
        .map((name) => ({
          tag: 'link',
          attrs: { rel: 'preload', href: basePath + name, as: 'font', type: 'font/woff2', crossorigin: '' },
          injectTo: 'head',
        })),
  },
}

export function consoleConfig(outDir: string): InlineConfig {
  return {
    configFile: false,
    root: consoleFolder,
    base: basePath,
    plugins: [react(), beforePaint, preloadFont],
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir: true,
      // Lists what each page loads, for test/checks/console-size.test.ts.
      manifest: 'manifest.json',
      target: 'es2023',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 2000,
      rolldownOptions: {
        output: {
          // Libraries that every page needs change rarely: browsers keep them cached across releases.
          codeSplitting: {
            groups: [
              { name: 'react', test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/ },
              { name: 'tanstack', test: /node_modules[\\/]@tanstack[\\/]/ },
            ],
          },
        },
      },
    },
  }
}

/** Builds to a folder, which is replaced atomically, so that a running server never sees a partial build. */
export async function buildConsole(folder = distFolder): Promise<void> {
  const newDist = `${folder}.${process.pid}`
  const oldDist = `${newDist}.old`
  try {
    await build(consoleConfig(newDist))
    await compressAll(newDist)
    await rename(folder, oldDist).catch(() => undefined)
    await rename(newDist, folder)
  } finally {
    await Promise.all([newDist, oldDist].map((each) => rm(each, { recursive: true, force: true })))
  }
}

async function compressAll(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true })
  const texts = names.filter((name) => /\.(js|css|html|svg|json|webmanifest)$/.test(name))
  await Promise.all(texts.map((name) => compress(join(folder, name))))
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path)
  if (bytes.length < minCompressedBytes) return
  const [zipped, broken] = await Promise.all([
    promisify(gzip)(bytes, { level: 9 }),
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  ])
  await Promise.all([writeFile(`${path}.gz`, zipped), writeFile(`${path}.br`, broken)])
}
