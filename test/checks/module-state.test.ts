/**
 * Several relays may share a process (src/process/open-relay.ts), and each module is loaded once. What a module keeps
 * between calls is listed here, with the reason why two relays may share it; anything else belongs into an object.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertNone, findPlaces, isTest, readSources, sourceFileOf } from '../support/source-files.ts'
import type { SourceFile } from '../support/source-files.ts'

/** By file and name. */
const sharedState: Readonly<Record<string, string>> = {
  'src/db/journal.ts chainGenesis': 'is never changed',
  'src/db/postgres/pipeline.ts prepared': 'belongs to a connection',
  'src/db/postgres/sql-text.ts numbered': 'a cache of a pure function',
  'src/db/schema/schema.ts sql': 'only builds queries',
  'src/db/sqlite/file-lock.ts heldConnections': 'each lock removes its own',
  'src/engine/payments/create-order.ts begins': 'by the id of an order, which is random',
  'src/engine/verification/ledger-reader.ts hashed': 'used within one call, which does not wait',
  'src/http/pdf/render-pdf.ts renderer': 'bounds how many threads of the process render',
  'src/http/router.ts emptyBody': 'is never changed',
  'src/http/server/hono-listener.ts listeners': 'belongs to the context of a worker',
  'src/ledger/journal.ts priceCache': 'an entry is used only if all its cells are the same',
  'src/ledger/periods.ts calendars': 'a cache of a pure function',
  'src/ledger/periods.ts dayEndCache': 'a cache of a pure function',
  'src/lib/http-client/connection.ts sharedBuffer': 'read out before the next read',
  'src/lib/http-client/connection.ts unwritten': 'each request is written by its own connection',
  'src/lib/ids.ts counter': 'ids differ within the process',
  'src/lib/ids.ts lastMs': 'ids differ within the process',
  'src/lib/ids.ts lastTime': 'ids differ within the process',
  'src/lib/ids.ts pool': 'random bytes, of which each is used once',
  'src/lib/ids.ts poolAt': 'random bytes, of which each is used once',
  'src/lib/json/json-cursor.ts escapable': 'written only while the module loads',
  'src/lib/json/json-cursor.ts inObject': 'used within one call, which does not wait',
  'src/lib/log-output.ts nothing': 'is never changed',
  'src/lib/sse/sse-event.ts emptyBuffer': 'is never changed',
  'src/providers/bedrock/bedrock.ts embedders': 'a cache of a pure function',
  'src/providers/google/function-calls.ts step': 'a regular expression, set before each search',
  'src/relay/durable-marks.ts groups': 'belongs to the ledger of a worker',
  'src/relay/request/completion-request.ts knownFields': 'is never changed',
  'src/relay/request/embedding-request.ts knownFields': 'is never changed',
  'src/relay/request/messages-request.ts knownFields': 'is never changed',
  'src/relay/request/request-fields.ts knownFields': 'is never changed',
  'src/relay/request/responses-request.ts knownFields': 'is never changed',
  'src/relay/routing/affinity.ts holders': 'belongs to a credential in the catalog of a worker',
  'src/relay/routing/route-stats.ts statsByRoute': 'belongs to a route in the catalog of a worker',
  'src/relay/routing/storing-routes.ts narrowed': 'belongs to a route in the catalog of a worker',
  'src/relay/routing/upstream-selector.ts singleCandidates': 'belongs to a model in the catalog of a worker',
  'src/relay/routing/upstream-transport.ts parsedUrls': 'a cache of a pure function',
  'src/relay/streaming/event-buffer.ts emptyBuffer': 'is never changed',
  'src/relay/streaming/model-renaming.ts scratch': 'used within one call, which does not wait',
  'src/relay/streaming/response-capture.ts emptyBuffer': 'is never changed',
  'src/relay/streaming/cut-text.ts encodedEvent': 'a regular expression, set before each search',
  'src/users/password.ts queue': 'bounds the memory and CPU of the process for passwords',
  'src/users/password.ts running': 'bounds the memory and CPU of the process for passwords',
}

/** Where the process itself is changed or ended; relays leave it alone. */
const ownersOfTheProcess = [
  'src/main.ts',
  'src/cli/',
  'src/process/serve.ts',
  'src/process/signals.ts',
  'src/process/startup-banner.ts',
  'src/lib/log.ts',
  'src/lib/idle-garbage-collection.ts',
]
const processChange =
  /\bprocess\.(?:on|once|exit|exitCode|abort|chdir|umask|kill|stdin|stdout|title|prependListener)\b|\b(?:setGlobalDispatcher|setFlagsFromString|setEnvironmentData|setDefaultCACertificates)\(/g

const declaration =
  /^(?:export )?(?<kind>let|const) (?<names>\[[^\]\n]*\]|[\w$]+)(?::[^\n]*?)? = (?<value>[^\n]*)/gm
const collections = /^new (?:Map|Set|WeakMap|WeakSet|Array|(?:Ui|I)nt\d+Array|Float\d+Array)\b/
const immutableClasses = /^new (?:URL|RegExp|TextEncoder|TextDecoder|Intl\.\w+)\b/
const buffers = /^(?:Buffer\.alloc|new (?:Uint8Array|ArrayBuffer)\((?!\[))/
const mutatingCalls = 'set|add|delete|clear|push|pop|shift|unshift|splice|fill|copyWithin|sort|reverse'

function isMutated(code: string, name: string): boolean {
  const member = String.raw`(?:\.[\w$]+|\[[^\]\n]*\])`
  const assigned = String.raw`${member}+ *(?:=(?![=>])|\?\?=|\|\|=|\+=|-=|\+\+|--)`
  return new RegExp(String.raw`(?<![.\w$])${name}(?:\.(?:${mutatingCalls})\(|${assigned})`).test(code)
}

/** Whether a declaration of a module keeps something that later calls can change. */
function isState({ code }: SourceFile, kind: string, name: string, value: string): boolean {
  if (kind === 'let' || buffers.test(value) || isMutated(code, name)) return true
  return value.startsWith('new ') && !collections.test(value) && !immutableClasses.test(value)
}

/** `path name` of what the modules keep between calls. */
function findState(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    Array.from(file.code.matchAll(declaration)).flatMap(({ groups = {} }) => {
      const { kind = '', names = '', value = '' } = groups
      const declared = names.match(/[\w$]+/g) ?? []
      return declared.filter((name) => isState(file, kind, name, value)).map((name) => `${file.path} ${name}`)
    }),
  )
}

const product = readSources().filter(
  (file) => file.path.startsWith('src/') && file.path !== 'src/main.ts' && !isTest(file),
)

describe('module state', () => {
  test('Modules keep between calls only what relays of one process may share', () => {
    assertNone(
      findState(product).filter((place) => !(place in sharedState)),
      'Move it into an object that a relay owns, or give the reason why two relays may share it (in this test):',
    )
  })

  test('The list names nothing that is gone', () => {
    const found = findState(product)
    assertNone(
      Object.keys(sharedState).filter((place) => !found.includes(place)),
      'Remove these from the list in this test:',
    )
  })

  test('Classes keep nothing between calls in static fields', () => {
    const mutable = /^ +(?:private |public |protected )?static (?!readonly )(?:#?[\w$]+)(?::[^\n]*?)? = /gm
    assertNone(findPlaces(product, mutable), 'Move the field into an object that a relay owns:')
  })

  test('Only the program changes or ends the process', () => {
    const others = product.filter(({ path }) => !ownersOfTheProcess.some((owner) => path.startsWith(owner)))
    assertNone(findPlaces(others, processChange), 'Leave it to src/process/serve.ts:')
  })

  for (const [what, text] of [
    ['a variable', 'let last = 0\n'],
    ['a map that is filled', 'const known = new Map<string, string>()\nknown.set(a, b)\n'],
    ['an array that grows', 'export const waiting: (() => void)[] = []\nwaiting.push(run)\n'],
    ['an object that is filled', 'const cache: Record<string, string> = {}\ncache[name] ??= read()\n'],
    ['an object of a class', 'const renderer = new Renderer()\n'],
  ] as const) {
    test(`The search finds ${what}`, () => {
      assert.equal(findState([sourceFileOf('src/lib/x.ts', text)]).length, 1)
    })
  }

  test('The search does not find constants', () => {
    const text = "const codes = new Set(['a'])\nconst at = new URL('a')\nconst names = ['a']\n"
    assert.deepEqual(findState([sourceFileOf('src/lib/x.ts', text)]), [])
  })
})
