/**
 * A real PostgreSQL server for tests, in a temporary directory, on a loopback port, run by an unprivileged user.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { Client } from 'pg'
import { openClient } from './connection.ts'
import { sqlState } from './errors.ts'
import { migratePostgres } from './migrate.ts'
import { copyFolder, preparedDataFolder } from './prepared-data-folder.fixture.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const installed = '/usr/lib/postgresql'
/** `nobody`: PostgreSQL does not run as root. */
const unprivileged = 65_534
const startTimeoutMs = 60_000
/** SQLSTATE of a database that is in use. */
const objectInUse = '55006'

/** The folder of the newest PostgreSQL programs; undefined if none is installed. */
export function findPostgresPrograms(): string | undefined {
  if (!existsSync(installed)) return undefined
  const releases = readdirSync(installed).toSorted((a, b) => Number(b) - Number(a))
  return releases
    .map((release) => join(installed, release, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')))
}

/** Why PostgreSQL tests are skipped; false if they run. */
export const postgresSkipReason: string | false =
  findPostgresPrograms() === undefined ? 'PostgreSQL is not installed here' : false

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const template = 'template_of_today'

async function runOnServer(url: string, text: string): Promise<void> {
  const client = await openClient({ url, name: 'tests', statementMs: 60_000 })
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** Creates a migrated database on the server of `url`; also works from other processes. */
export async function createFromTemplate(url: string, name: string): Promise<string> {
  const isCreated = async (): Promise<boolean> => {
    try {
      await runOnServer(url, `create database ${name} template ${template}`)
      return true
    } catch (error) {
      // PostgreSQL copies a template for only one client at a time.
      if (sqlState(error) === objectInUse) return false
      throw error
    }
  }
  await waitUntil(isCreated, 'the template, which others copy', startTimeoutMs)
  return Object.assign(new URL(url), { pathname: name }).href
}

export class PostgresServer {
  readonly #bin: string
  readonly #dir: string
  readonly #port: number
  readonly #settings: readonly string[]
  #process: ChildProcess | undefined
  #databases = 0
  #template: Promise<void> | undefined

  constructor(bin: string, dir: string, port: number, settings: readonly string[]) {
    this.#bin = bin
    this.#dir = dir
    this.#port = port
    this.#settings = settings
    process.once('exit', () => this.#signal('SIGQUIT'))
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  databaseUrl(createDatabase: string): string {
    return `postgres://sluice@127.0.0.1:${this.#port}/${createDatabase}`
  }

  /** Creates an empty database and returns its URL. */
  async createDatabase(): Promise<string> {
    const name = `test_${(this.#databases += 1)}`
    await this.#createNamedDatabase(name)
    return this.databaseUrl(name)
  }

  /** Creates a migrated database as a copy of a template, which is migrated only once. */
  async createMigratedDatabase(): Promise<string> {
    await this.createTemplate()
    return createFromTemplate(this.databaseUrl('postgres'), `test_${(this.#databases += 1)}`)
  }

  /** Creates the template of `createFromTemplate`, if it does not exist yet. */
  createTemplate(): Promise<void> {
    this.#template ??= this.#createMissingTemplate()
    return this.#template
  }

  async #createMissingTemplate(): Promise<void> {
    const existing = await this.query(`select from pg_database where datname = '${template}'`)
    if (existing.length > 0) return
    await this.#createNamedDatabase(template)
    await migratePostgres(this.databaseUrl(template))
  }

  #createNamedDatabase(name: string): Promise<void> {
    return runOnServer(this.databaseUrl('postgres'), `create database ${name}`)
  }

  async start(): Promise<void> {
    const settings = [
      `port=${this.#port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${this.#dir}`,
    ]
    const options = [...settings, ...this.#settings]
    const isStarted = async (): Promise<boolean> => {
      // After a crash it does not start before all its old processes are gone.
      if (this.#process === undefined || this.#process.exitCode !== null) {
        this.#process = spawn(
          join(this.#bin, 'postgres'),
          ['-D', join(this.#dir, 'data'), ...options.flatMap((each) => ['-c', each])],
          { stdio: 'ignore', ...unprivilegedUser() },
        )
      }
      return this.#isListening()
    }
    await waitUntil(isStarted, 'PostgreSQL to start', startTimeoutMs)
  }

  /** Whether this server listens on its port, and not one of another process that was given the same free port. */
  async #isListening(): Promise<boolean> {
    const rows = await this.query('show data_directory').catch(() => [])
    return isDeepStrictEqual(rows, [{ data_directory: join(this.#dir, 'data') }])
  }

  /** Stops the server like an operator (`SIGINT`: fast, clean) or like a crash (`SIGQUIT`, `SIGKILL`). */
  async stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const ended = this.#process
    if (ended === undefined || ended.exitCode !== null) return
    const exit = new Promise((resolve) => ended.once('exit', resolve))
    this.#signal(signal)
    await exit
    this.#process = undefined
  }

  /** Starts a synchronous standby; the caller must remove it. */
  async startStandby(): Promise<PostgresServer> {
    const dir = createServerFolder(dirname(this.#dir))
    const copying = ['-D', join(dir, 'data'), '-U', 'sluice', '-R', '-X', 'stream', '-c', 'fast', '--no-sync']
    await runProgram(join(this.#bin, 'pg_basebackup'), [
      '-h',
      '127.0.0.1',
      '-p',
      String(this.#port),
      ...copying,
    ])
    const copy = new PostgresServer(this.#bin, dir, await freePort(), [
      ...this.#settings,
      'wal_retrieve_retry_interval=100ms',
    ])
    await copy.start()
    await this.query("alter system set synchronous_standby_names = '*'")
    await this.query('select pg_reload_conf()')
    return copy
  }

  /** Detaches a standby from its primary; both go on independently. */
  async detachFrom(other: PostgresServer): Promise<void> {
    for (const [server, setting] of [
      [other, 'synchronous_standby_names'],
      [this, 'primary_conninfo'],
    ] as const) {
      await server.query(`alter system set ${setting} = ''`)
      await server.query('select pg_reload_conf()')
    }
    const isDetached = async (): Promise<boolean> =>
      (await other.query('select 1 from pg_stat_replication')).length === 0
    await waitUntil(isDetached, 'the standby to be detached', startTimeoutMs)
  }

  /** Promotes a standby to primary. */
  async promote(): Promise<void> {
    await this.query('select pg_promote()')
  }

  /** Runs a query, also on a standby, which the product rejects. */
  async query(text: string): Promise<unknown[]> {
    const client = new Client({
      connectionString: this.databaseUrl('postgres'),
      connectionTimeoutMillis: 5000,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return (await client.query(text)).rows as unknown[]
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  async remove(): Promise<void> {
    await this.stop('SIGQUIT')
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #signal(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): void {
    this.#process?.kill(signal)
  }
}

function unprivilegedUser(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: unprivileged, gid: unprivileged } : {}
}

/** Creates a folder in `base` for the user that PostgreSQL runs as. */
function createServerFolder(base: string): string {
  const dir = mkdtempSync(join(base, 'sluice-postgres-'))
  const { uid, gid } = unprivilegedUser()
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid)
  return dir
}

async function runProgram(program: string, programArguments: readonly string[]): Promise<void> {
  const child = spawn(program, programArguments, {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...unprivilegedUser(),
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const errorOutput = await text(child.stderr)
  if ((await ended) !== 0) throw new Error(`${program}: ${errorOutput}`)
}

/** Tests do not cover crashes of the machine, so fsync is off. */
const testSettings = ['fsync=off', 'max_connections=200', 'shared_buffers=64MB']

/** Creates the data folder that later servers start with, and keeps it once its server has stopped. */
async function prepareDataFolder(bin: string, keepFolder: (folder: string) => Promise<void>): Promise<void> {
  const dir = createServerFolder(tmpdir())
  const data = join(dir, 'data')
  const server = new PostgresServer(bin, dir, await freePort(), testSettings)
  try {
    const options = ['-U', 'sluice', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    await runProgram(join(bin, 'initdb'), ['-D', data, ...options])
    await server.start()
    await server.createTemplate()
    await server.stop()
    await keepFolder(data)
  } finally {
    await server.remove()
  }
}

/** Starts a server in a folder in `base`; the caller must remove it. */
export async function startPostgres(
  settings: readonly string[] = testSettings,
  base: string = tmpdir(),
): Promise<PostgresServer> {
  const bin = findPostgresPrograms()
  if (bin === undefined) throw new Error('PostgreSQL is not installed here.')
  const prepared = await preparedDataFolder(bin, (keepFolder) => prepareDataFolder(bin, keepFolder))
  const dir = createServerFolder(base)
  await copyFolder(prepared, join(dir, 'data'))
  const server = new PostgresServer(bin, dir, await freePort(), settings)
  await server.start()
  return server
}
