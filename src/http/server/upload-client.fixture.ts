/**
 * A thread that uploads with Node's own clients, which raise an error if they cannot send. In the thread of the server,
 * a client would always read the response in time.
 */
import { request as requestOverTcp, type IncomingMessage } from 'node:http'
import { request as requestOverTls } from 'node:https'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { once } from 'node:events'

export interface Uploads {
  readonly url: string
  readonly bytes: number
  readonly attempts: number
  /** Trusted over TLS. */
  readonly ca: string
}

/** The status of each upload, or the error. */
export async function upload(uploads: Uploads): Promise<string[]> {
  const worker = new Worker(new URL(import.meta.url), { workerData: uploads })
  const [statuses] = (await once(worker, 'message')) as [string[]]
  return statuses
}

async function uploadOnce(url: string, body: Buffer, ca: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = { agent: false, method: 'POST', headers: { 'content-length': body.length } }
  const outgoing = url.startsWith('https:')
    ? requestOverTls(url, { ...options, ca }, resolve)
    : requestOverTcp(url, options, resolve)
  outgoing.on('error', reject)
  outgoing.end(body)
  const response = await promise
  for await (const _ of response);
  return response.statusCode
}

/** Over plain TCP, every other one with `fetch`. */
async function uploadAll({ url, bytes, attempts, ca }: Uploads): Promise<string[]> {
  const body = Buffer.alloc(bytes)
  const statuses: string[] = []
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const viaFetch = attempt % 2 === 1 && !url.startsWith('https:')
    const status = viaFetch
      ? fetch(url, { method: 'POST', body }).then((response) => response.text().then(() => response.status))
      : uploadOnce(url, body, ca)
    statuses.push(await status.then(String, String))
  }
  return statuses
}

if (!isMainThread && parentPort !== null) parentPort.postMessage(await uploadAll(workerData as Uploads))
