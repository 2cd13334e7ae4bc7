/**
 * The relay as a child process, started the way an operator's script starts it: by its command line and environment,
 * filled over the automation contract. Stories (house.ts) and the bench stand on this.
 */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { freePort } from '../upstream/unreachable-addresses.ts'

const ownProgram = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))
const startWithinMs = 60_000
const stopWithinMs = 30_000

// A signal, too, ends us by way of 'exit', where relays that still run are killed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

export interface RelaySettings {
  dataDir: string
  /** Default: one that is free. */
  port?: number
  /** Added to the environment of a script: loopback upstreams allowed, no demonstration, no drain delay. */
  env?: Record<string, string>
  /** Where its output goes instead of `lines`. */
  logFile?: string
  /** Another program than that of this folder. */
  program?: string
  /** What `/readyz` may say when it has started: 200, where nothing else is given. */
  readyAs?: readonly number[]
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** Settings for every relay of this process, by its data directory; see test/on-a-cluster.ts. */
let settingsFor: ((dataDir: string) => Promise<Record<string, string>>) | undefined

export function startRelaysWith(settings: typeof settingsFor): void {
  settingsFor = settings
}

/** Starts a relay and waits until it is ready for traffic. Rejects with its output when it ends before that. */
export async function startRelay(settings: RelaySettings): Promise<RelayProcess> {
  const env = { ...(await settingsFor?.(settings.dataDir)), ...settings.env }
  const relay = new RelayProcess({ ...settings, env }, settings.port ?? (await freePort()))
  await relay.ready()
  return relay
}

export class RelayProcess {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly adminKey: string
  /** Of a node of a cluster: DATABASE_URL, and REDIS_URL where it has one. */
  readonly clusterSettings: Readonly<Record<string, string>>
  /** Everything it wrote to its output, by line. */
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
      UPSTREAM_ALLOW: '127.0.0.0/8',
      DEMO: '0',
      WORKERS: '1',
      DRAIN_DELAY: '0s',
      ...settings.env,
    }
    this.settings = settings
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.dataDir = settings.dataDir
    this.adminKey = env['ADMIN_API_KEY'] ?? ''
    const ofCluster = ['DATABASE_URL', 'REDIS_URL']
    this.clusterSettings = Object.fromEntries(
      Object.entries(env).filter(([name]) => ofCluster.includes(name)),
    )
    const output = settings.logFile === undefined ? 'pipe' : openSync(settings.logFile, 'a')
    // A process group of its own, so that a kill takes everything it may have started.
    this.child = spawn(process.execPath, [settings.program ?? ownProgram, 'serve'], {
      env: { ...outside(), ...env },
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

  /** Resolves when `/readyz` says 200, or what else it may. */
  async ready(): Promise<void> {
    const { readyAs = [200] } = this.settings
    for (const start = performance.now(); performance.now() - start < startWithinMs; await delay(15)) {
      if (!this.running) throw new Error(`the relay ended at its start:\n${this.told()}`)
      const status = await fetch(`${this.url}/readyz`).then(
        (reply) => reply.status,
        () => 0,
      )
      if (readyAs.includes(status)) return
    }
    await this.kill()
    throw new Error(`the relay was not ready within ${startWithinMs} ms:\n${this.told()}`)
  }

  /** One call of the automation contract, as it comes back. */
  async adminReply(method: string, path: string, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.adminKey}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    return fetch(`${this.url}/api/admin${path}`, { method, headers, body: JSON.stringify(body) })
  }

  /** One call of the automation contract that has to succeed: its answer. */
  async admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const reply = await this.adminReply(method, path, body)
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${method} /api/admin${path} → ${reply.status}: ${text}`)
    return (text === '' ? null : JSON.parse(text)) as Answer
  }

  private told(): string {
    const { logFile } = this.settings
    return logFile === undefined ? this.lines.join('\n') : readFileSync(logFile, 'utf8')
  }

  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal)
    } catch {
      // It has ended already.
    }
  }

  /** SIGTERM to the server alone, as `systemctl stop` or `docker stop` send it, and its exit. */
  async stop(): Promise<Exit> {
    if (this.running) this.child.kill('SIGTERM')
    const patience = setTimeout(() => this.signal('SIGKILL'), stopWithinMs)
    const exit = await this.exited
    clearTimeout(patience)
    return exit
  }

  /** `kill -9` of the whole process group. */
  async kill(): Promise<Exit> {
    this.signal('SIGKILL')
    return this.exited
  }
}

/** What a program needs of our own environment; settings of the relay that lie about in it are left out. */
function outside(): Record<string, string | undefined> {
  const { PATH, HOME, LANG, TZ } = process.env
  return { PATH, HOME, LANG, TZ }
}
