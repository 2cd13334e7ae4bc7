/**
 * The console's files, as `npm run build` left them in console/dist. What exists is read at the first
 * visit after a build; only those names are ever opened, so no path leads anywhere else. Why under /console/:
 * docs/decisions/0014-the-console-is-plain-files.md.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export const consoleFolder = fileURLToPath(new URL('../../console/dist', import.meta.url))
const mount = '/console/'

export const howToBuild = 'the console is not built; `npm ci --include=dev` or `npm run build` builds it'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

/** Nothing inline, nothing from elsewhere; scripts set styles through the object model, which is not inline code. */
const policy = [
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
  /** Its name tells its content. */
  readonly isHashed: boolean
  readonly encodings: ReadonlySet<string>
}

export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const suffixOf: Readonly<Record<string, string>> = { br: '.br', gzip: '.gz' }

/** By their names below the folder, with slashes; empty when the console is not built. */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const there = new Set(names)
  const plain = names.filter((name) => types[extname(name)] !== undefined)
  const files = plain.map(async (name): Promise<[string, ConsoleFile]> => {
    const path = join(folder, name)
    const encodings = Object.keys(suffixOf).filter((encoding) => there.has(`${name}${suffixOf[encoding]}`))
    return [
      name.replaceAll(sep, '/'),
      {
        path,
        type: types[extname(name)] ?? '',
        etag: createHash('sha256')
          .update(await readFile(path))
          .digest('base64url')
          .slice(0, 22),
        isHashed: name.startsWith(`assets${sep}`),
        encodings: new Set(encodings),
      },
    ]
  })
  return new Map(await Promise.all(files))
}

/** True for the addresses that are the console's: `/`, `/console` and what lies below it. */
export function isConsolePath(url: string): boolean {
  return url === '/' || url.startsWith('/?') || /^\/console(?:[/?]|$)/.test(url)
}

/** The best of what the caller takes and we have; null is the file as it is. */
function encodingFor(header: string | undefined, { encodings }: ConsoleFile): string | null {
  const taken = (header ?? '').split(',').flatMap((part) => {
    const [name = '', ...terms] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/)
    return terms.some((term) => /^q=0(\.0*)?$/.test(term)) ? [] : [name]
  })
  return Object.keys(suffixOf).find((each) => encodings.has(each) && taken.includes(each)) ?? null
}

/** The file of an address. What does not look like a file is one of the console's pages, all of which are one file. */
function fileAt(files: ConsoleFiles, path: string): ConsoleFile | undefined {
  const name = path.slice(mount.length)
  const isPage = !name.startsWith('assets/') && types[extname(name)] === undefined
  return files.get(isPage ? 'index.html' : name)
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
}

const words = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }

function said(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { ...words, ...headers }, body: `${text}\n` }
}

async function answerTo(files: ConsoleFiles, incoming: IncomingMessage): Promise<Answer> {
  const { method = '', url = '/', headers } = incoming
  const path = url.replace(/[?#].*$/s, '')
  if (method !== 'GET' && method !== 'HEAD') return said(405, 'Use GET here.', { allow: 'GET, HEAD' })
  if (!path.startsWith(mount)) return said(302, 'The console is at /console/.', { location: mount })
  if (!files.has('index.html')) return said(503, `Nothing to show: ${howToBuild}.`)
  const file = fileAt(files, path)
  if (file === undefined) return said(404, 'There is nothing here.')
  const encoding = encodingFor(headers['accept-encoding'], file)
  const etag = `"${file.etag}${encoding === null ? '' : `-${encoding}`}"`
  const common = {
    etag,
    'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
  }
  if (headers['if-none-match']?.split(/\s*,\s*/).includes(etag)) {
    return { status: 304, headers: common, body: '' }
  }
  const body = await readFile(encoding === null ? file.path : `${file.path}${suffixOf[encoding]}`)
  return {
    status: 200,
    headers: {
      ...common,
      ...(encoding === null ? {} : { 'content-encoding': encoding }),
      'content-type': file.type,
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    },
    body,
  }
}

/** Gives the list of files: read anew after each build, so a running relay serves the console as it is now. */
function freshFiles(folder: string): () => Promise<ConsoleFiles> {
  let builtAt: number | undefined
  let files: Promise<ConsoleFiles> | undefined
  return async () => {
    const about = await stat(join(folder, 'index.html')).catch(() => undefined)
    if (files === undefined || about?.mtimeMs !== builtAt) {
      builtAt = about?.mtimeMs
      files = readConsoleFiles(folder)
    }
    return files
  }
}

/** A listener of node:http for the console's addresses; never throws. */
export function consoleListener(folder = consoleFolder) {
  const files = freshFiles(folder)
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    let answer: Answer
    try {
      answer = await answerTo(await files(), incoming)
    } catch {
      answer = said(503, 'The console cannot be read at the moment.')
    }
    const { status, headers, body } = answer
    const length = status === 304 ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    outgoing.writeHead(status, { ...headers, ...length })
    outgoing.end(incoming.method === 'HEAD' ? undefined : body)
  }
}
