/**
 * The backup service's interface. Backups are made and checked on a thread of their own, one at a time, under control
 * of the main thread; workers call it by message.
 */

export interface Backup {
  /** The name of its folder. */
  readonly id: string
  /** `damaged`: a check found that it cannot be restored. `failed`: it could not be made, and nothing of it is left. */
  readonly state: 'making' | 'whole' | 'checking' | 'damaged' | 'failed'
  /** Milliseconds since the epoch; of its start while it is being made. */
  readonly madeAt: number
  /** The actor as in the audit log; `null` for backups of older releases. */
  readonly by: string | null
  /** From its manifest; `null` until it is written. */
  readonly content: BackupContent | null
  /** When its files and its ledger were last verified. */
  readonly checkedAt: number | null
  /** Why it is damaged or failed, for operators. */
  readonly problem: string | null
  /** The current step. */
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
  /** `null`: unknown. */
  readonly percent: number | null
}

/** The files of a backup that can be downloaded. */
export interface BackupDownload {
  readonly folder: string
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
}

export interface BackupService {
  /** Newest first. */
  list(): Promise<readonly Backup[]>
  /** Starts a backup. Throws `conflict` while another is made or checked, or if none can be made. */
  make(by: string): Promise<Backup>
  /** Starts a verification. */
  check(id: string): Promise<Backup>
  remove(id: string): Promise<void>
  download(id: string): Promise<BackupDownload>
}
