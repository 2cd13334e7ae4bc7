/**
 * A reading thread: one connection that cannot write. There are two of them, so that a heavy statistic never keeps
 * a control-plane read waiting; the second also makes backups.
 */

import { chmodSync } from 'node:fs'
import { backup } from 'node:sqlite'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type { ReaderRequest, Reply, Row, ThreadNotice, ThreadOrder } from './messages.ts'
import { openReader, type Connection } from './sqlite.ts'
import { failureOf } from './store-error.ts'

/** Pages a step, 16 MB: progress is told after each. */
const backupStepPages = 4096

/**
 * Copies the database as it is now. An open read transaction keeps the snapshot, so that writes in the meantime
 * do not make the copy start again.
 */
async function backUp(
  path: string,
  target: string,
  tell: (total: number, left: number) => void,
): Promise<void> {
  const source = openReader(path)
  try {
    source.database.exec('begin; select count(*) from sqlite_schema;')
    await backup(source.database, target, {
      rate: backupStepPages,
      progress: ({ totalPages, remainingPages }) => tell(totalPages, remainingPages),
    })
    chmodSync(target, 0o600)
  } finally {
    source.close()
  }
}

async function answer(
  connection: Connection,
  path: string,
  port: MessagePort,
  request: ReaderRequest,
): Promise<void> {
  const { id } = request
  const say = (reply: Reply<Row[]>): void => port.postMessage([reply])
  try {
    if (request.kind === 'read') {
      say({ id, result: connection.run(request.statement).rows })
      return
    }
    await backUp(path, request.path, (totalPages, remainingPages) =>
      say({ id, progress: { totalPages, remainingPages } }),
    )
    say({ id, result: [] })
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
    const { port } = order
    ports.add(port)
    port.on('message', (request: ReaderRequest) => void answer(connection, path, port, request))
    port.on('close', () => ports.delete(port))
  })
  tell({ kind: 'ready' })
}

if (parentPort !== null) start(parentPort, String(workerData))
