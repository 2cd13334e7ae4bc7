/**
 * A reading thread with one read-only connection. There are three, so that heavy statistics never delay control-plane
 * reads, and neither of them what a relayed request looks up.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { createQueryQueue } from '../query-queue.ts'
import type { Row } from '../statement.ts'
import { openReader } from './connection.ts'
import type { ReaderService } from './port-db.ts'
import { serveStoreThread, type OpenedService } from './serve-store-thread.ts'

export function openReaderService(path: string): OpenedService {
  const connection = openReader(path)
  const queue = createQueryQueue()
  const store: ReaderService = {
    read(statement, owner) {
      const { promise, resolve, reject } = Promise.withResolvers<Row[]>()
      const run = async (): Promise<void> => {
        resolve(connection.run(statement).rows)
        // Queues the requests that have arrived meanwhile, before the next turn is given.
        await nextTurn()
      }
      queue.run(owner, run).catch(reject)
      return promise
    },
  }
  return { store, close: () => connection.close() }
}

serveStoreThread(openReaderService)
