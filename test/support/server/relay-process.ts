/**
 * The relay as a child process, started the way an operator's script starts it: by its command line and environment,
 * and configured over the admin API. The test server (test-server.ts) and the benchmarks build on this.
 */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { setDatabaseClockAhead } from './database-clock.ts'
import { freePort } from '../upstream/unreachable-addresses.ts'
import { waitUntil } from '../wait.ts'

const defaultProgram = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))
const startTimeoutMs = 60_000
const stopTimeoutMs = 30_000

// Exit on a signal as well: the 'exit' handlers kill the relays that still run.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

export interface RelaySettings {
  dataDir: string
  /** Default: a free port. */
  port?: number
  /** Added to the test defaults: loopback upstreams allowed, no demo data, no drain delay. */
  env?: Record<string, string>
  /** A file that receives its output instead of `lines`. */
  logFile?: string
  /** A script for this Node.js, or any other executable file; default: bin/sluice.js of this repository. */
  program?: string
  /** The statuses of `/readyz` that count as started; default: 200. */
  readyStatuses?: readonly number[]
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** Settings for every relay that this process starts, by data directory; see test/support/runner/cluster-backend.ts. */
let settingsFor: ((dataDir: string) => Promise<Record<string, string>>) | undefined

export function setRelaySettings(settings: typeof settingsFor): void {
  settingsFor = settings
}

/** Starts a relay and waits until it is ready for traffic. Rejects with its output if it exits before that. */
export async function startRelay(settings: RelaySettings): Promise<RelayProcess> {
  const env = { ...(await settingsFor?.(settings.dataDir)), ...settings.env }
  const { CLOCK_AHEAD_MS: aheadMs, DATABASE_URL: databaseUrl } = env
  if (aheadMs !== undefined && databaseUrl !== undefined)
    await setDatabaseClockAhead(databaseUrl, Number(aheadMs))
  const relay = new RelayProcess({ ...settings, env }, settings.port ?? (await freePort()))
  await relay.ready()
  return relay
}

export class RelayProcess {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly adminKey: string
  /** For a node of a cluster: DATABASE_URL, and REDIS_URL if it is set. */
  readonly clusterSettings: Readonly<Record<string, string>>
  /** Its output so far, by line. */
  readonly lines: string[] = []
  readonly exited: Promise<Exit>

  private readonly child: ChildProcess
  private readonly settings: RelaySettings
  private running = true

  constructor(settings: RelaySettings, port: number) {
    const env: Record<string, string> = {
      HOST: '127.0.0.1',
      PORT: String(port),
      DATA_DIR: settings.dataDir,
      ADMIN_API_KEY: 'admin-key-of-the-tests-0123456789',
      // Tests write more in a minute than a person; those of these bounds set them.
      WRITES_PER_MINUTE: '100000',
      OPEN_ORDERS: '10000',
      ORDERS_PER_HOUR: '10000',
      UPSTREAM_ALLOW: '127.0.0.0/8',
      DEMO: '0',
      SIGN_UP: 'open',
      WORKERS: '1',
      DRAIN_DELAY: '0s',
      ...settings.env,
    }
    this.settings = settings
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.dataDir = settings.dataDir
    this.adminKey = env['ADMIN_API_KEY'] ?? ''
    const clusterVariables = ['DATABASE_URL', 'REDIS_URL']
    this.clusterSettings = Object.fromEntries(
      Object.entries(env).filter(([name]) => clusterVariables.includes(name)),
    )
    const output = settings.logFile === undefined ? 'pipe' : openSync(settings.logFile, 'a')
    const program = settings.program ?? defaultProgram
    const command = program.endsWith('.js') ? [process.execPath, program] : [program]
    // Its own process group, so that a kill includes every process it started.
    this.child = spawn(command[0] ?? '', [...command.slice(1), 'serve'], {
      env: { ...inheritedEnv(), ...env },
      stdio: ['ignore', output, output],
      detached: true,
    })
    if (typeof output === 'number') closeSync(output)
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream) createInterface(stream).on('line', (line) => this.lines.push(line))
    }
    const killGroup = () => this.signal('SIGKILL')
    process.once('exit', killGroup)
    this.exited = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        this.running = false
        process.removeListener('exit', killGroup)
        resolve({ code, signal })
      })
    })
  }

  get databaseUrl(): string | undefined {
    return this.clusterSettings['DATABASE_URL']
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.running
  }

  /** Resolves when `/readyz` returns one of `readyStatuses`. */
  async ready(): Promise<void> {
    const { readyStatuses = [200] } = this.settings
    const isReady = async (): Promise<boolean> => {
      const status = await fetch(`${this.url}/readyz`).then(
        (response) => response.status,
        () => 0,
      )
      return readyStatuses.includes(status)
    }
    await waitUntil(async () => !this.running || (await isReady()), 'the relay', startTimeoutMs).catch(
      async () => {
        await this.kill()
        throw new Error(`the relay was not ready within ${startTimeoutMs} ms:\n${this.output()}`)
      },
    )
    if (!this.running) throw new Error(`the relay exited while starting:\n${this.output()}`)
  }

  /** One admin API call; returns the raw response. */
  async adminResponse(method: string, path: string, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.adminKey}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    return fetch(`${this.url}/api/admin${path}`, { method, headers, body: JSON.stringify(body) })
  }

  /** One admin API call that must succeed; returns the parsed body. */
  async admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.adminResponse(method, path, body)
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} /api/admin${path} → ${response.status}: ${text}`)
    return (text === '' ? null : JSON.parse(text)) as Answer
  }

  private output(): string {
    const { logFile } = this.settings
    return logFile === undefined ? this.lines.join('\n') : readFileSync(logFile, 'utf8')
  }

  /** Leaves its output without a reader, as `sluice serve | true` does. */
  closeOutput(): void {
    this.child.stdout?.destroy()
    this.child.stderr?.destroy()
  }

  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal)
    } catch {
      // It has already exited.
    }
  }

  /** Sends SIGTERM to the server process only, as `systemctl stop` and `docker stop` do, and waits for its exit. */
  async stop(): Promise<Exit> {
    if (this.running) this.child.kill('SIGTERM')
    const timer = setTimeout(() => this.signal('SIGKILL'), stopTimeoutMs)
    const exit = await this.exited
    clearTimeout(timer)
    return exit
  }

  /** `kill -9` of the whole process group. */
  async kill(): Promise<Exit> {
    this.signal('SIGKILL')
    return this.exited
  }
}

/** The variables that a program needs from our environment, without settings of a relay that may be set there. */
function inheritedEnv(): Record<string, string | undefined> {
  const { PATH, HOME, LANG, TZ } = process.env
  return { PATH, HOME, LANG, TZ }
}
