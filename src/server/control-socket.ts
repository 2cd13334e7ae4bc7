/**
 * The way for commands of the command line into a running relay: HTTP over a Unix socket in the data directory. Who may
 * open that file may administer, so it asks for no key; it is 0600 from the first moment that it can be found.
 */

import {
  closeSync,
  constants,
  chmodSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { createServer, request as requestOver, type IncomingMessage, type Server } from 'node:http'
import { connect } from 'node:net'
import { platform } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fetchListener, type FetchDoor } from '../http/server/fetch-listener.ts'
import { errorCode } from '../lib/error-message.ts'

export const controlSocketName = 'sluice.sock'

/** `sun_path` has 108 bytes with its closing zero on Linux, 104 elsewhere. */
const addressMaxBytes = 103
/** What a command may still take for its answer when the relay ends. */
const closeGraceMs = 2000

/** No relay listens in this data directory. */
export class NoControlError extends Error {
  constructor(dataDir: string) {
    super(`No relay is running on ${dataDir}.`)
    this.name = 'NoControlError'
  }
}

/** A socket's address, short enough however long the path of its folder is. */
interface Address {
  readonly path: string
  forget(): void
}

function addressIn(folder: string, name: string): Address {
  const path = join(folder, name)
  if (Buffer.byteLength(path) <= addressMaxBytes) return { path, forget: () => {} }
  if (platform() !== 'linux') {
    throw new Error(`The path of DATA_DIR is too long for a socket in it: ${folder}. Choose a shorter one.`)
  }
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  return { path: `/proc/self/fd/${descriptor}/${name}`, forget: () => closeSync(descriptor) }
}

function listenAt(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(path, () => {
    server.off('error', reject)
    resolve()
  })
  return promise
}

/** Bound where nobody else looks and then moved into place, over the file that a killed relay left. */
async function listenIn(server: Server, dataDir: string): Promise<void> {
  const folder = mkdtempSync(join(dataDir, '.control-'))
  try {
    const address = addressIn(folder, 's')
    try {
      await listenAt(server, address.path)
    } finally {
      address.forget()
    }
    chmodSync(join(folder, 's'), 0o600)
    renameSync(join(folder, 's'), join(dataDir, controlSocketName))
  } finally {
    rmSync(join(folder, 's'), { force: true })
    rmdirSync(folder)
  }
}

/** Serves the door to commands on this machine. The caller holds the lock of the data directory. */
export async function serveControl(dataDir: string, door: FetchDoor): Promise<{ close(): Promise<void> }> {
  const server = createServer({ requestTimeout: 0 }, fetchListener(door))
  await listenIn(server, dataDir)
  return {
    async close() {
      rmSync(join(dataDir, controlSocketName), { force: true })
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      const last = setTimeout(() => server.closeAllConnections(), closeGraceMs)
      await promise
      clearTimeout(last)
    },
  }
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ECONNREFUSED'].includes(errorCode(error) ?? '')
}

/** Whether a relay listens in this data directory. Throws when it may not be asked (another user's). */
export async function hasControl(dataDir: string): Promise<boolean> {
  let address: Address | undefined
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  try {
    address = addressIn(dataDir, controlSocketName)
    const socket = connect(address.path, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', reject)
    return await promise
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  } finally {
    address?.forget()
  }
}

export interface ControlRequest {
  readonly method: string
  /** With its query: `/api/admin/accounts?limit=2`. */
  readonly path: string
  /** Sent as JSON unless undefined. */
  readonly body?: unknown
}

export interface ControlAnswer {
  readonly status: number
  readonly text: string
}

/** Asks the relay that runs on a data directory. Rejects with NoControlError when there is none. */
export function askControl(dataDir: string, asked: ControlRequest): Promise<ControlAnswer> {
  return answerOf(dataDir, asked, async (answer) => ({
    status: answer.statusCode ?? 0,
    text: await text(answer),
  }))
}

/** As `askControl`, for an answer of any length: `read` takes it as it comes. */
export async function answerOf<Result>(
  dataDir: string,
  asked: ControlRequest,
  read: (answer: IncomingMessage) => Promise<Result>,
): Promise<Result> {
  let address: Address | undefined
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  try {
    address = addressIn(dataDir, controlSocketName)
    const request = requestOver({
      socketPath: address.path,
      method: asked.method,
      path: asked.path,
      headers: asked.body === undefined ? {} : { 'content-type': 'application/json' },
      agent: false,
    })
    request.on('error', reject)
    request.on('response', (answer) => void read(answer).then(resolve, reject))
    request.end(asked.body === undefined ? undefined : JSON.stringify(asked.body))
    return await promise
  } catch (error) {
    if (isAbsent(error)) throw new NoControlError(dataDir)
    if (errorCode(error) === 'ECONNRESET')
      throw new Error('The relay ended before it had answered.', { cause: error })
    throw error
  } finally {
    address?.forget()
  }
}
