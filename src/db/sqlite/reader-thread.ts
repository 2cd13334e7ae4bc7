/**
 * A reading thread: one connection that cannot write. There are two of them, so that a heavy statistic never keeps
 * a control-plane read waiting.
 */

import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type { ReaderRequest, Reply, Row, ThreadNotice, ThreadOrder } from '../messages.ts'
import { openReader, type Connection } from './connection.ts'
import { failureOf } from '../store-error.ts'

function answer(connection: Connection, port: MessagePort, { id, statement }: ReaderRequest): void {
  const say = (reply: Reply<Row[]>): void => port.postMessage([reply])
  try {
    say({ id, result: connection.run(statement).rows })
  } catch (error) {
    say({ id, failure: failureOf(error) })
  }
}

function start(parent: MessagePort, path: string): void {
  const tell = (notice: ThreadNotice): void => parent.postMessage(notice)
  const connection = openReader(path)
  const ports = new Set<MessagePort>()
  parent.on('message', (order: ThreadOrder) => {
    if (order.kind === 'close') {
      for (const port of ports) port.close()
      connection.close()
      parent.close()
      return
    }
    if (order.kind !== 'connect') return
    const { port } = order
    ports.add(port)
    port.on('message', (request: ReaderRequest) => answer(connection, port, request))
    port.on('close', () => ports.delete(port))
  })
  tell({ kind: 'ready' })
}

if (parentPort !== null) start(parentPort, String(workerData))
