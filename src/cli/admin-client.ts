/**
 * The commands' client of the admin API. Requests go to the running relay over its control socket; if none is running,
 * the admin API is opened in this process, under the lock of the data directory.
 */

import { Readable, type Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { readConfig, type Config } from '../config.ts'
import {
  requestControlStream,
  isRelayRunning,
  RelayNotRunningError,
  type ControlSocketRequest,
  type ControlSocketResponse,
} from '../process/control-socket.ts'
import { DataDirLockedError, acquireLock, type DataDirLock } from '../db/sqlite/data-directory-lock.ts'
import { errorMessage } from '../lib/error-message.ts'
import {
  CommandError,
  fieldAt,
  asFields,
  printRows,
  rowsIn,
  serverName,
  UnknownOutcomeError,
  type Columns,
  type Fields,
  type OutputOptions,
} from './output.ts'

export interface AdminClient extends AsyncDisposable {
  /**
   * Sends a request to a path below `/api/admin` and returns the response's JSON. Rejects with CommandError if the
   * request is rejected, and with UnknownOutcomeError if it may have been carried out nevertheless.
   */
  call(method: string, path: string, body?: unknown): Promise<unknown>
  /** Streams the response to a GET request. Rejects like `call`. */
  stream(path: string, output: Writable): Promise<void>
}

const root = '/api/admin'
const retryMs = 50
/** How long to wait for a relay that is starting or stopping, or for another command. */
const lockTimeoutMs = 5000

/** The API's own message does not name the store; operators need to know it. */
function unavailableMessage({ databaseUrl, dataDir }: Config): string {
  const store =
    databaseUrl === null ? `the database in ${dataDir}` : `${serverName(databaseUrl)} (DATABASE_URL)`
  return `The relay cannot use ${store} at the moment. Run sluice doctor for details.`
}

function responseMessage(config: Config, response: ControlSocketResponse, json: unknown): string {
  const fields = asFields(json)
  if (fieldAt(fields, 'error.code') === 'service_unavailable') return unavailableMessage(config)
  const message = fieldAt(fields, 'error.message')
  return typeof message === 'string' ? message : `The relay responded with status ${response.status}.`
}

function parseResponse(config: Config, response: ControlSocketResponse): unknown {
  let json: unknown
  try {
    json = response.text === '' ? undefined : JSON.parse(response.text)
  } catch {
    throw new UnknownOutcomeError(`The relay responded with status ${response.status} and invalid JSON.`)
  }
  if (response.status >= 500) throw new UnknownOutcomeError(responseMessage(config, response, json))
  if (response.status >= 400) throw new CommandError(responseMessage(config, response, json))
  return json
}

/** Sends a request for a path of the API; `read` consumes the response. */
type Send = <Result>(
  request: ControlSocketRequest,
  read: (status: number, body: Readable) => Promise<Result>,
) => Promise<Result>

function clientOver(config: Config, sendRequest: Send, close: () => Promise<void>): AdminClient {
  const parse = async (status: number, body: Readable): Promise<unknown> =>
    parseResponse(config, { status, text: await text(body) })
  return {
    call: (method, path, body) => sendRequest({ method, path: root + path, body }, parse),
    stream: (path, output) =>
      sendRequest({ method: 'GET', path: root + path }, async (status, body) => {
        if (status >= 400) await parse(status, body)
        await pipeline(body, output, { end: false })
      }),
    [Symbol.asyncDispose]: close,
  }
}

function throwUnknownOutcome(error: unknown): never {
  const isKnown = error instanceof RelayNotRunningError || error instanceof CommandError
  throw isKnown ? error : new UnknownOutcomeError(errorMessage(error))
}

function socketClient(config: Config): AdminClient {
  const sendRequest: Send = (request, read) =>
    requestControlStream(config.dataDir, request, (response) =>
      read(response.statusCode ?? 0, response),
    ).catch(throwUnknownOutcome)
  return clientOver(config, sendRequest, async () => {})
}

async function inProcessClient(config: Config, lock: DataDirLock): Promise<AdminClient> {
  const { openLocalAdmin } = await import('../process/local-admin.ts')
  const admin = await openLocalAdmin(config)
  const sendRequest: Send = async ({ method, path, body }, read) => {
    const content =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const response = await admin.fetch(new Request(`http://sluice${path}`, { method, ...content }))
    return read(response.status, Readable.from(response.body ?? []))
  }
  return clientOver(config, sendRequest, async () => {
    await admin.close()
    lock.release()
  })
}

/** The lock, or `undefined` if a relay is running. Waits for a relay that is starting or stopping, or another command. */
async function lockUnlessRelay(config: Config, command: string): Promise<DataDirLock | undefined> {
  const deadline = performance.now() + lockTimeoutMs
  for (;;) {
    if (await isRelayRunning(config.dataDir)) return undefined
    try {
      return acquireLock(config.dataDir, { command, waitMs: 0 })
    } catch (error) {
      if (!(error instanceof DataDirLockedError) || performance.now() > deadline) throw error
    }
    await wait(retryMs)
  }
}

/** For a cluster: throws if its database is unreachable or empty. */
export async function checkCluster({ databaseUrl }: Config): Promise<void> {
  if (databaseUrl === null) return
  const { checkSchema } = await import('./cluster-database.ts')
  await checkSchema(databaseUrl)
}

/** `command` is shown to other commands that find the directory locked. */
async function openAdminClient(config: Config, command: string): Promise<AdminClient> {
  const lock = await lockUnlessRelay(config, command)
  if (lock === undefined) return socketClient(config)
  try {
    await checkCluster(config)
    return await inProcessClient(config, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Opens a client, uses it and closes it. */
export async function withAdminClient<Result>(
  command: string,
  use: (client: AdminClient) => Promise<Result>,
): Promise<Result> {
  await using client = await openAdminClient(readConfig(), command)
  return await use(client)
}

/** Sends a single request and returns the fields of its response. */
export function send(command: string, method: string, path: string, body?: unknown): Promise<Fields> {
  return withAdminClient(command, async (client) => asFields(await client.call(method, path, body)))
}

/** Adds a query to a path, without undefined parameters. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value)
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`
}

/** Fetches all rows of a list, page by page. */
export async function listAll(
  client: AdminClient,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<Fields[]> {
  const rows: Fields[] = []
  let cursor: string | undefined
  do {
    const page = await client.call('GET', withQuery(path, { ...query, cursor }))
    rows.push(...rowsIn(page))
    const { next } = asFields(page)
    cursor = typeof next === 'string' ? next : undefined
  } while (cursor !== undefined)
  return rows
}

/** Fetches and prints all rows of a list. */
export async function printList(
  list: { readonly command: string; readonly path: string; readonly query?: Parameters<typeof listAll>[2] },
  columns: Columns,
  options: OutputOptions,
): Promise<void> {
  const rows = await withAdminClient(list.command, (client) => listAll(client, list.path, list.query))
  printRows(rows, columns, options)
}
