/**
 * How the console is built: one page, one script per page of it, plain files. Nothing is inlined, so that the server
 * can forbid inline code, and everything is compressed here once instead of at each request.
 */
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { build, type InlineConfig, type Plugin } from 'vite'

const here = fileURLToPath(new URL('.', import.meta.url))
export const distFolder = join(here, 'dist')

/** Where the console lives under the server's address. */
const basePath = '/console/'
/** Smaller files do not get smaller. */
const worthCompressingBytes = 512

/** Runs before the first paint, so it is neither a module nor part of one. */
const first: Plugin = {
  name: 'first',
  transformIndexHtml: () => [
    { tag: 'script', attrs: { src: `${basePath}first.js` }, injectTo: 'head-prepend' },
  ],
}

export function consoleConfig(outDir: string): InlineConfig {
  return {
    configFile: false,
    root: here,
    base: basePath,
    plugins: [react(), first],
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir: true,
      // What each page fetches; test/console-weight.test.ts weighs it.
      manifest: 'manifest.json',
      target: 'es2023',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 2000,
      rolldownOptions: {
        output: {
          // What every page needs changes rarely: a browser keeps it over our releases.
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

/** Builds to console/dist. The files appear there all at once, so a running server never sees half of them. */
export async function buildConsole(): Promise<void> {
  const fresh = join(here, `dist.${process.pid}`)
  const old = join(here, `dist.${process.pid}.old`)
  try {
    await build(consoleConfig(fresh))
    await compressAll(fresh)
    await rename(distFolder, old).catch(() => undefined)
    await rename(fresh, distFolder)
  } finally {
    await Promise.all([fresh, old].map((folder) => rm(folder, { recursive: true, force: true })))
  }
}

async function compressAll(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true })
  const texts = names.filter((name) => /\.(js|css|html|svg|json|webmanifest)$/.test(name))
  await Promise.all(texts.map((name) => compress(join(folder, name))))
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path)
  if (bytes.length < worthCompressingBytes) return
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
