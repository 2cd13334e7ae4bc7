/**
 * The commands' way to the administration: the same calls as over HTTP, answered by the running relay over its socket
 * or, when none runs, by the same program opened in this process under the lock of the data directory.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { readConfig, type Config } from '../config.ts'
import {
  answerOf,
  askControl,
  hasControl,
  NoControlError,
  type ControlAnswer,
} from '../server/control-socket.ts'
import { LockedError, takeLock, type DataLock } from '../server/lock.ts'
import { errorWords } from '../lib/error-message.ts'
import { CommandError, fieldAt, fieldsOf, rowsOf, serverNameOf, UnclearError, type Fields } from './output.ts'

export interface Control {
  /** Whether a running relay answers. */
  readonly isRelay: boolean
  /**
   * One call below `/api/admin`; resolves to the answer's JSON. Rejects with CommandError when it is refused, and with
   * UnclearError where it may have been carried out all the same.
   */
  call(method: string, path: string, body?: unknown): Promise<unknown>
  /** Writes the answer of a GET as it comes. Rejects as `call` does. */
  pour(path: string, into: Writable): Promise<void>
  close(): Promise<void>
}

export interface ControlOptions {
  /** Named to whoever finds the directory in use. */
  readonly command?: string
  /** Make a database where there is none. Without it a wrong DATA_DIR or DATABASE_URL is told instead of filled. */
  readonly create?: boolean
  /** How long to wait for a relay that is starting or ending, or for another command. Default 5000. */
  readonly waitMs?: number
}

const root = '/api/admin'
const retryMs = 50

/** Callers of the relay are told nothing of its store; whoever runs it has to know where to look. */
function awayWords({ databaseUrl, dataDir }: Config): string {
  const store =
    databaseUrl === null ? `the database in ${dataDir}` : `${serverNameOf(databaseUrl)} (DATABASE_URL)`
  return `The relay cannot work with ${store} at the moment. sluice doctor tells more.`
}

function refusalWords(config: Config, answer: ControlAnswer, json: unknown): string {
  const fields = fieldsOf(json)
  if (fieldAt(fields, 'error.code') === 'service_unavailable') return awayWords(config)
  const message = fieldAt(fields, 'error.message')
  return typeof message === 'string' ? message : `The relay answered ${answer.status}.`
}

function resultOf(config: Config, answer: ControlAnswer): unknown {
  let json: unknown
  try {
    json = answer.text === '' ? undefined : JSON.parse(answer.text)
  } catch {
    throw new UnclearError(`The relay answered ${answer.status} with something that is not JSON.`)
  }
  if (answer.status >= 500) throw new UnclearError(refusalWords(config, answer, json))
  if (answer.status >= 400) throw new CommandError(refusalWords(config, answer, json))
  return json
}

async function pourAnswer(
  config: Config,
  { status, body }: { readonly status: number; readonly body: Readable },
  into: Writable,
): Promise<void> {
  if (status >= 400) resultOf(config, { status, text: await text(body) })
  await pipeline(body, into, { end: false })
}

function throwUnclear(error: unknown): never {
  throw error instanceof NoControlError ? error : new UnclearError(errorWords(error))
}

function overSocket(config: Config): Control {
  return {
    isRelay: true,
    async call(method, path, body) {
      const asked = { method, path: root + path, body }
      return resultOf(config, await askControl(config.dataDir, asked).catch(throwUnclear))
    },
    async pour(path, into) {
      const asked = { method: 'GET', path: root + path }
      await answerOf(config.dataDir, asked, (answer) =>
        pourAnswer(config, { status: answer.statusCode ?? 0, body: answer }, into),
      )
    },
    close: async () => {},
  }
}

async function inProcess(config: Config, lock: DataLock): Promise<Control> {
  const { openHouse } = await import('../server/open-house.ts')
  const house = await openHouse(config)
  return {
    isRelay: false,
    async call(method, path, body) {
      const request = new Request(`http://sluice${root}${path}`, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      })
      const answer = await house.fetch(request)
      return resultOf(config, { status: answer.status, text: await answer.text() })
    },
    async pour(path, into) {
      const answer = await house.fetch(new Request(`http://sluice${root}${path}`))
      await pourAnswer(config, { status: answer.status, body: Readable.from(answer.body ?? []) }, into)
    },
    async close() {
      await house.close()
      lock.release()
    },
  }
}

/** The lock, or undefined where a relay answers instead. Waits for whoever starts, ends or is about to finish. */
async function lockUnlessRelay(config: Config, options: ControlOptions): Promise<DataLock | undefined> {
  const deadline = performance.now() + (options.waitMs ?? 5000)
  for (;;) {
    if (await hasControl(config.dataDir)) return undefined
    try {
      return takeLock(config.dataDir, { command: options.command ?? 'command', waitMs: 0 })
    } catch (error) {
      if (!(error instanceof LockedError) || performance.now() > deadline) throw error
    }
    await wait(retryMs)
  }
}

export function hasDatabase(config: Config): boolean {
  return config.databaseUrl !== null || existsSync(join(config.dataDir, 'sluice.db'))
}

export function noDatabase(config: Config): CommandError {
  return new CommandError(
    `There is no database in ${config.dataDir}, or this user may not see it. Start the relay once, or set DATA_DIR.`,
  )
}

/** Throws where there is a cluster whose database cannot be had, or is empty and may not be. */
export async function checkCluster({ databaseUrl }: Config, mayBeEmpty = false): Promise<void> {
  if (databaseUrl === null) return
  const { checkSluiceIn } = await import('./cluster-database.ts')
  await checkSluiceIn(databaseUrl, mayBeEmpty)
}

export async function openControl(config: Config, options: ControlOptions = {}): Promise<Control> {
  if (options.create !== true && !hasDatabase(config)) throw noDatabase(config)
  const lock = await lockUnlessRelay(config, options)
  if (lock === undefined) return overSocket(config)
  try {
    await checkCluster(config, options.create)
    return await inProcess(config, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Opens the way, uses it and closes it. */
export async function withControl<Result>(
  options: ControlOptions,
  use: (control: Control) => Promise<Result>,
): Promise<Result> {
  const control = await openControl(readConfig(), options)
  try {
    return await use(control)
  } finally {
    await control.close()
  }
}

/** A path with its query; what is undefined is left out. */
export function pathOf(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value)
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`
}

/** All rows of a list, page by page. */
export async function listAll(
  control: Control,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<Fields[]> {
  const rows: Fields[] = []
  let cursor: string | undefined
  do {
    const page = await control.call('GET', pathOf(path, { ...query, cursor }))
    rows.push(...rowsOf(page))
    const { next } = fieldsOf(page)
    cursor = typeof next === 'string' ? next : undefined
  } while (cursor !== undefined)
  return rows
}
