/** Backups that nobody asks for: one this long after the newest, and no more of them than are to be kept. */
import type { Config } from '../../config.ts'
import type { Db } from '../../db/db.ts'
import { errorWords } from '../../lib/error-message.ts'
import type { Log } from '../../lib/log.ts'
import { operator } from '../../notifications/notification-kinds.ts'
import { raiseNotice } from '../../notifications/notifications.ts'
import type { BackupWork } from './backup-runner.ts'

export interface ScheduleParts {
  readonly work: BackupWork
  readonly config: Config
  readonly db: Db
  readonly log: Log
}

const by = 'schedule'
const lookEveryMs = 60_000
/** What has failed is tried again so soon. */
const retryMs = 3_600_000

export class BackupSchedule {
  readonly #parts: ScheduleParts
  readonly #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | null = null
  #failedAt = -Infinity
  #isOver = false

  constructor(parts: ScheduleParts) {
    this.#parts = parts
    const { backupEveryMs } = parts.config
    if (backupEveryMs === 0) return
    this.#timer = setInterval(() => this.#look(), Math.min(lookEveryMs, backupEveryMs))
    this.#timer.unref()
  }

  /** What is under way is waited for; that it is cut off from now on is nobody's failure. */
  async close(): Promise<void> {
    this.#isOver = true
    clearInterval(this.#timer)
    await this.#looking
  }

  #look(): void {
    this.#looking ??= this.#tend()
      .catch((error: unknown) => this.#failed(errorWords(error)))
      .finally(() => (this.#looking = null))
  }

  async #tend(): Promise<void> {
    const { work, log, config } = this.#parts
    const { backupEveryMs } = config
    const now = Date.now()
    if (work.isBusy || now - this.#failedAt < Math.min(retryMs, backupEveryMs)) return
    const made = (await work.list()).filter(({ content }) => content !== null)
    if (this.#isOver || now - (made[0]?.madeAt ?? -Infinity) < backupEveryMs) return
    const { id } = await work.make(by)
    const ended = await work.ended()
    if (ended?.state === 'failed') return this.#failed(ended.problem ?? '')
    log.info({ backup: id }, 'a backup was made')
    await this.#prune()
  }

  async #prune(): Promise<void> {
    const { work, config } = this.#parts
    const own = (await work.list()).filter((backup) => backup.by === by && backup.content !== null)
    for (const { id } of own.slice(config.backupsKept)) await work.remove(id)
  }

  async #failed(problem: string): Promise<void> {
    const { log, db } = this.#parts
    if (this.#isOver) return
    this.#failedAt = Date.now()
    log.error({ problem }, 'no backup could be made')
    await raiseNotice(db, {
      audience: operator,
      kind: 'backup',
      severity: 'warning',
      subject: 'backup',
      period: new Date().toISOString().slice(0, 10),
      code: 'backup_failed',
      params: { problem },
    }).catch((error: unknown) => log.error({ err: error }, 'operators could not be told of it'))
  }
}
