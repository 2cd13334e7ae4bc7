/**
 * Serves the console's files, as built by `npm run build` into console/dist. The folder is listed on the first request
 * after a build; only listed files are ever opened, so no path can leave the folder. Why under /console/:
 * docs/decisions/0014-console-as-static-files.md.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { matchesEtag, negotiateEncoding } from './header-values.ts'

export const consoleFolder = fileURLToPath(new URL('../../console/dist', import.meta.url))
const mount = '/console/'

export const buildInstructions = 'the console is not built; run `npm ci --include=dev` or `npm run build`'

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

/** No inline code and no other origins. Scripts may still set styles through the object model. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

interface ConsoleFile {
  readonly path: string
  readonly type: string
  readonly etag: string
  /** The file name contains a hash of the content. */
  readonly isHashed: boolean
  /** The best one first. */
  readonly encodings: readonly string[]
}

export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const encodingSuffixes: Readonly<Record<string, string>> = { br: '.br', gzip: '.gz' }

/** By path relative to the folder, with slashes; empty if the console is not built. */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const existing = new Set(names)
  const plain = names.filter((name) => contentTypes[extname(name)] !== undefined)
  const files = plain.map(async (name): Promise<[string, ConsoleFile]> => {
    const path = join(folder, name)
    const encodings = Object.keys(encodingSuffixes).filter((encoding) =>
      existing.has(`${name}${encodingSuffixes[encoding]}`),
    )
    return [
      name.replaceAll(sep, '/'),
      {
        path,
        type: contentTypes[extname(name)] ?? '',
        etag: createHash('sha256')
          .update(await readFile(path))
          .digest('base64url')
          .slice(0, 22),
        isHashed: name.startsWith(`assets${sep}`),
        encodings,
      },
    ]
  })
  return new Map(await Promise.all(files))
}

/** True for `/`, `/console` and everything below it. */
export function isConsolePath(url: string): boolean {
  return url === '/' || url.startsWith('/?') || /^\/console(?:[/?]|$)/.test(url)
}

/** The file of a path. A path without a known extension is a page of the console; all pages are `index.html`. */
function findFile(files: ConsoleFiles, path: string): ConsoleFile | undefined {
  const name = path.slice(mount.length)
  const isPage = !name.startsWith('assets/') && contentTypes[extname(name)] === undefined
  return files.get(isPage ? 'index.html' : name)
}

interface StaticResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
}

const textHeaders = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }

function textResponse(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): StaticResponse {
  return { status, headers: { ...textHeaders, ...headers }, body: `${text}\n` }
}

async function createResponse(files: ConsoleFiles, incoming: IncomingMessage): Promise<StaticResponse> {
  const { method = '', url = '/', headers } = incoming
  const path = url.replace(/[?#].*$/s, '')
  if (method !== 'GET' && method !== 'HEAD')
    return textResponse(405, 'Method not allowed. Use GET.', { allow: 'GET, HEAD' })
  if (!path.startsWith(mount)) return textResponse(302, 'The console is at /console/.', { location: mount })
  if (!files.has('index.html')) return textResponse(503, `Console unavailable: ${buildInstructions}.`)
  const file = findFile(files, path)
  if (file === undefined) return textResponse(404, 'Not found.')
  const encoding = negotiateEncoding(headers['accept-encoding'], file.encodings)
  const etag = `"${file.etag}${encoding === null ? '' : `-${encoding}`}"`
  const common = {
    etag,
    'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
  }
  if (matchesEtag(headers['if-none-match'], etag)) return { status: 304, headers: common, body: '' }
  const body = await readFile(encoding === null ? file.path : `${file.path}${encodingSuffixes[encoding]}`)
  return {
    status: 200,
    headers: {
      ...common,
      ...(encoding === null ? {} : { 'content-encoding': encoding }),
      'content-type': file.type,
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    },
    body,
  }
}

/** Caches the listing until the next build, so that a running relay serves a new build without a restart. */
function cachedFiles(folder: string): () => Promise<ConsoleFiles> {
  let builtAt: number | undefined
  let files: Promise<ConsoleFiles> | undefined
  return async () => {
    const stats = await stat(join(folder, 'index.html')).catch(() => undefined)
    if (files === undefined || stats?.mtimeMs !== builtAt) {
      builtAt = stats?.mtimeMs
      files = readConsoleFiles(folder)
    }
    return files
  }
}

/** A listener of node:http for the console's paths; never throws. */
export function consoleListener(folder = consoleFolder) {
  const files = cachedFiles(folder)
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    let response: StaticResponse
    try {
      response = await createResponse(await files(), incoming)
    } catch {
      response = textResponse(503, 'The console is temporarily unavailable.')
    }
    const { status, headers, body } = response
    const length = status === 304 ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    outgoing.writeHead(status, { ...headers, ...length })
    outgoing.end(incoming.method === 'HEAD' ? undefined : body)
  }
}
