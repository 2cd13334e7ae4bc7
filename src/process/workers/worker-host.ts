/**
 * Where workers run: each on a thread of its own, or, if there is only one, on the main thread, which saves the messages
 * between them: docs/decisions/0049-one-worker-on-the-main-thread.md.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { startThread } from '../../lib/thread.ts'
import type { Endpoint } from '../../rpc/channel.ts'
import { LocalPort } from '../../rpc/local-port.ts'
import type { WorkerInit } from './protocol.ts'

/**
 * For objects that live as long as one request. By default V8 takes three times as much under load and never returns it;
 * measured, the time that this saves is within the noise.
 */
const youngGenerationMiB = 24

export interface WorkerEvents {
  readonly onError: (error: unknown) => void
  /** It does not run any more, whatever the reason. */
  readonly onExit: () => void
}

/** A worker whose modules are being loaded, and which waits to be started. */
export interface LoadedWorker {
  /** Starts it, with the ports in `init.db`. Returns the main thread's end of the connection to it. */
  start(init: Omit<WorkerInit, 'mainPort'>, ports: readonly MessagePort[], events: WorkerEvents): Endpoint
  /** Ends it after its drain. */
  terminate(): Promise<unknown>
}

/** Loads the modules of a worker on a thread. It does not keep the process alive before it is started. */
export function loadWorkerThread(number: number): LoadedWorker {
  const worker = startThread(new URL('./worker-thread.ts', import.meta.url), {
    name: `relay ${number}`,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMiB },
  })
  worker.unref()
  return {
    start(init, ports, { onError, onExit }) {
      const { port1, port2 } = new MessageChannel()
      worker.on('error', onError)
      worker.on('exit', onExit)
      worker.ref()
      worker.postMessage({ ...init, mainPort: port2 } satisfies WorkerInit, [port2, ...ports])
      return port1
    },
    terminate: () => worker.terminate(),
  }
}

/** Loads the modules of the only worker on this thread. What it throws ends the process. */
function loadLocalWorker(): LoadedWorker {
  const loading = import('./worker.ts')
  return {
    start(init, _ports, { onError, onExit }) {
      const [mainPort, workerPort] = LocalPort.createPair()
      loading
        .then(({ startWorker }) => startWorker({ ...init, mainPort: workerPort }))
        .catch((error: unknown) => {
          onError(error)
          onExit()
        })
      return mainPort
    },
    terminate: () => Promise.resolve(),
  }
}

/** Loads the workers of a pool before the core is open: threads load their modules while this one opens it. */
export function loadWorkers(count: number): LoadedWorker[] {
  if (count === 1) return [loadLocalWorker()]
  return Array.from({ length: count }, (_, index) => loadWorkerThread(index + 1))
}
