/**
 * Makes and checks the backups of a running relay, for operators or by schedule, one at a time, on a thread of its own. It
 * lists the backups in the folder, and the one that is in progress or has just failed. What touches the folder runs on
 * another thread, within a time limit: its file system may be one that does not respond.
 */
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { ChannelClosedError } from '../rpc/channel.ts'
import { openThread } from '../rpc/thread.ts'
import type { Config } from '../config.ts'
import { apiError, notFound } from '../errors.ts'
import type { Backup, BackupService, BackupDownload } from '../db/backups.ts'
import { BackupFolderClient } from './backup-folder-client.ts'
import type { BackupProgress, BackupTask, BackupThreadServices } from './backup-thread.ts'
import { errorMessage } from '../lib/error-message.ts'

interface RunningTask {
  readonly worker: Worker
  readonly done: Promise<Backup>
}

interface FinishedTask {
  readonly making: BackupTask['making']
  /** null: none; undefined: it was aborted. */
  readonly problem: string | null | undefined
}

function timestampIn(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replaceAll(':', '-')
}

export class BackupRunner implements BackupService {
  readonly #config: Config
  readonly #now: () => number
  /** The backup that is in progress, or that failed and is not on the disk. */
  #current: Backup | null = null
  #running: RunningTask | null = null
  /** A task that is about to run. */
  #isStarting = false
  readonly #folder: BackupFolderClient

  constructor(
    config: Config,
    now: () => number = Date.now,
    folder: BackupFolderClient = new BackupFolderClient(),
  ) {
    this.#config = config
    this.#now = now
    this.#folder = folder
  }

  async list(): Promise<readonly Backup[]> {
    const found = await this.#folder.call((thread) => thread.list(this.#config.backupDir))
    const current = this.#current
    return current === null ? found : [current, ...found.filter(({ id }) => id !== current.id)]
  }

  make(by: string): Promise<Backup> {
    return this.#start(() => this.#startMaking(by))
  }

  check(id: string): Promise<Backup> {
    return this.#start(() => this.#startChecking(id))
  }

  async remove(id: string): Promise<void> {
    if (this.#current?.id === id) {
      this.#assertIdle()
      const isMade = this.#current.content !== null
      this.#current = null
      if (!isMade) return
    }
    await this.#folder.call((thread) => thread.remove(this.#config.backupDir, id))
  }

  download(id: string): Promise<BackupDownload> {
    return this.#folder.call((thread) => thread.download(this.#config.backupDir, id))
  }

  /** Why no backup can be made in the folder; null: one can. */
  async findProblem(): Promise<string | null> {
    return this.#folder
      .call((thread) => thread.tryWriting(this.#config.backupDir))
      .then(() => null, errorMessage)
  }

  /** The file system of the folder does not respond. The process cannot end by itself then. */
  get isStuck(): boolean {
    return this.#folder.isStuck
  }

  /** Resolves with the result of the current task; null: there is none. */
  async whenFinished(): Promise<Backup | null> {
    return (await this.#running?.done) ?? null
  }

  /** A backup is being made or checked here, or made by another node that shares the folder. */
  async isBusy(): Promise<boolean> {
    if (this.#running !== null || this.#isStarting) return true
    return this.#folder.call((thread) => thread.isLocked(this.#config.backupDir))
  }

  async close(): Promise<void> {
    const running = this.#running
    if (running !== null && !this.#folder.isStuck) {
      await running.worker.terminate()
      await running.done
    }
    await this.#folder.close()
  }

  async #start(start: () => Promise<Backup>): Promise<Backup> {
    this.#assertIdle()
    this.#isStarting = true
    try {
      return await start()
    } finally {
      this.#isStarting = false
    }
  }

  #assertIdle(): void {
    if (this.#running === null && !this.#isStarting) return
    throw apiError('conflict', {
      message: 'Another backup is being made or checked. Wait until it has finished.',
    })
  }

  async #startMaking(by: string): Promise<Backup> {
    const { backupDir } = this.#config
    const madeAt = this.#now()
    const id = `backup-${timestampIn(madeAt)}`
    const started: Backup = {
      id,
      state: 'making',
      madeAt,
      by,
      content: null,
      checkedAt: null,
      problem: null,
      step: { doing: 'copying', percent: 0 },
    }
    const draft = await this.#folder.call((thread) => thread.begin(join(backupDir, id)))
    return this.#startThread(started, { draft, by })
  }

  async #startChecking(id: string): Promise<Backup> {
    const all = await this.#folder.call((thread) => thread.list(this.#config.backupDir))
    const found = all.find((backup) => backup.id === id)
    if (found === undefined) throw notFound('Backup')
    return this.#startThread(
      { ...found, state: 'checking', step: { doing: 'comparing', percent: null } },
      null,
    )
  }

  #startThread(started: Backup, making: BackupTask['making']): Backup {
    const folder = join(this.#config.backupDir, started.id)
    const task: BackupTask = { config: this.#config, folder, making }
    const progress: BackupProgress['progress'] = {
      onStep: (step) => {
        if (this.#current?.id === started.id) this.#current = { ...this.#current, step }
      },
    }
    const { worker, channel } = openThread<BackupThreadServices>(
      new URL('./backup-thread.ts', import.meta.url),
      { services: { progress } },
    )
    const result = channel
      .proxy('backups')
      .run(task)
      .then(
        () => null,
        (error: unknown) => (error instanceof ChannelClosedError ? undefined : errorMessage(error)),
      )
    const done = result.then(async (problem) => {
      await worker.terminate()
      return this.#onFinished(started, { making, problem }).finally(() => (this.#running = null))
    })
    this.#current = started
    this.#running = { worker, done }
    return started
  }

  /** The disk holds the state of a backup; only a failed one must be remembered. `problem`: undefined if it was aborted. */
  async #onFinished(started: Backup, { making, ...ended }: FinishedTask): Promise<Backup> {
    let { problem } = ended
    const { backupDir } = this.#config
    let made: Backup | undefined
    try {
      if (making !== null) await this.#folder.call((thread) => thread.end(making.draft))
      else if (problem !== undefined) {
        const checked = { at: this.#now(), problem }
        await this.#folder.call((thread) => thread.writeCheckResult(join(backupDir, started.id), checked))
      }
      made = (await this.#folder.call((thread) => thread.list(backupDir))).find(({ id }) => id === started.id)
    } catch (error) {
      made = undefined
      problem ??= errorMessage(error)
    }
    this.#current = null
    if (made !== undefined) return made
    const why = problem ?? 'It was aborted.'
    this.#current = { ...started, state: 'failed', problem: why, step: null }
    return this.#current
  }
}
