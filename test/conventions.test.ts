/** Conventions for files, names, tests, documents and dependencies, checked on the real source tree. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'

import { renderConfigurationPage } from '../src/config.ts'
import { findUncalledEndpoints } from './support/client/route-coverage.ts'
import { backendOf, drivesForeignProgram, suiteOf } from './support/runner/test-headers.ts'
import { retiredFiles, retiredNames } from './support/retired-names.ts'
import { assertNone, findPlaces, isTest, readSources, root } from './support/source-files.ts'
import type { SourceFile } from './support/source-files.ts'

const sources = readSources()
const product = sources.filter((file) => file.path.startsWith('src/') && !isTest(file))
const readText = (path: string): string => readFileSync(join(root, path), 'utf8')

/** All files a file depends on, directly or indirectly. */
function dependenciesOf(
  path: string,
  files: ReadonlyMap<string, SourceFile>,
  found = new Set<string>(),
): Set<string> {
  for (const { target } of files.get(path)?.imports ?? []) {
    if (target === undefined || found.has(target)) continue
    found.add(target)
    dependenciesOf(target, files, found)
  }
  return found
}

describe('files', () => {
  test('Files have at most 400 lines', (t) => {
    const counts = product.map((file) => file.lineCount).toSorted((a, b) => a - b)
    const median = counts[Math.floor(counts.length / 2)] ?? 0
    t.diagnostic(
      `${counts.length} files under src/ without tests, median ${median} lines, longest ${counts.at(-1) ?? 0}`,
    )
    assertNone(
      sources
        .filter((file) => file.lineCount > 400)
        .map((file) => `${file.path} has ${file.lineCount} lines`),
      'Split it by what a reader would look for:',
    )
  })

  test('Names of files are in kebab-case and say what is inside', () => {
    const empty = /(^|[-/.])(utils?|helpers?|common|managers?|base|impl|index|misc)([-/.]|$)/
    const kebab = /^[a-z0-9/-]+(\.(test|long|fixture|d))?\.tsx?$/
    assertNone(
      sources.filter(({ path }) => empty.test(path) || !kebab.test(path)).map((file) => file.path),
      'Name the file after what it does, in kebab-case; no barrels and no catch-all files:',
    )
  })

  test('No file has a retired name', () => {
    const names = new Set(retiredFiles)
    const retired = sources.filter(({ path }) => names.has(path.split('/').at(-1)?.split('.')[0] ?? ''))
    assertNone(
      retired.map((file) => file.path),
      'Use the field’s word; retired names are in test/support/retired-names.ts:',
    )
  })
})

describe('names', () => {
  test('No declaration has a retired name', () => {
    const declaration = new RegExp(
      String.raw`\b(?:class|interface|type|enum|function\*?|const|let)\s+(?:${retiredNames.join('|')})\b(?!\s*:)`,
      'g',
    )
    const files = sources.filter(({ path }) => path !== 'test/support/retired-names.ts')
    assertNone(
      findPlaces(files, declaration),
      'Use the field’s word; retired names are in test/support/retired-names.ts:',
    )
  })
})

describe('payments', () => {
  test('No notice of a provider is read without its signature', () => {
    assertNone(
      findPlaces(sources, /\bconstructEventWithoutVerification\b(?!\\b)/g),
      'Call `constructEvent`, which verifies the signature:',
    )
  })
})

describe('tests', () => {
  const tests = sources.filter(({ path }) => /\.(test|long)\.ts$/.test(path))

  test('Titles are plain sentences, or “subject – behaviour”, of at most 90 characters', () => {
    const isSentence = (text: string): boolean => /^[\p{Lu}\p{N}`“/]\S*(?: \S+){2,}$/u.test(text)
    const title = /\btest\(\s*(?:'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)")/g
    const bad = tests.flatMap((file) =>
      Array.from(file.uncommented.matchAll(title), (match) => match[1] ?? match[2] ?? '')
        .filter((text) => !(isSentence(text) || /\S – \S/.test(text)) || text.length > 90)
        .map((text) => `${file.path}: ${text}`),
    )
    assertNone(
      bad,
      'Write a plain sentence with a subject and a verb (“A hold ends when the caller disconnects”):',
    )
  })

  test('Every test file has a describe block', () => {
    const ungrouped = tests.filter(
      ({ path, code }) => path.endsWith('.test.ts') && /\btest\(/.test(code) && !/\bdescribe\(/.test(code),
    )
    assertNone(
      ungrouped.map(({ path }) => path),
      'Group the tests by unit with describe():',
    )
  })

  test('No test is skipped or exclusive', () => {
    const switched = /\b(?:test|it|describe|suite)\.(?:skip|only|todo)\b|\b(?:skip|only|todo):\s*true\b/g
    assertNone(
      findPlaces(sources, switched),
      'Fix or delete the test; one that needs something missing skips with a reason in words:',
    )
  })

  test('Tests wait for events, and for a time only by a helper that says why', () => {
    const waiting = sources.filter(
      ({ path }) =>
        (/\.(test|long|fixture)\.ts$/.test(path) || /^(test|sim|clients)\//.test(path)) &&
        path !== 'test/support/wait.ts',
    )
    const sleeps =
      /\b(?:setTimeout|scheduler)\b[^;\n]*\bfrom 'node:timers\/promises'|\bnew Promise\b[^;=]*=>\s*\{?\s*(?:void )?setTimeout\(|\bwaitForTimeout\(/g
    assertNone(
      findPlaces(waiting, sleeps, 'uncommented'),
      'Wait with waitUntil, staysFalse or, where slowness is the script, scriptedDelay of test/support/wait.ts:',
    )
  })

  test('Every end-to-end test file declares the stores it runs on', () => {
    const files = new Map(sources.map((file) => [file.path, file]))
    const isEndToEnd = ({ path }: SourceFile): boolean =>
      /^test\/(e2e|cluster)\/.*\.test\.ts$/.test(path) ||
      (/^test\/.*\.test\.ts$/.test(path) &&
        dependenciesOf(path, files).has('test/support/server/relay-process.ts'))
    const invalid = sources.filter(isEndToEnd).filter(({ path, text }) => {
      const backend = backendOf(text)
      return backend === undefined || (backend.stores === 'both' && !path.startsWith('test/e2e/'))
    })
    assertNone(
      invalid.map(({ path }) => path),
      'Begin the file with a valid `// @backend` line (see test/support/runner/test-headers.ts):',
    )
  })

  test('Every endpoint of the admin API is called by a test', () => {
    const callers = sources.filter(
      ({ path }) => path.startsWith('test/') || (path.startsWith('src/http/') && path.endsWith('.test.ts')),
    )
    assertNone(findUncalledEndpoints(callers), 'Call it in an end-to-end test of its resource:')
  })

  test('A file that is not in the short suite says why', () => {
    const invalid = sources.filter(
      ({ path, text }) => /^\/\/ @suite/m.test(text) && suiteOf(path, text) !== 'all',
    )
    assertNone(
      invalid.map(({ path }) => path),
      'Write `// @suite all – <reason>` at the top of a *.test.ts file, after `// @backend`:',
    )
  })
})

describe('foreign programs', () => {
  test('A test file that drives a browser or a client says so', () => {
    const files = new Map(sources.map((file) => [file.path, file]))
    const drives = ({ path }: SourceFile): boolean =>
      path.startsWith('clients/') || dependenciesOf(path, files).has('test/support/console/chromium.ts')
    const silent = sources.filter(
      (file) => /\.(test|long)\.tsx?$/.test(file.path) && drives(file) && !drivesForeignProgram(file.text),
    )
    assertNone(
      silent.map(({ path }) => path),
      'Write `// @drives a browser` or `// @drives a client` at the top (see test/support/runner/test-headers.ts):',
    )
  })
})

describe('documents', () => {
  const pages = ['*.md', 'docs/**/*.md'].flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted()

  test('The page docs/configuration.md equals the settings in src/config.ts', () => {
    const page = existsSync(join(root, 'docs/configuration.md')) ? readText('docs/configuration.md') : ''
    assert.ok(page === renderConfigurationPage(), 'Run `npm run docs` and commit docs/configuration.md')
  })

  test('Links lead to existing files and headings', () => {
    const anchorsOf = (text: string): string[] =>
      Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(/\s/g, '-'),
      )
    const broken = pages.flatMap((page) =>
      Array.from(readText(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g), (match) => match)
        .filter(([, path = '', anchor]) => {
          const target = path === '' ? page : join(dirname(page), path)
          if (!existsSync(join(root, target))) return true
          return anchor !== undefined && !anchorsOf(readText(target)).includes(anchor)
        })
        .map(([link]) => `${page}: ${link}`),
    )
    assertNone(broken, 'Correct the link:')
  })

  test('Source files named in documents exist', () => {
    const path = /`((?:src|test|sim|bench|console|clients|site|deploy|bin)\/[\w./-]+)`/g
    const missing = pages
      .filter((page) => page !== 'CHANGELOG.md')
      .flatMap((page) =>
        Array.from(readText(page).matchAll(path), ([, name = '']) => name)
          .filter((name) => !existsSync(join(root, name)))
          .map((name) => `${page}: ${name}`),
      )
    assertNone(missing, 'Name the file as it is called now:')
  })
})

describe('dependencies', () => {
  const manifest = JSON.parse(readText('package.json')) as Record<string, Record<string, string>>

  test('Versions are exact', () => {
    const groups = ['dependencies', 'devDependencies', 'optionalDependencies'].map(
      (group) => manifest[group] ?? {},
    )
    const ranges = groups.flatMap((group) =>
      Object.entries(group).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
    )
    assertNone(
      ranges.map(([name, version]) => `package.json: ${name} ${version}`),
      'Name one exact version:',
    )
  })

  test('No `engines` in package-lock.json excludes the Node.js 20 that npm may run on', () => {
    const admitsNode20 = (range: string): boolean =>
      range.split('||').some((part) => {
        const [, operator, major] = /^\s*(>=|\^|~)?\s*v?(\d+|\*)/.exec(part) ?? []
        return major === '*' || (operator === '>=' ? Number(major) <= 20 : Number(major) === 20)
      })
    const { packages } = JSON.parse(readText('package-lock.json')) as {
      packages: Record<string, { engines?: { node?: string } }>
    }
    const excluding = Object.entries(packages).filter(
      ([, { engines }]) => !admitsNode20(engines?.node ?? '*'),
    )
    assertNone(
      excluding.map(([path]) => `package-lock.json: ${path}`),
      'Remove its `engines` (docs/decisions/0002): npm warns, although the package never runs on Node.js 20:',
    )
  })

  test('Declared dependencies equal what the product imports', () => {
    const packageOf = (specifier: string) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
    const outside = product
      .flatMap((file) => file.imports)
      .filter(({ target, specifier }) => target === undefined && !specifier.startsWith('node:'))
    const imported = new Set(outside.map(({ specifier }) => packageOf(specifier)))
    const declared = new Set(Object.keys(manifest['dependencies'] ?? {}))
    assertNone([...imported.difference(declared)], 'Declare it in package.json; src/ imports it:')
    assertNone(
      [...declared.difference(imported)],
      'Remove it from package.json; nothing under src/ imports it:',
    )
  })
})
