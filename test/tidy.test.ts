/**
 * The rules of the house, held on the real tree. Each failure names the place and what to do about it.
 * Functions of at most 70 lines and 4 parameters, and what needs types to be seen, are held by .oxlintrc.json.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { renderConfigurationPage } from '../src/config.ts'
import { owners } from '../src/db/schema/schema.ts'
import { isTest, places, readSources, root } from './support/source-files.ts'
import type { Import, SourceFile } from './support/source-files.ts'
import { toldOnce, toldTwice, toldTwiceInLongRuns, toldWithoutRedis } from './told-twice.ts'

/** From the ground up. A room may import what lies below it, never a room beside it. */
const floors: readonly (readonly string[])[] = [
  ['lib'],
  ['providers', 'db', 'shared'],
  ['accounts', 'catalog', 'formats', 'ledger', 'limits', 'health', 'notices', 'people', 'usage'],
  ['relay'],
  ['http'],
  ['server'],
  ['cli'],
  ['main.ts'],
]
/** Beside the floors: everybody may import them, and they import nothing of the house but lib/. */
const beside = ['config.ts', 'config', 'errors.ts']

/** What reaches outside, and the few places that may. A name ending in a slash is a room, other names are beginnings. */
const keepers = [
  {
    what: /^(undici|node:(net|tls|https?|http2|dgram))$/,
    harmless: /^(isIP|isIPv4|isIPv6|BlockList|SocketAddress|STATUS_CODES|METHODS)$/,
    where: [
      'lib/http-',
      'lib/tunnel.ts',
      'relay/attempt.ts',
      'health/',
      'notices/send.ts',
      'http/server.ts',
      'server/',
    ],
  },
  { what: /^(node:sqlite|pg)$/, where: ['db/'] },
  { what: /^nodemailer$/, where: ['lib/mail.ts'] },
  { what: /^(ioredis|iovalkey)$/, where: ['shared/'] },
  { what: /^(hono|@hono\/.*)(\/|$)/, where: ['http/'] },
  { what: /^commander$/, where: ['cli/', 'main.ts'] },
]

const sources = readSources()
const house = sources.filter((file) => file.path.startsWith('src/'))
const product = house.filter((file) => !isTest(file))

function hold(offences: readonly string[], whatToDo: string): void {
  if (offences.length > 0) assert.fail(`${whatToDo}\n  ${offences.join('\n  ')}`)
}

/** `src/ledger/step.ts` → `ledger`, `src/main.ts` → `main.ts`. */
function roomOf(path: string): string {
  return path.split('/')[1] ?? ''
}

function floorOf(path: string): number {
  return floors.findIndex((rooms) => rooms.includes(roomOf(path)))
}

function importsOf(files: readonly SourceFile[]): { file: SourceFile; its: Import; place: string }[] {
  return files.flatMap((file) =>
    file.imports.map((its) => ({ file, its, place: `${file.path}:${its.line} ${its.specifier}` })),
  )
}

function isAt(path: string, where: readonly string[]): boolean {
  return where.some((beginning) => path.startsWith(`src/${beginning}`))
}

/** True where the import goes down, stays in its room, or fetches what stands beside the floors. */
function mayImport(from: string, to: string): boolean {
  const [room, other] = [roomOf(from), roomOf(to)]
  if (beside.includes(room)) return other === 'lib' || (room === 'config.ts' && other === 'config')
  return room === other || beside.includes(other) || floorOf(to) < floorOf(from)
}

function cycleFrom(
  start: string,
  edges: ReadonlyMap<string, readonly string[]>,
  done: Set<string>,
): string[] | undefined {
  const way: string[] = []
  const walk = (path: string): string[] | undefined => {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path]
    if (done.has(path)) return undefined
    way.push(path)
    for (const next of edges.get(path) ?? []) {
      const cycle = walk(next)
      if (cycle) return cycle
    }
    done.add(way.pop() ?? path)
    return undefined
  }
  const cycle = walk(start)
  for (const path of way) done.add(path)
  return cycle
}

test('every room under src/ stands on a floor', () => {
  const strangers = house.filter((file) => floorOf(file.path) === -1 && !beside.includes(roomOf(file.path)))
  hold(
    strangers.map((file) => file.path),
    'Move the file into a room, or give its room a floor (in this test and in ARCHITECTURE.md):',
  )
})

test('imports go only downstairs, and rooms on one floor do not import each other', () => {
  const upstairs = importsOf(house).filter(({ file, its }) => {
    if (its.target === undefined) return false
    if (its.target.startsWith('src/')) return !mayImport(file.path, its.target)
    return !isTest(file) && its.target !== 'package.json'
  })
  hold(
    upstairs.map(({ place }) => place),
    'Write what needs both rooms one floor up, or move what both need one floor down:',
  )
})

test('no import closes a circle', () => {
  const edges = new Map(
    sources.map((file) => [
      file.path,
      file.imports.flatMap(({ target }) => (target === undefined ? [] : [target])),
    ]),
  )
  const done = new Set<string>()
  const cycles = sources.flatMap((file) => cycleFrom(file.path, edges, done)?.join(' → ') ?? [])
  hold(cycles, 'Move what two of these files share into a file of its own:')
})

test('a table is written only by the room that owns it', () => {
  const inSql =
    /\b(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|delete\s+from|update(?=\s+\w+\s+(?:as\s+\w+\s+)?set\b))\s+["`]?(\w+)/gi
  const inKysely = /\.(?:insertInto|replaceInto|mergeInto|updateTable|deleteFrom)\(\s*['"](\w+)/g
  const ownerOf = new Map<string, string>(Object.entries(owners))
  // A migration makes the table and may fill it.
  const writers = product.filter((file) => !file.path.startsWith('src/db/migrations'))
  const foreign = writers.flatMap((file) => {
    const places = [inSql, inKysely].flatMap((pattern) => [...file.uncommented.matchAll(pattern)])
    return places.flatMap(([statement, table = '']) => {
      const owner = ownerOf.get(table)
      const fine = owner === undefined || owner === roomOf(file.path)
      return fine ? [] : [`${file.path}: ${statement} (owned by ${owner})`]
    })
  })
  hold(foreign, 'Call a function of the owner, or correct the owner in src/db/schema.ts:')
})

test('what reaches outside stays with its keepers', () => {
  const strays = importsOf(product).filter(({ file, its }) => {
    const keeper = keepers.find(({ what }) => what.test(its.specifier))
    if (!keeper || its.typeOnly || isAt(file.path, keeper.where)) return false
    return (
      its.names.length === 0 ||
      its.names.some((name) => !keeper.harmless?.test(name) && !name.startsWith('type '))
    )
  })
  const calls = places(product, /(?<![.\w$])fetch\s*\(|new (?:WebSocket|EventSource)\b/g)
  hold([...strays.map(({ place }) => place), ...calls], 'Call the keeper of it (see `keepers` in this test):')
})

test('only src/config.ts reads the environment', () => {
  const others = product.filter((file) => file.path !== 'src/config.ts')
  hold(places(others, /\bprocess\.env\b/g), 'Make it a setting in src/config.ts and take it from there:')
})

test('the ledger knows no clock and no chance', () => {
  const ledger = product.filter((file) => roomOf(file.path) === 'ledger')
  const impure =
    /\bDate\.now\b|\bnew Date\b|\bMath\.random\b|\bperformance\.now\b|\b(?:setTimeout|setInterval|setImmediate)\b|\brandom(?:UUID|Bytes|Int)\b|\bgetRandomValues\b/g
  hold(places(ledger, impure), 'Let the caller hand it in with the operation:')
})

test('no file outgrows a reader', (t) => {
  const counts = product.map((file) => file.lineCount).toSorted((a, b) => a - b)
  const median = counts[Math.floor(counts.length / 2)] ?? 0
  t.diagnostic(
    `${counts.length} files under src/ (tests apart), median ${median} lines, longest ${counts.at(-1) ?? 0}`,
  )
  const long = sources.filter((file) => file.lineCount > 300)
  hold(
    long.map((file) => `${file.path} has ${file.lineCount} lines`),
    'Split it by what a reader would look for; at most 300 lines:',
  )
})

test('a file is called by the word one would search for', () => {
  const empty =
    /(^|[-/.])(utils?|helpers?|common|managers?|services?|handlers?|base|impl|index|misc)([-/.]|$)/
  const kebab = /^[a-z0-9/-]+(\.(test|long|fixture|d))?\.tsx?$/
  const badly = sources.filter(({ path }) => empty.test(path) || !kebab.test(path))
  hold(
    badly.map((file) => file.path),
    'Find the word for what it does; kebab-case, no barrel, no drawer for everything:',
  )
})

test('nothing is left over in the product', () => {
  const notes = product.flatMap((file) =>
    places([{ ...file, code: file.text }], /\b(TODO|FIXME|XXX|HACK)\b/g),
  )
  const output = product.filter((file) => !isAt(file.path, ['cli/', 'main.ts']))
  hold(
    [...notes, ...places(output, /\bconsole\.\w+/g)],
    'Do it now, or write an issue; log with src/lib, not console:',
  )
})

test('types are not given up', () => {
  const givenUp = places(sources, /\bas unknown as\b|\bas any\b/g)
  const silenced = sources.flatMap((file) =>
    places([{ ...file, code: file.text }], /\/\/ *@ts-(ignore|nocheck|expect-error)/g),
  )
  hold([...givenUp, ...silenced], 'Check what it is (zod, a type guard) and say so in the type:')
})

test('no test is switched off or alone', () => {
  const switched = /\b(?:test|it|describe|suite)\.(?:skip|only|todo)\b|\b(?:skip|only|todo):\s*true\b/g
  hold(
    places(sources, switched),
    'Mend or delete the test; one that lacks something skips with the reason in words:',
  )
})

/** The files that this one stands on, through however many others. */
function standsOn(
  path: string,
  files: ReadonlyMap<string, SourceFile>,
  found = new Set<string>(),
): Set<string> {
  for (const { target } of files.get(path)?.imports ?? []) {
    if (target === undefined || found.has(target)) continue
    found.add(target)
    standsOn(target, files, found)
  }
  return found
}

test('every story is told again on a cluster, or it is written down why not', () => {
  const files = new Map(sources.map((file) => [file.path, file]))
  const stories = sources
    .map(({ path }) => path)
    .filter((path) => /^test\/.*\.test\.ts$/.test(path) && standsOn(path, files).has('test/relay-process.ts'))
    .map((path) => path.replace(/^test\/(.*)\.test\.ts$/, '$1'))
  const named = [...toldTwice, ...toldTwiceInLongRuns, ...Object.keys(toldOnce)]
  assert.deepEqual(named.toSorted(), stories.toSorted(), 'test/told-twice.ts names each story once')
  hold(
    toldWithoutRedis.filter((name) => !toldTwice.includes(name)),
    'Tell it with Redis, too:',
  )
})

test('docs/configuration.md tells the settings as they are', () => {
  const path = join(root, 'docs/configuration.md')
  const page = existsSync(path) ? readFileSync(path, 'utf8') : ''
  assert.ok(
    page === renderConfigurationPage(),
    'docs/configuration.md is out of date: run `npm run docs` and commit it',
  )
})

test('every dependency is exact, imported by the product, and declared', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies'].map(
    (group) => manifest[group] ?? {},
  )
  const ranges = groups.flatMap((group) =>
    Object.entries(group).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
  )
  hold(
    ranges.map(([name, version]) => `package.json: ${name} ${version}`),
    'Name one exact version:',
  )

  const packageOf = (specifier: string) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
  const outside = importsOf(product).filter(
    ({ its }) => its.target === undefined && !its.specifier.startsWith('node:'),
  )
  const imported = new Set(outside.map(({ its }) => packageOf(its.specifier)))
  const declared = new Set(Object.keys(manifest['dependencies'] ?? {}))
  hold([...imported.difference(declared)], 'Declare it in package.json under dependencies; src/ imports it:')
  hold([...declared.difference(imported)], 'Remove it from package.json; nothing under src/ imports it:')
})
