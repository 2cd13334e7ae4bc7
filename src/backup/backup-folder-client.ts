/** Calls the thread of the backup folder, within a time limit, so that nothing waits for a file system that does not respond. */
import { apiError, asApiError, type ApiError } from '../errors.ts'
import { apiErrors } from '../rpc/channel.ts'
import { openThread, type RemoteThread } from '../rpc/thread.ts'
import type { BackupFolderService, BackupFolderThreadServices } from './backup-folder-thread.ts'

const maxCallMs = 10_000
/** How long the end of the thread is waited for. One that waits for its file system ends with the process only. */
const maxEndMs = 1000

function notResponding(): ApiError {
  return apiError('service_unavailable', { message: 'The file system of BACKUP_DIR does not respond.' })
}

export class BackupFolderClient {
  readonly #module: URL
  readonly #maxCallMs: number
  #thread: RemoteThread<BackupFolderThreadServices> | null = null
  /** A call is late: the thread waits for the file system, and nothing else is asked of it. */
  #isStuck = false

  constructor(
    module: URL = new URL('./backup-folder-thread.ts', import.meta.url),
    callMs: number = maxCallMs,
  ) {
    this.#module = module
    this.#maxCallMs = callMs
  }

  /** The thread waits for the file system. */
  get isStuck(): boolean {
    return this.#isStuck
  }

  /** Throws 503 if the file system does not respond in time, and what the called method throws. */
  async call<Result>(ask: (folder: BackupFolderService) => Promise<Result>): Promise<Result> {
    if (this.#isStuck) throw notResponding()
    const { channel, worker } = (this.#thread ??= this.#open())
    worker.unref()
    const result = ask(channel.proxy('folder'))
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      this.#isStuck = true
      late.reject(notResponding())
      result.catch(() => undefined).finally(() => (this.#isStuck = false))
    }, this.#maxCallMs)
    try {
      return await Promise.race([result, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    const thread = this.#thread
    if (thread === null) return
    this.#thread = null
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, maxEndMs)
    await Promise.race([thread.worker.terminate(), promise])
    clearTimeout(timer)
  }

  #open(): RemoteThread<BackupFolderThreadServices> {
    const thread = openThread<BackupFolderThreadServices>(this.#module, { errors: apiErrors(asApiError) })
    void thread.ended.then(() => {
      if (this.#thread === thread) this.#thread = null
    })
    return thread
  }
}
