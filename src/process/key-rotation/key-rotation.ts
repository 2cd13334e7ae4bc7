/**
 * Rotates the key of the stored secrets, in steps of one transaction each, while requests are served: a new data key is
 * made known to all threads and nodes, seals all new values, and replaces the old one in all stored values; then only
 * the new secret opens it. The state is in the database, so that after an interruption the next run resumes.
 */
import type { Config } from '../../config.ts'
import { auditStatement } from '../../db/audit.ts'
import type { Change } from '../../db/change.ts'
import {
  activateNewKey,
  beginRotation,
  finishRotation,
  prepareResumption,
  readNodeKeys,
  type NodeKeys,
} from '../../db/data-key-rotation.ts'
import { readDataKeyRows, rotationState, unwrapRows, type RotationState } from '../../db/data-keys.ts'
import type { Db } from '../../db/db.ts'
import type { NodeRecord } from '../../db/postgres/nodes.ts'
import {
  countOtherwiseSealed,
  firstPosition,
  resealBatch,
  type ResealedBatch,
  type SealedPosition,
} from '../../db/sealed-columns.ts'
import { dataKeyIds, type Sealer } from '../../lib/encryption.ts'

export interface KeyRotationDeps {
  readonly db: Db
  readonly sealer: Sealer
  readonly config: Config
  /** Resolves when every thread of this process has applied the changes. */
  readonly publishChanges: (changes: readonly Change[]) => Promise<void>
  /** Empty for a single relay. */
  readonly nodes: () => Promise<readonly NodeRecord[]>
}

export interface RotationStepRequest {
  /** The first step of a run: begins a rotation, or resumes an unfinished one. */
  readonly begin?: boolean
  /** The `next` of the step before. */
  readonly position?: SealedPosition | undefined
  /** The maximum number of values to seal again; by default a few megabytes at most. */
  readonly maxRows?: number
}

/** The state after a step. `finished`: no value is sealed under the old key, and only the new one is needed. */
export interface RotationStep extends ResealedBatch {
  readonly phase: RotationState['phase']
  /** What the next step waits for; null: nothing. */
  readonly waiting: string | null
  /** How many values are sealed under an older key; null: not counted in this step. */
  readonly remaining: number | null
}

export interface RotationStatus {
  readonly phase: RotationState['phase'] | 'none'
  readonly at: string | null
  /** Whether the data keys are still wrapped under the previous key alone, because no rotation has begun. */
  readonly needs_rotation: boolean
  readonly has_previous_key: boolean
}

const nothingResealed: ResealedBatch = { resealed: 0, next: null, unreadable: [] }

export class KeyRotation {
  readonly #deps: KeyRotationDeps
  /** Steps run one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(deps: KeyRotationDeps) {
    this.#deps = deps
  }

  async status(): Promise<RotationStatus> {
    const { db, config } = this.#deps
    const rows = await readDataKeyRows(db)
    const state = rotationState(rows)
    const opened = await unwrapRows(rows, config)
    return {
      phase: state?.phase ?? 'none',
      at: state?.at ?? null,
      needs_rotation: opened?.secret.name === 'ENCRYPTION_KEY_PREVIOUS',
      has_previous_key: config.encryptionKeyPrevious !== null,
    }
  }

  /** Throws RotationError if there is nothing to rotate to. */
  step(request: RotationStepRequest): Promise<RotationStep> {
    const step = this.#last.then(() => this.#step(request))
    this.#last = step.catch(() => undefined)
    return step
  }

  async #step({ begin = false, position, maxRows }: RotationStepRequest): Promise<RotationStep> {
    const { db, config, sealer } = this.#deps
    if (begin) {
      await beginRotation(db, config)
      await prepareResumption(db, config)
      await this.#publish()
    }
    if (rotationState(await readDataKeyRows(db))?.phase === 'distributing') {
      const waiting = await this.#waitForNodes(
        ({ opens }, newest) => opens.includes(newest),
        'has not loaded the new key: restart it with this release, or retire it if it is gone for good',
      )
      if (waiting !== null) return { phase: 'distributing', waiting, remaining: null, ...nothingResealed }
      await activateNewKey(db, config)
      await this.#publish()
    }
    const waiting = await this.#waitForNodes(
      ({ seals }, newest) => seals === newest,
      'does not use the new key yet: restart it, or retire it if it is gone for good',
    )
    if (waiting !== null) return { phase: 'resealing', waiting, remaining: null, ...nothingResealed }
    const remaining = position === undefined ? await countOtherwiseSealed(db, sealer) : null
    const batch = await resealBatch(db, sealer, position ?? firstPosition, maxRows)
    if (batch.next !== null) return { phase: 'resealing', waiting: null, remaining, ...batch }
    return this.#finish()
  }

  /** All values were visited. Requests may have written further ones under the old key meanwhile. */
  async #finish(): Promise<RotationStep> {
    const { db, config, sealer } = this.#deps
    const remaining = await countOtherwiseSealed(db, sealer)
    if (remaining > 0) return { phase: 'resealing', waiting: null, remaining, ...nothingResealed }
    const waiting = await this.#waitForNodes(
      ({ hasNewSecret }) => hasNewSecret,
      'was started without the new ENCRYPTION_KEY: restart it with ENCRYPTION_KEY and ENCRYPTION_KEY_PREVIOUS',
    )
    if (waiting !== null) return { phase: 'resealing', waiting, remaining, ...nothingResealed }
    await finishRotation(
      db,
      config,
      auditStatement('command-line', 'encryption_key.rotate', 'encryption_key'),
    )
    await this.#publish()
    return { phase: 'finished', waiting: null, remaining, ...nothingResealed }
  }

  #publish(): Promise<void> {
    return this.#deps.publishChanges([{ kind: 'data_key', id: '' }])
  }

  /** Names the nodes that are not ready. A silent node may come back with the keys that it had. */
  async #waitForNodes(
    isReady: (keys: NodeKeys, newest: string) => boolean,
    problem: string,
  ): Promise<string | null> {
    const { db, sealer, nodes } = this.#deps
    const unfinished = rotationState(await readDataKeyRows(db))?.phase !== 'finished'
    const newest = dataKeyIds(sealer.keys).all.at(-1) ?? ''
    const late: string[] = []
    for (const { id, name, state } of unfinished ? await nodes() : []) {
      if (state !== 'running' && state !== 'silent') continue
      const keys = await readNodeKeys(db, id)
      if (keys === undefined || !isReady(keys, newest)) late.push(`${id} (${name}, ${state})`)
    }
    return late.length === 0 ? null : late.map((node) => `Node ${node} ${problem}.`).join(' ')
  }
}
