// @backend sqlite – compares interfaces, and the schema of both stores
/**
 * The interfaces that callers, operators, scripts and data of earlier releases rely on, compared with
 * `interface-snapshot.json`: endpoints and their schemas, the schemas of both databases, journal rows, metrics, headers,
 * error codes, environment variables, commands and flags. Prose (descriptions, summaries, messages) is left out.
 * After an intended change, run `UPDATE_SNAPSHOT=1 node test/run.ts interface-snapshot` and commit the difference.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import type { Command } from 'commander'
import { Client } from 'pg'
import { z } from 'zod'
import { startPostgres, postgresSkipReason } from '../src/db/postgres/postgres.fixture.ts'
import { apiError } from '../src/errors.ts'
import { decodeEvents, encodeEvents } from '../src/ledger/journal.ts'
import { settings } from '../src/config.ts'
import { endpoints } from '../src/http/console/endpoints.ts'
import { readCommands } from './support/command-line-parser.ts'
import { sharedTestServer } from './support/server/test-server.ts'
import { isTest, readSources } from './support/source-files.ts'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const snapshotPath = new URL('interface-snapshot.json', import.meta.url)
const snapshot: Record<string, Json> = existsSync(snapshotPath)
  ? (JSON.parse(readFileSync(snapshotPath, 'utf8')) as Record<string, Json>)
  : {}
const isUpdate = process.env['UPDATE_SNAPSHOT'] === '1'

const product = readSources().filter((file) => file.path.startsWith('src/') && !isTest(file))

/** Compares one part with the snapshot, or replaces it when `UPDATE_SNAPSHOT=1`. */
function compare(part: string, actual: unknown): void {
  const now = JSON.parse(JSON.stringify(actual)) as Json
  if (isUpdate) {
    snapshot[part] = now
    writeFileSync(snapshotPath, `${render(snapshot)}\n`)
  }
  assert.deepEqual(now, snapshot[part], `${part} differs from test/interface-snapshot.json`)
}

/** JSON with one line for each entry of a part, so that a difference shows what has changed. */
function render(value: Json, depth = 0): string {
  if (value === null || typeof value !== 'object' || depth === 3) return JSON.stringify(value)
  const indent = ' '.repeat(depth + 1)
  const lines = Array.isArray(value)
    ? value.map((each) => indent + JSON.stringify(each))
    : Object.entries(value).map(
        ([name, each]) => `${indent}${JSON.stringify(name)}: ${render(each, depth + 1)}`,
      )
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return lines.length === 0
    ? `${open}${close}`
    : `${open}\n${lines.join(',\n')}\n${' '.repeat(depth)}${close}`
}

const prose = new Set(['description', 'summary', 'info', 'example', 'examples'])

/** Without prose. A property that happens to be called `description` is kept: there prose is not a text. */
function withoutProse(value: Json, isPropertyMap = false): Json {
  if (Array.isArray(value)) return value.map((each) => withoutProse(each))
  if (value === null || typeof value !== 'object') return value
  const kept = Object.entries(value).filter(([name]) => isPropertyMap || !prose.has(name))
  return Object.fromEntries(
    kept.map(([name, each]) => [name, withoutProse(each, !isPropertyMap && name === 'properties')]),
  )
}

/** What the pattern's groups match anywhere in the product's code, sorted, each once. */
function literals(pattern: RegExp): string[] {
  const found = product.flatMap((file) =>
    Array.from(file.uncommented.matchAll(pattern), (match) => match.slice(1).join(' ')),
  )
  return [...new Set(found)].toSorted()
}

interface CommandShape {
  [name: string]: { arguments: string[]; options: string[]; commands: CommandShape }
}

function shapeOf(commands: readonly Command[]): CommandShape {
  return Object.fromEntries(
    commands.map((command) => [
      command.name(),
      {
        arguments: command.registeredArguments.map(
          ({ required, variadic }) => `${required ? 'required' : 'optional'}${variadic ? ' variadic' : ''}`,
        ),
        options: command.options.map(({ flags }) => flags).toSorted(),
        commands: shapeOf(command.commands),
      },
    ]),
  )
}

async function commandLine(): Promise<CommandShape> {
  return shapeOf(await readCommands())
}

/** The endpoints of the console API, as they are declared. */
function consoleEndpoints(): Record<string, Json> {
  const schemaOf = (schema: z.ZodType): Json =>
    z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }) as Json
  const empty = z.strictObject({})
  const shapes = endpoints.map(({ method, path, audience, response, body, query }): [string, Json] => [
    `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    [audience, schemaOf(response), schemaOf(body ?? empty), schemaOf(query ?? empty)],
  ])
  return Object.fromEntries(shapes.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** One row of each kind, with and without its rare cells, as releases since 0.1.0 have written them. */
const journalRows = [
  '[["h","req_1",1,"acc_1","key_1","m","5",3,"2000","3000","1000","2500","3000","0",1000000,1,2,3,4]]',
  '[["h","req_1",1,"acc_1","key_1","m","5",4,"2000","3000",null,null,null,"7",1000000,1,2,3,4,"k","b"]]',
  '[["h","req_1",1,"acc_1","key_1","m","5",5,"2000","3000",null,"2500/8",null,"7/70000000",1000000,1,2,3,4,"","",1]]',
  '[["h","req_1",1,"acc_1","key_1","m","5",6,"2000","3000",null,"/8",null,"0",1000000,1,2,3,4,"k","b",1]]',
  '[["x","req_1",2,"9",64],["m","req_1",3,1,40]]',
  '[["s","req_1",4,"provider",9,1,6,3,0,"5","0"]]',
  '[["s","req_1",4,"estimate",9,1,"6/4",3,"2/3","5","1",7,"1","2",null,null,null,"0"]]',
  '[["s","req_1",4,"mark",9,1,6,3,0,"5","0"],["r","req_2",5]]',
  '[["c","crd_1",6,"acc_1","-5","credit","reason"],["l","req_1",7,"acc_1","3"]]',
  '[["p","a:acc_1",8,9,"5",2,10,"7"]]',
]

const server = await sharedTestServer()

describe('interface snapshot', () => {
  test('openapi.json – is unchanged, prose aside', async () => {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Json
    compare('openapi', withoutProse(document))
  })

  test('console API – endpoints and their shapes are unchanged', () => {
    compare('console', consoleEndpoints())
  })

  test('routes – every path in the code is unchanged', () => {
    compare(
      'routes',
      literals(
        /['"`]((?:\/v1|\/api|\/console|\/status|\/healthz|\/readyz|\/metrics|\/openapi)[\w/.:*-]*)['"`]/g,
      ),
    )
  })

  test('SQLite schema – is unchanged', () => {
    const database = new DatabaseSync(join(server.dataDir, 'sluice.db'), { readOnly: true })
    try {
      const rows = database.prepare('select type, name, sql from sqlite_master order by type, name').all()
      compare('sqlite', rows)
    } finally {
      database.close()
    }
  })

  test('data directory – file names are unchanged', () => {
    compare('files', readdirSync(server.dataDir).toSorted())
  })

  test('PostgreSQL schema – is unchanged', { skip: postgresSkipReason }, async () => {
    const postgres = await startPostgres()
    const client = new Client({ connectionString: await postgres.createMigratedDatabase() })
    try {
      await client.connect()
      const rows = async (text: string): Promise<unknown[]> => (await client.query(text)).rows as unknown[]
      compare('postgres', {
        columns: await rows(
          `select table_name || '.' || column_name as name, data_type as type, is_nullable as nullable, column_default as default
           from information_schema.columns where table_schema = 'public' order by 1`,
        ),
        indexes: await rows(
          `select indexname as name, indexdef as definition from pg_indexes where schemaname = 'public' order by 1`,
        ),
        constraints: await rows(
          `select conrelid::regclass::text || '.' || conname as name, pg_get_constraintdef(oid) as definition
           from pg_constraint where connamespace = 'public'::regnamespace order by 1`,
        ),
        functions: await rows(
          `select proname as name, prosrc as source from pg_proc where pronamespace = 'public'::regnamespace order by 1`,
        ),
      })
    } finally {
      await client.end()
      await postgres.remove()
    }
  })

  test('journal – rows of earlier releases are read and written alike', () => {
    for (const row of journalRows) assert.equal(encodeEvents(decodeEvents(row)), row)
    compare(
      'journal',
      journalRows.map((row) => decodeEvents(row).map((event) => JSON.parse(encodeEvents([event])) as Json)),
    )
  })

  test('metrics – names and types are unchanged', async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    const types = Array.from(text.matchAll(/^# TYPE (sluice_\S+ \S+)$/gm), ([, type = '']) => type)
    compare('metrics', { types: types.toSorted(), names: literals(/['"`](sluice_\w+)['"`]/g) })
  })

  test('headers – names are unchanged', () => {
    compare(
      'headers',
      literals(
        /['"`]((?:x-(?!slu)[a-z]|x-sluice|idempotent-|idempotency-|request-id|retry-after)[a-z-]*)['"`]/g,
      ),
    )
  })

  test('error codes – code, status and type are unchanged', () => {
    const text = product.find(({ path }) => path === 'src/errors.ts')?.uncommented ?? ''
    const codes = Array.from(text.matchAll(/^ {2}(\w+): \[\s*\d{3},/gm), ([, code = '']) => code)
    assert.ok(codes.length > 20)
    compare(
      'errors',
      Object.fromEntries(
        codes.toSorted().map((code) => {
          const error = apiError(code as Parameters<typeof apiError>[0])
          return [code, { status: error.status, final: error.final, type: error.toBody().error.type }]
        }),
      ),
    )
  })

  test('environment variables – names are unchanged', () => {
    compare(
      'environment',
      Object.values(settings)
        .map(({ env }) => env)
        .toSorted(),
    )
  })

  test('command line – commands, arguments and flags are unchanged', async () => {
    compare('commands', await commandLine())
  })
})
