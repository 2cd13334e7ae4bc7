/** What a batch has to load and lock, and what a node knows by itself of what it holds. */
import { keptMs } from '../../db/kept-answers.ts'
import type { BatchNeeds } from '../../db/postgres/ledger-rows.ts'
import type { Caps } from '../../ledger/caps.ts'
import { accountOwner, claimName, keyOwner, modelOwner, type Hold } from '../../ledger/state.ts'
import type { Work } from './work.ts'

export interface Mark {
  readonly at: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** What a node knows of its own open holds. */
export interface OwnHolds {
  readonly holds: ReadonlyMap<string, Hold>
  /** How far streams have come, as far as the database has not heard of it. */
  readonly marks: ReadonlyMap<string, Mark>
  /** Of an epoch that is over: the database has to say what became of them. */
  readonly former: ReadonlyMap<string, Hold>
}

const ownersOfHold = (hold: Hold): string[] => [accountOwner(hold.account), keyOwner(hold.key)]

/** Whether a model's requests a day are limited, and so counted. */
export function countsModel({ modelRequestsPerDay }: Caps): boolean {
  return modelRequestsPerDay !== null && modelRequestsPerDay !== undefined
}

/** The rows that works touch. */
export function needsOf(works: readonly Work[], own: OwnHolds): Omit<BatchNeeds, 'node' | 'epoch'> {
  const owners = new Set<string>()
  const holds = new Set<string>()
  const ending: string[] = []
  const credits: string[] = []
  const claims: { name: string; account: string; key: string }[] = []
  const addOwn = (id: string): void => {
    const known = own.holds.get(id) ?? own.former.get(id)
    if (known) for (const owner of ownersOfHold(known)) owners.add(owner)
    if (!own.holds.has(id)) holds.add(id)
  }
  for (const work of works) {
    if (work.kind === 'hold') {
      const { account, key, model, claim, caps } = work.operation
      if (countsModel(caps)) owners.add(modelOwner(account, model))
      owners.add(accountOwner(account)).add(keyOwner(key))
      if (claim) claims.push({ name: claimName(account, claim), account, key: claim.key })
    } else if (work.kind === 'credit') {
      owners.add(accountOwner(work.operation.account))
      credits.push(work.operation.id)
    } else if (work.kind === 'trial') {
      owners.add(accountOwner(work.end.account))
      credits.push(work.end.id)
    } else if (work.kind === 'expire' && work.owners) {
      for (const owner of work.owners) owners.add(owner)
      holds.add(work.id)
    } else if (work.kind === 'settle') {
      const { id } = work.ask
      addOwn(id)
      if (own.holds.has(id)) ending.push(id)
    } else if (work.kind !== 'row') addOwn(work.id)
  }
  return { owners: [...owners], holds: [...holds], ending, credits, claims, keptAfter: Date.now() - keptMs }
}

/**
 * Adds to a batch whose rows are locked what waits and touches no other rows; tells what goes on waiting, in its order. Of
 * one request nothing overtakes anything: it is asked for one after the other.
 */
export function joinBatch(
  works: Work[],
  waiting: readonly Work[],
  batch: { readonly most: number; readonly owners: readonly string[]; readonly own: OwnHolds },
): Work[] {
  const locked = new Set(batch.owners)
  const others: Work[] = []
  for (const work of waiting) {
    const { owners, holds, credits, claims } = needsOf([work], batch.own)
    const isCovered =
      holds.length + credits.length + claims.length === 0 && owners.every((owner) => locked.has(owner))
    if (isCovered && works.length < batch.most) works.push(work)
    else others.push(work)
  }
  return others
}
