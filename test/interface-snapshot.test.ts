// @backend sqlite – compares interfaces, and the schema of both stores
/**
 * The interfaces that callers, operators, scripts and data of earlier releases rely on, compared with
 * the files of `test/interface-snapshot/`: endpoints and their schemas, the schemas of both databases, journal rows,
 * metrics, headers, error codes, settings, commands and flags. Prose (descriptions, summaries, messages) is left out.
 * After an intended change, run `UPDATE_SNAPSHOT=1 npm test -- interface-snapshot` and commit the difference.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
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
import { compareWithSnapshot, type Json } from './support/interface-snapshot.ts'
import { readCommands } from './support/command-line-parser.ts'
import { sharedTestServer } from './support/server/test-server.ts'
import { isTest, readSources } from './support/source-files.ts'

const product = readSources().filter((file) => file.path.startsWith('src/') && !isTest(file))

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

describe('Interface snapshot', () => {
  test('The OpenAPI document is unchanged, prose aside', async () => {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Json
    compareWithSnapshot('endpoints', 'openapi', withoutProse(document))
  })

  test('The endpoints of the console API and their schemas are unchanged', () => {
    compareWithSnapshot('endpoints', 'console', consoleEndpoints())
  })

  test('The paths in the code are unchanged', () => {
    compareWithSnapshot(
      'endpoints',
      'routes',
      literals(
        /['"`]((?:\/v1|\/api|\/console|\/status|\/healthz|\/readyz|\/metrics|\/openapi)[\w/.:*-]*)['"`]/g,
      ),
    )
  })

  test('The schema of SQLite is unchanged', () => {
    const database = new DatabaseSync(join(server.dataDir, 'sluice.db'), { readOnly: true })
    try {
      const rows = database.prepare('select type, name, sql from sqlite_master order by type, name').all()
      compareWithSnapshot('schema', 'sqlite', rows)
    } finally {
      database.close()
    }
  })

  test('The names of files in the data directory are unchanged', () => {
    compareWithSnapshot('schema', 'files', readdirSync(server.dataDir).toSorted())
  })

  test('The schema of PostgreSQL is unchanged', { skip: postgresSkipReason }, async () => {
    const postgres = await startPostgres()
    const client = new Client({ connectionString: await postgres.createMigratedDatabase() })
    try {
      await client.connect()
      const rows = async (text: string): Promise<unknown[]> => (await client.query(text)).rows as unknown[]
      compareWithSnapshot('schema', 'postgres', {
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

  test('Journal rows of earlier releases are read and written alike', () => {
    for (const row of journalRows) assert.equal(encodeEvents(decodeEvents(row)), row)
    compareWithSnapshot(
      'journal',
      'rows',
      journalRows.map((row) => decodeEvents(row).map((event) => JSON.parse(encodeEvents([event])) as Json)),
    )
  })

  test('The names and types of metrics are unchanged', async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    const types = Array.from(text.matchAll(/^# TYPE (sluice_\S+ \S+)$/gm), ([, type = '']) => type)
    compareWithSnapshot('metrics', 'types', types.toSorted())
    compareWithSnapshot('metrics', 'names', literals(/['"`](sluice_\w+)['"`]/g))
  })

  test('The names of headers are unchanged', () => {
    compareWithSnapshot(
      'headers',
      'names',
      literals(
        /['"`]((?:x-(?!slu)[a-z]|x-sluice|idempotent-|idempotency-|request-id|retry-after)[a-z-]*)['"`]/g,
      ),
    )
  })

  test('Error codes, their status and type are unchanged', () => {
    const text = product.find(({ path }) => path === 'src/errors.ts')?.uncommented ?? ''
    const codes = Array.from(text.matchAll(/^ {2}(\w+): \[\s*\d{3},/gm), ([, code = '']) => code)
    assert.ok(codes.length > 20)
    compareWithSnapshot(
      'errors',
      'codes',
      Object.fromEntries(
        codes.toSorted().map((code) => {
          const error = apiError(code as Parameters<typeof apiError>[0])
          return [code, { status: error.status, final: error.final, type: error.toBody().error.type }]
        }),
      ),
    )
  })

  test('The names of settings are unchanged', () => {
    compareWithSnapshot(
      'settings',
      'environment',
      Object.values(settings)
        .map(({ env }) => env)
        .toSorted(),
    )
  })

  test('Commands, their arguments and flags are unchanged', async () => {
    compareWithSnapshot('commands', 'commands', await commandLine())
  })
})
