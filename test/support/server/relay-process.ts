/**
 * The relay as a child process, started the way an operator's script starts it: by its command line and environment. For
 * tests of which the process is the subject (crash, signals, memory, preloaded modules, packages), and for benchmarks.
 */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { completeSettings, Relay, type Exit, type RelaySettings } from './relay.ts'
import { waitUntil } from '../wait.ts'

const defaultProgram = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))
const startTimeoutMs = 60_000
const stopTimeoutMs = 30_000

// Exit on a signal as well: the 'exit' handlers kill the relays that still run.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

export interface ProcessSettings extends RelaySettings {
  /** A file that receives its output instead of `lines`. */
  logFile?: string
  /** A script for this Node.js, or any other executable file; default: bin/sluice.js of this repository. */
  program?: string
  /** The statuses of `/readyz` that count as started; default: 200. */
  readyStatuses?: readonly number[]
}

/** Starts a relay and waits until it is ready for traffic. Rejects with its output if it exits before that. */
export async function startRelay(given: ProcessSettings): Promise<RelayProcess> {
  const settings = await completeSettings(given)
  const relay = new RelayProcess(settings, settings.port)
  await relay.ready()
  return relay
}

export class RelayProcess extends Relay {
  readonly exited: Promise<Exit>

  private readonly child: ChildProcess
  private readonly settings: ProcessSettings
  private running = true

  constructor(settings: ProcessSettings, port: number) {
    super(settings, port)
    this.settings = settings
    const output = settings.logFile === undefined ? 'pipe' : openSync(settings.logFile, 'a')
    const program = settings.program ?? defaultProgram
    const command = program.endsWith('.js') ? [process.execPath, program] : [program]
    // Its own process group, so that a kill includes every process it started.
    this.child = spawn(command[0] ?? '', [...command.slice(1), 'serve'], {
      env: { ...inheritedEnv(), ...this.env },
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
