/** The rows that a batch must load and lock, and what a node knows of its own holds without loading them. */
import { storedResponseTtlMs } from '../../db/retention/stored-responses.ts'
import type { LockRequest } from '../../db/postgres/lock-batch.ts'
import type { Marked } from '../../ledger/events.ts'
import { creditsOf, heldOwners, ownersOfHold } from '../../ledger/decide.ts'
import { accountOwner, claimId, type Hold } from '../../ledger/state.ts'
import { isCrediting, type QueuedOperation } from './queued-operations.ts'

export type StreamMark = Omit<Marked, 'kind' | 'id'>

/** What a node knows of its own open holds. */
export interface NodeHoldsView {
  readonly holds: ReadonlyMap<string, Hold>
  /** How far streams have come, where the database does not have it yet. */
  readonly marks: ReadonlyMap<string, StreamMark>
  /** Holds of an epoch that is over: only the database knows what became of them. */
  readonly formerHolds: ReadonlyMap<string, Hold>
}

/** The rows that the operations touch. */
export function batchNeeds(
  operations: readonly QueuedOperation[],
  nodeHolds: NodeHoldsView,
): Omit<LockRequest, 'node' | 'epoch'> {
  const owners = new Set<string>()
  const holds = new Set<string>()
  const endingHolds: string[] = []
  const credits: string[] = []
  const claims: { name: string; account: string; key: string }[] = []
  const addOwn = (id: string): void => {
    const known = nodeHolds.holds.get(id) ?? nodeHolds.formerHolds.get(id)
    if (known) for (const owner of heldOwners(known)) owners.add(owner)
    if (!nodeHolds.holds.has(id)) holds.add(id)
  }
  for (const { operation, retiredOwners } of operations) {
    if (operation.kind === 'hold') {
      const { account, claim } = operation.hold
      for (const owner of ownersOfHold(operation.hold)) owners.add(owner)
      if (claim) claims.push({ name: claimId(account, claim), account, key: claim.key })
    } else if (isCrediting(operation)) {
      const { account, ids } = creditsOf(operation)
      owners.add(accountOwner(account))
      credits.push(...ids)
    } else if (retiredOwners) {
      for (const owner of retiredOwners) owners.add(owner)
      if (operation.kind === 'expire') holds.add(operation.id)
    } else if (operation.kind === 'settle') {
      const { id } = operation.request
      addOwn(id)
      if (nodeHolds.holds.has(id)) endingHolds.push(id)
    } else if (operation.kind === 'extend' || operation.kind === 'expire') addOwn(operation.id)
  }
  return {
    owners: [...owners],
    holds: [...holds],
    endingHolds,
    credits,
    claims,
    responsesStoredAfter: Date.now() - storedResponseTtlMs,
  }
}

/**
 * Adds to a batch whose rows are locked those waiting operations that touch no other rows. Returns the operations that
 * keep waiting, in their order. Operations of one request never overtake each other, because a request queues one at a time.
 */
export function joinBatch(
  operations: QueuedOperation[],
  waiting: readonly QueuedOperation[],
  batch: {
    readonly maxOperations: number
    readonly owners: readonly string[]
    readonly nodeHolds: NodeHoldsView
  },
): QueuedOperation[] {
  const locked = new Set(batch.owners)
  const others: QueuedOperation[] = []
  for (const operation of waiting) {
    const { owners, holds, credits, claims } = batchNeeds([operation], batch.nodeHolds)
    const isCovered =
      holds.length + credits.length + claims.length === 0 && owners.every((owner) => locked.has(owner))
    if (isCovered && operations.length < batch.maxOperations) operations.push(operation)
    else others.push(operation)
  }
  return others
}
