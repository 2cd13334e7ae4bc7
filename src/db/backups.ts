/**
 * The backups of this relay as the doors see them. They are made and checked on a thread of their own, one at a time;
 * who keeps track of that is the main thread, and workers ask it by message.
 */

export interface Backup {
  /** The name of its folder. */
  readonly id: string
  /** `damaged`: a check found that it cannot be put back. `failed`: it was not made; nothing of it is left. */
  readonly state: 'making' | 'whole' | 'checking' | 'damaged' | 'failed'
  /** Milliseconds since the epoch; while it is made, of its beginning. */
  readonly madeAt: number
  /** Who had it made, as the audit log names it; null: an older release made it. */
  readonly by: string | null
  /** What the manifest tells; null until there is one. */
  readonly content: BackupContent | null
  /** When it was last read through and its ledger recomputed. */
  readonly checkedAt: number | null
  /** Why it is damaged or failed, in words for operators. */
  readonly problem: string | null
  /** What is being done to it. `percent` where it is known. */
  readonly step: BackupStep | null
}

export interface BackupContent {
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
  readonly accounts: number
  readonly entries: number
  readonly lastCommit: number
  readonly version: string
  readonly sealedBy: 'key file' | 'ENCRYPTION_KEY'
}

export interface BackupStep {
  readonly doing: 'copying' | 'comparing' | 'recomputing'
  readonly percent: number | null
}

/** What may be downloaded of a backup. */
export interface Takeaway {
  readonly folder: string
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
}

export interface Backups {
  /** Newest first. */
  list(): Promise<readonly Backup[]>
  /** Begins one; throws `conflict` while another is made or checked, or where none can be made. */
  make(by: string): Promise<Backup>
  /** Begins to read one through. */
  check(id: string): Promise<Backup>
  remove(id: string): Promise<void>
  takeaway(id: string): Promise<Takeaway>
}

/** A question about backups as it travels between threads. */
export type BackupAsk =
  | { readonly what: 'list' }
  | { readonly what: 'make'; readonly by: string }
  | { readonly what: 'check' | 'remove' | 'takeaway'; readonly id: string }

export function answerBackups(backups: Backups, ask: BackupAsk): Promise<unknown> {
  switch (ask.what) {
    case 'list':
      return backups.list()
    case 'make':
      return backups.make(ask.by)
    case 'check':
      return backups.check(ask.id)
    case 'remove':
      return backups.remove(ask.id)
    case 'takeaway':
      return backups.takeaway(ask.id)
  }
}

/** The backups as another thread sees them. */
export function backupsBy(send: (ask: BackupAsk) => Promise<unknown>): Backups {
  return {
    list: async () => (await send({ what: 'list' })) as Backup[],
    make: async (by) => (await send({ what: 'make', by })) as Backup,
    check: async (id) => (await send({ what: 'check', id })) as Backup,
    remove: async (id) => void (await send({ what: 'remove', id })),
    takeaway: async (id) => (await send({ what: 'takeaway', id })) as Takeaway,
  }
}
