/**
 * A real PostgreSQL for tests: a cluster of its own in a directory of its own, on a socket there and a port of
 * loopback, by a user that is not root; gone after the tests of the file.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { openClient } from './connection.ts'
import { sqlStateOf } from './errors.ts'
import { migratePostgres } from './migrate.ts'

const installed = '/usr/lib/postgresql'
/** `nobody`: PostgreSQL does not run as root. */
const unprivileged = 65_534
const startWithinMs = 60_000
/** SQLSTATE of a database that somebody else is using. */
const beingCopied = '55006'

/** The folder of its programs; undefined where none is installed. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(installed)) return undefined
  const releases = readdirSync(installed).toSorted((a, b) => Number(b) - Number(a))
  return releases
    .map((release) => join(installed, release, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')))
}

/** Why tests over PostgreSQL are left out here; false where they run. */
export const withoutPostgres: string | false =
  postgresPrograms() === undefined ? 'PostgreSQL is not installed here' : false

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

/** Makes a database with the schema of today on the server that is reached by way of `url`; also from other processes. */
export async function copyOfTemplate(url: string, name: string): Promise<string> {
  for (const start = performance.now(); performance.now() - start < startWithinMs; await delay(30)) {
    try {
      await runOnServer(url, `create database ${name} template ${template}`)
      return Object.assign(new URL(url), { pathname: name }).href
    } catch (error) {
      // PostgreSQL copies a template for one at a time.
      if (sqlStateOf(error) !== beingCopied) throw error
    }
  }
  throw new Error('The template was being copied all the time.')
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

  urlOf(database: string): string {
    return `postgres://sluice@127.0.0.1:${this.#port}/${database}`
  }

  /** Makes an empty database, and tells its address. */
  async database(): Promise<string> {
    const name = `test_${(this.#databases += 1)}`
    await this.#make(name)
    return this.urlOf(name)
  }

  /** Makes one with the schema of today, as a copy of one that is migrated once: for files of many relays. */
  async migratedDatabase(): Promise<string> {
    await this.makeTemplate()
    return copyOfTemplate(this.urlOf('postgres'), `test_${(this.#databases += 1)}`)
  }

  /** Makes the database that `copyOfTemplate` copies, if there is none yet. */
  makeTemplate(): Promise<void> {
    this.#template ??= this.#make(template).then(() => migratePostgres(this.urlOf(template)))
    return this.#template
  }

  #make(name: string): Promise<void> {
    return runOnServer(this.urlOf('postgres'), `create database ${name}`)
  }

  async start(): Promise<void> {
    const settings = [
      `port=${this.#port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${this.#dir}`,
    ]
    const options = [...settings, ...this.#settings]
    for (const start = performance.now(); performance.now() - start < startWithinMs; await delay(30)) {
      // After a crash it does not start before all that is left of it is gone.
      if (this.#process === undefined || this.#process.exitCode !== null) {
        this.#process = spawn(
          join(this.#bin, 'postgres'),
          ['-D', join(this.#dir, 'data'), ...options.flatMap((each) => ['-c', each])],
          { stdio: 'ignore', ...identity() },
        )
      }
      try {
        await this.ask('select 1')
        return
      } catch {
        // Not yet.
      }
    }
    throw new Error('PostgreSQL did not start.')
  }

  /** Ends it, as an operator does (`SIGINT`: at once, cleanly) or as a crash does (`SIGQUIT`, `SIGKILL`). */
  async stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const ended = this.#process
    if (ended === undefined || ended.exitCode !== null) return
    const exit = new Promise((resolve) => ended.once('exit', resolve))
    this.#signal(signal)
    await exit
    this.#process = undefined
  }

  /**
   * Starts a copy of it that follows it; from then on nothing is committed that the copy does not have. Whoever starts it
   * removes it.
   */
  async standby(): Promise<PostgresServer> {
    const dir = ownFolder(dirname(this.#dir))
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
    await this.ask("alter system set synchronous_standby_names = '*'")
    await this.ask('select pg_reload_conf()')
    return copy
  }

  /** A standby goes on without what the other commits from now on, and the other without it. */
  async fallBehind(other: PostgresServer): Promise<void> {
    for (const [server, setting] of [
      [other, 'synchronous_standby_names'],
      [this, 'primary_conninfo'],
    ] as const) {
      await server.ask(`alter system set ${setting} = ''`)
      await server.ask('select pg_reload_conf()')
    }
    for (const start = performance.now(); performance.now() - start < startWithinMs; await delay(20))
      if ((await other.ask('select 1 from pg_stat_replication')).length === 0) return
    throw new Error('The standby still follows.')
  }

  /** Makes a standby the server that takes writes, as an operator does when the other is gone. */
  async promote(): Promise<void> {
    await this.ask('select pg_promote()')
  }

  /** Also to a standby, to which the product does not talk. */
  async ask(text: string): Promise<unknown[]> {
    const client = new Client({ connectionString: this.urlOf('postgres'), connectionTimeoutMillis: 5000 })
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

function identity(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: unprivileged, gid: unprivileged } : {}
}

/** A folder below `base` for the user that PostgreSQL runs as. */
function ownFolder(base: string): string {
  const dir = mkdtempSync(join(base, 'sluice-postgres-'))
  const { uid, gid } = identity()
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid)
  return dir
}

async function runProgram(program: string, words: readonly string[]): Promise<void> {
  const child = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'], ...identity() })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const said = await text(child.stderr)
  if ((await ended) !== 0) throw new Error(`${program}: ${said}`)
}

/** What tests do not need: a crash of the machine is none of theirs. */
const testSettings = ['fsync=off', 'max_connections=200', 'shared_buffers=64MB']

/** Starts one, in a folder below `base`; whoever starts it removes it. */
export async function startPostgres(
  settings: readonly string[] = testSettings,
  base: string = tmpdir(),
): Promise<PostgresServer> {
  const bin = postgresPrograms()
  if (bin === undefined) throw new Error('PostgreSQL is not installed here.')
  const dir = ownFolder(base)
  const made = [
    '-D',
    join(dir, 'data'),
    '-U',
    'sluice',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  ]
  await runProgram(join(bin, 'initdb'), made)
  const server = new PostgresServer(bin, dir, await freePort(), settings)
  await server.start()
  return server
}
