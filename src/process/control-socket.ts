/**
 * The control socket, over which commands administer a running relay: HTTP over a Unix socket in the data directory. A
 * user who can open that file may administer the relay, so no key is required; its mode is 0600 from the start.
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
import { fetchListener, type FetchHandler } from '../http/server/fetch-listener.ts'
import { errorCode } from '../lib/error-message.ts'
import { listen } from '../lib/graceful-close.ts'

export const controlSocketName = 'sluice.sock'

/** `sun_path` has 108 bytes including the terminating zero on Linux, 104 elsewhere. */
const maxAddressBytes = 103
/** How long a running command may take to complete when the relay stops. */
const closeGraceMs = 2000

/** No relay listens in this data directory. */
export class RelayNotRunningError extends Error {
  constructor(dataDir: string) {
    super(`No relay is running on ${dataDir}.`)
    this.name = 'RelayNotRunningError'
  }
}

/** A socket's address that is short enough even if the path of its folder is long. */
interface SocketAddress extends Disposable {
  readonly path: string
}

function socketAddressIn(folder: string, name: string): SocketAddress {
  const path = join(folder, name)
  if (Buffer.byteLength(path) <= maxAddressBytes) return { path, [Symbol.dispose]: () => {} }
  if (platform() !== 'linux') {
    throw new Error(`The path of DATA_DIR is too long for a socket: ${folder}. Choose a shorter path.`)
  }
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  return { path: `/proc/self/fd/${descriptor}/${name}`, [Symbol.dispose]: () => closeSync(descriptor) }
}

/** Binds the socket in a private folder and then moves it into place, over the file that a killed relay left. */
async function listenIn(server: Server, dataDir: string): Promise<void> {
  const folder = mkdtempSync(join(dataDir, '.control-'))
  try {
    using address = socketAddressIn(folder, 's')
    await listen(server, { path: address.path })
    chmodSync(join(folder, 's'), 0o600)
    renameSync(join(folder, 's'), join(dataDir, controlSocketName))
  } finally {
    rmSync(join(folder, 's'), { force: true })
    rmdirSync(folder)
  }
}

/** Serves commands on this machine. The caller must have locked the data directory. */
export async function serveControlSocket(
  dataDir: string,
  handler: FetchHandler,
): Promise<{ close(): Promise<void> }> {
  const server = createServer({ requestTimeout: 0 }, fetchListener(handler))
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

/** Rejects with RelayNotRunningError if no relay listens in the data directory. */
async function atSocket<Result>(
  dataDir: string,
  use: (path: string, outcome: PromiseWithResolvers<Result>) => void,
): Promise<Result> {
  const outcome = Promise.withResolvers<Result>()
  try {
    using address = socketAddressIn(dataDir, controlSocketName)
    use(address.path, outcome)
    return await outcome.promise
  } catch (error) {
    if (['ENOENT', 'ECONNREFUSED'].includes(errorCode(error) ?? '')) throw new RelayNotRunningError(dataDir)
    throw error
  }
}

/** Whether a relay listens in this data directory. Throws without permission to connect (another user's relay). */
export async function isRelayRunning(dataDir: string): Promise<boolean> {
  try {
    return await atSocket<boolean>(dataDir, (path, { resolve, reject }) => {
      const socket = connect(path, () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', reject)
    })
  } catch (error) {
    if (error instanceof RelayNotRunningError) return false
    throw error
  }
}

export interface ControlSocketRequest {
  readonly method: string
  /** Including the query: `/api/admin/accounts?limit=2`. */
  readonly path: string
  /** Sent as JSON unless undefined. */
  readonly body?: unknown
}

export interface ControlSocketResponse {
  readonly status: number
  readonly text: string
}

/**
 * Sends a request to the relay that runs on a data directory; `read` consumes the response. Rejects with
 * RelayNotRunningError if there is none.
 */
export async function requestControlStream<Result>(
  dataDir: string,
  { method, path, body }: ControlSocketRequest,
  read: (response: IncomingMessage) => Promise<Result>,
): Promise<Result> {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  try {
    return await atSocket<Result>(dataDir, (socketPath, { resolve, reject }) => {
      const request = requestOver({ socketPath, method, path, headers, agent: false })
      request.on('error', reject)
      request.on('response', (response) => void read(response).then(resolve, reject))
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  } catch (error) {
    if (errorCode(error) !== 'ECONNRESET') throw error
    throw new Error('The relay stopped before it responded.', { cause: error })
  }
}
