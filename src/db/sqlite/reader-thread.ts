/** A reading thread with one read-only connection. There are two, so that heavy statistics never delay control-plane reads. */

import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type {
  ReaderRequest,
  ThreadResponse,
  StoreThreadEvent,
  StoreThreadRequest,
} from './thread-protocol.ts'
import type { Row } from '../statement.ts'
import { openReader, type Connection } from './connection.ts'
import { toStoreFailure } from '../store-error.ts'

function respond(connection: Connection, port: MessagePort, { id, statement }: ReaderRequest): void {
  const send = (reply: ThreadResponse<Row[]>): void => port.postMessage([reply])
  try {
    send({ id, result: connection.run(statement).rows })
  } catch (error) {
    send({ id, failure: toStoreFailure(error) })
  }
}

function start(parent: MessagePort, path: string): void {
  const emit = (event: StoreThreadEvent): void => parent.postMessage(event)
  const connection = openReader(path)
  const ports = new Set<MessagePort>()
  parent.on('message', (threadRequest: StoreThreadRequest) => {
    if (threadRequest.kind === 'close') {
      for (const port of ports) port.close()
      connection.close()
      parent.close()
      return
    }
    if (threadRequest.kind !== 'connect') return
    const { port } = threadRequest
    ports.add(port)
    port.on('message', (request: ReaderRequest) => respond(connection, port, request))
    port.on('close', () => ports.delete(port))
  })
  emit({ kind: 'ready' })
}

if (parentPort !== null) start(parentPort, String(workerData))
