/**
 * The architecture rules, checked on the real source tree. Each failure names the place and says what to do.
 * `conventions.test.ts` checks names, files, tests and documents; `.oxlintrc.json` what needs types.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { owners } from '../src/db/schema/schema.ts'
import { assertNone, findPlaces, isTest, readSources } from './support/source-files.ts'
import type { Import, SourceFile } from './support/source-files.ts'

/** From the bottom up. A module may import modules below it, never one of its own layer. */
const layers: readonly (readonly string[])[] = [
  ['lib'],
  ['rpc'],
  ['providers', 'db', 'shared'],
  [
    'accounts',
    'branding',
    'catalog',
    'formats',
    'ledger',
    'limits',
    'health',
    'notifications',
    'payments',
    'users',
    'usage',
  ],
  ['relay'],
  ['engine'],
  ['cluster', 'migrate-store'],
  ['backup'],
  ['http'],
  ['jobs'],
  ['process'],
  ['cli'],
  ['main.ts'],
]
/** Every module may import these; they import nothing but `lib/`. */
const sharedByAll = ['config.ts', 'config', 'errors.ts']

/** Imports that reach outside, and the only places that may have them: a folder (with a slash) or a path's beginning. */
const restrictedImports = [
  {
    specifier: /^(undici|node:(net|tls|https?|http2|dgram))$/,
    harmlessNames: /^(isIP|isIPv4|isIPv6|BlockList|SocketAddress|STATUS_CODES|METHODS|ServerResponse)$/,
    allowedIn: ['lib/guarded-http.ts', 'lib/http-client/', 'health/public-addresses.ts', 'jobs/', 'process/'],
  },
  { specifier: /guarded-http\.ts$/, allowedIn: ['notifications/send.ts', 'payments/provider-http.ts'] },
  { specifier: /^pdfkit$/, allowedIn: ['http/pdf/draw-pdf.ts'] },
  { specifier: /^stripe$/, allowedIn: ['payments/stripe-client.ts'] },
  { specifier: /^(node:sqlite|pg)$/, allowedIn: ['db/'] },
  { specifier: /^nodemailer$/, allowedIn: ['lib/email.ts'] },
  { specifier: /^(ioredis|iovalkey)$/, allowedIn: ['shared/'] },
  { specifier: /^(hono|@hono\/.*)(\/|$)/, allowedIn: ['http/'] },
  { specifier: /^ws$/, allowedIn: ['http/websocket/'] },
  { specifier: /^commander$/, allowedIn: ['cli/', 'main.ts'] },
]

const sources = readSources()
const serverFiles = sources.filter((file) => file.path.startsWith('src/'))
const product = serverFiles.filter((file) => !isTest(file))

/** `src/ledger/operations.ts` → `ledger`, `src/main.ts` → `main.ts`. */
function moduleOf(path: string): string {
  return path.split('/')[1] ?? ''
}

function layerOf(path: string): number {
  return layers.findIndex((modules) => modules.includes(moduleOf(path)))
}

function importsOf(files: readonly SourceFile[]): { file: SourceFile; imported: Import; place: string }[] {
  return files.flatMap((file) =>
    file.imports.map((imported) => ({
      file,
      imported,
      place: `${file.path}:${imported.line} ${imported.specifier}`,
    })),
  )
}

function isAt(path: string, allowedIn: readonly string[]): boolean {
  return allowedIn.some((beginning) => path.startsWith(`src/${beginning}`))
}

/** True if the import goes down, stays in its module, or names what all modules share. */
function mayImport(from: string, to: string): boolean {
  const [module, other] = [moduleOf(from), moduleOf(to)]
  if (sharedByAll.includes(module)) return other === 'lib' || (module === 'config.ts' && other === 'config')
  return module === other || sharedByAll.includes(other) || layerOf(to) < layerOf(from)
}

function cycleFrom(
  start: string,
  edges: ReadonlyMap<string, readonly string[]>,
  visited: Set<string>,
): string[] | undefined {
  const path: string[] = []
  const visit = (file: string): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (visited.has(file)) return undefined
    path.push(file)
    for (const next of edges.get(file) ?? []) {
      const cycle = visit(next)
      if (cycle) return cycle
    }
    visited.add(path.pop() ?? file)
    return undefined
  }
  const cycle = visit(start)
  for (const file of path) visited.add(file)
  return cycle
}

/** The modules whose threads serve requests. */
const servingModules = ['http', 'relay', 'engine', 'jobs', 'process/workers'].map((name) => `src/${name}/`)

/** Modules with synchronous calls of node:fs that a serving thread imports or starts as a thread, and why it never waits in them. */
const synchronousFiles: Readonly<Record<string, string>> = {
  'src/lib/settings.ts': 'reads settings at the start',
  'src/lib/key-file.ts': 'reads the key at the start; the command rotate-key replaces it',
  'src/lib/sync-path.ts': 'is called by the key file, at the start',
  'src/lib/log-output.ts': 'writes what is left in the handler of the exit',
  'src/http/server/connection-limiter.ts': 'reads the limits of the process at the start',
  'src/process/tls-listener.ts': 'reads the certificate at the start, and later with node:fs/promises',
  'src/engine/sqlite/embedded-core.ts': 'looks for the database at the start',
  'src/db/sqlite/store.ts': 'creates the data directory at the start',
  'src/db/sqlite/open-database.ts': 'is called at the start and by the threads of the store',
  'src/db/sqlite/connection.ts': 'is called at the start and by the threads of the store',
  'src/db/sqlite/read-only.ts': 'is called at the start and by the threads of backups',
  'src/db/sqlite/backup-file.ts': 'is called by the threads of backups and by commands',
  'src/db/sqlite/file-lock.ts': 'is called at the start and by the threads of backups',
  'src/db/transfer/to-sqlite.ts': 'is called by the threads of backups and by commands',
  'src/backup/backup-store.ts': 'is called by the thread of the backup folder',
  'src/backup/draft.ts': 'is called by the threads of backups',
  'src/backup/backup-manifest.ts': 'is called by the threads of backups',
  'src/backup/make-backup.ts': 'is called by the threads of backups',
}

/** What these files import, directly or not, except types. */
function importedBy(files: readonly SourceFile[]): Set<SourceFile> {
  const byPath = new Map(product.map((file) => [file.path, file]))
  const reached = new Set(files)
  for (const file of reached) {
    for (const { target, typeOnly } of file.imports) {
      const imported = typeOnly ? undefined : byPath.get(target ?? '')
      if (imported) reached.add(imported)
    }
  }
  return reached
}

describe('architecture', () => {
  test('Serving threads wait for no file, except where one list says why', () => {
    const serving = product.filter(({ path }) => servingModules.some((module) => path.startsWith(module)))
    const found = [...importedBy(serving)]
      .filter(({ imports }) =>
        imports.some(
          ({ specifier, names }) => specifier === 'node:fs' && names.some((name) => name.endsWith('Sync')),
        ),
      )
      .map(({ path }) => path)
    assertNone(
      found.filter((path) => synchronousFiles[path] === undefined),
      'Use node:fs/promises, or do it on a thread of its own (backup/backup-folder-client.ts):',
    )
    assertNone(
      Object.keys(synchronousFiles).filter((path) => !found.includes(path)),
      'Remove the exception: no serving thread imports the file, or it calls nothing synchronous:',
    )
  })

  test('layers – every module under src/ has one', () => {
    const unknown = serverFiles.filter(
      (file) => layerOf(file.path) === -1 && !sharedByAll.includes(moduleOf(file.path)),
    )
    assertNone(
      unknown.map((file) => file.path),
      'Move the file into a module, or give its module a layer (in this test and in ARCHITECTURE.md):',
    )
  })

  test('imports – go down the layers, never to a module of the same layer', () => {
    const upwards = importsOf(serverFiles).filter(({ file, imported }) => {
      if (imported.target === undefined) return false
      if (imported.target.startsWith('src/')) return !mayImport(file.path, imported.target)
      return !isTest(file) && imported.target !== 'package.json'
    })
    assertNone(
      upwards.map(({ place }) => place),
      'Move code that needs both modules one layer up, or code that both need one layer down:',
    )
  })

  test('imports – the admin API and the console API are independent', () => {
    const crossing = importsOf(product).filter(({ file, imported }) => {
      const pair = [file.path, imported.target ?? ''].map(
        (path) => /^src\/http\/(admin|console)\//.exec(path)?.[1],
      )
      return pair[0] !== undefined && pair[1] !== undefined && pair[0] !== pair[1]
    })
    assertNone(
      crossing.map(({ place }) => place),
      'Move what both need to src/http/ or to the module that owns it:',
    )
  })

  test('imports – form no cycle', () => {
    const edges = new Map(
      sources.map((file) => [
        file.path,
        file.imports.flatMap(({ target }) => (target === undefined ? [] : [target])),
      ]),
    )
    const visited = new Set<string>()
    const cycles = sources.flatMap((file) => cycleFrom(file.path, edges, visited)?.join(' → ') ?? [])
    assertNone(cycles, 'Move what two of these files share into a separate file:')
  })

  test('tables – only the owning module writes a table', () => {
    const inSql =
      /\b(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|delete\s+from|update(?=\s+\w+\s+(?:as\s+\w+\s+)?set\b))\s+["`]?(\w+)/gi
    const inKysely = /\.(?:insertInto|replaceInto|mergeInto|updateTable|deleteFrom)\(\s*['"](\w+)/g
    const ownerOf = new Map<string, string>(Object.entries(owners))
    // A migration creates the table and may fill it.
    const writers = product.filter((file) => !file.path.startsWith('src/db/migrations'))
    const foreign = writers.flatMap((file) => {
      const places = [inSql, inKysely].flatMap((pattern) => [...file.uncommented.matchAll(pattern)])
      return places.flatMap(([statement, table = '']) => {
        const owner = ownerOf.get(table)
        const isAllowed = owner === undefined || owner === moduleOf(file.path)
        return isAllowed ? [] : [`${file.path}: ${statement} (owned by ${owner})`]
      })
    })
    assertNone(foreign, 'Call a function of the owner, or correct the owner in src/db/schema/schema.ts:')
  })

  test('outgoing calls – are made only where they are allowed', () => {
    const forbidden = importsOf(product).filter(({ file, imported }) => {
      const rule = restrictedImports.find(({ specifier }) => specifier.test(imported.specifier))
      if (!rule || imported.typeOnly || isAt(file.path, rule.allowedIn)) return false
      return (
        imported.names.length === 0 ||
        imported.names.some((name) => !rule.harmlessNames?.test(name) && !name.startsWith('type '))
      )
    })
    const calls = findPlaces(product, /(?<![.\w$])fetch\s*\(|new (?:WebSocket|EventSource)\b/g)
    assertNone(
      [...forbidden.map(({ place }) => place), ...calls],
      'Call the module that may do it (`restrictedImports` in this test):',
    )
    const unused = restrictedImports
      .flatMap(({ allowedIn }) => allowedIn)
      .filter((beginning) => !product.some(({ path }) => isAt(path, [beginning])))
    assertNone(unused, 'Remove it from `restrictedImports`; no file has this path:')
  })

  test('environment – only src/config.ts reads it', () => {
    const others = product.filter((file) => file.path !== 'src/config.ts')
    assertNone(
      findPlaces(others, /\bprocess\.env\b/g),
      'Make it a setting in src/config.ts and pass its value:',
    )
  })

  test('ledger – uses no clock and no randomness', () => {
    const ledger = product.filter((file) => moduleOf(file.path) === 'ledger')
    const impure =
      /\bDate\.now\b|\bnew Date\b|\bMath\.random\b|\bperformance\.now\b|\b(?:setTimeout|setInterval|setImmediate)\b|\brandom(?:UUID|Bytes|Int)\b|\bgetRandomValues\b/g
    assertNone(findPlaces(ledger, impure), 'Let the caller pass it with the operation:')
  })

  test('types – are never circumvented', () => {
    const casts = findPlaces(sources, /\bas unknown as\b|\bas any\b/g)
    const silenced = sources.flatMap((file) =>
      findPlaces([{ ...file, code: file.text }], /\/\/ *@ts-(ignore|nocheck|expect-error)/g),
    )
    assertNone([...casts, ...silenced], 'Check the value (zod, a type guard) and express it in the type:')
  })

  test('product – contains no leftovers and no console output', () => {
    const notes = product.flatMap((file) =>
      findPlaces([{ ...file, code: file.text }], /\b(TODO|FIXME|XXX|HACK)\b/g),
    )
    const output = product.filter((file) => !isAt(file.path, ['cli/', 'main.ts']))
    assertNone(
      [...notes, ...findPlaces(output, /\bconsole\.(?:debug|error|info|log|trace|warn)\b/g)],
      'Finish it, or file an issue; log through src/lib/log.ts, not console:',
    )
    assert.ok(product.length > 100)
  })
})
