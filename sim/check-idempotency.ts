/**
 * Invariants of `Idempotency-Key`s at the end of a run: at most one request is charged under a key within its
 * window, and repetitions get that request's result.
 */
import type { Settled } from '../src/ledger/events.ts'
import { claimId } from '../src/ledger/state.ts'
import { assertInvariant } from './checks.ts'
import { idempotencyWindowMs, type SimDisk } from './disk.ts'
import type { SimRequest } from './request.ts'

interface Charged {
  readonly id: string
  /** When its hold was made. */
  readonly at: number
}

function claimOf({ script: { options, claim } }: SimRequest): string | null {
  return claim && claimId(options.account, claim)
}

export function checkClaims(requests: readonly SimRequest[], disk: SimDisk): void {
  const known = new Map(requests.map((request) => [request.id, request]))
  const heldAt = new Map<string, number>()
  const bills = new Map<string, Settled>()
  for (const event of disk.events()) {
    if (event.kind === 'held') heldAt.set(event.id, event.at)
    else if (event.kind === 'settled') bills.set(event.id, event)
  }
  const charged = new Map<string, Charged[]>()
  for (const [id, at] of heldAt) {
    const request = known.get(id)
    const name = request && claimOf(request)
    if (!name || (bills.get(id)?.charge ?? 0n) === 0n) continue
    const earlier = charged.get(name) ?? []
    for (const first of earlier) {
      const isOver = request.lookedUpAt >= first.at + idempotencyWindowMs
      assertInvariant(isOver, `${first.id} and ${id} were both charged under "${name}"`)
    }
    charged.set(name, [...earlier, { id, at }])
  }
  for (const request of requests) checkReplay(request, known, bills)
}

function checkReplay(
  { id, replayed, script }: SimRequest,
  known: ReadonlyMap<string, SimRequest>,
  bills: ReadonlyMap<string, Settled>,
): void {
  if (!replayed) return
  const first = known.get(replayed.request_id)
  const bill = bills.get(replayed.request_id)
  assertInvariant(first?.script.claim?.key === script.claim?.key, `${id} got the response of another key`)
  assertInvariant(
    bill?.charge === replayed.cost_nanos,
    `${id} was reported another charge than its first request's`,
  )
  const answer = replayed.answer && Buffer.from(replayed.answer).toString()
  const isSame = answer === null || answer === `${replayed.request_id} ${bill?.usage.output}`
  assertInvariant(isSame, `${id} got another response than its first request`)
}
