/** What the store thread and the reading threads have in common: the main thread opens them, and connects other threads. */

import { parentPort, type MessagePort } from 'node:worker_threads'
import { Channel } from '../../rpc/channel.ts'
import { storeErrors } from './port-db.ts'

/** What a thread of the store offers to the main thread. */
export interface StoreThreadServices<OpenOptions> {
  readonly thread: {
    open(options: OpenOptions): Promise<void>
    /** The thread on the other side of the port may use the store. */
    connect(port: MessagePort): void
    /** Answers what was sent before, and ends the thread. */
    close(): void
  }
}

export interface OpenedService {
  /** For connected threads. */
  readonly store: object
  close(): void
}

/** Runs a thread of the store. `Events` are services of the main thread. */
export function serveStoreThread<OpenOptions, Events extends object>(
  open: (options: OpenOptions, main: Channel<Events>) => Promise<OpenedService> | OpenedService,
): void {
  if (parentPort === null) return
  const main = new Channel<Events>(parentPort)
  const clients = new Set<Channel<object>>()
  let opened: OpenedService | undefined
  const thread = {
    async open(options: OpenOptions) {
      try {
        opened = await open(options, main)
      } catch (error) {
        void main.finish()
        throw error
      }
    },
    connect(port: MessagePort) {
      const client = new Channel(port, storeErrors).serve({ services: { store: opened?.store ?? {} } })
      clients.add(client)
      port.on('close', () => clients.delete(client))
    },
    async close() {
      await Promise.all(Array.from(clients, (client) => client.finish()))
      opened?.close()
      main.close()
    },
  }
  main.serve({ services: { thread } })
}
