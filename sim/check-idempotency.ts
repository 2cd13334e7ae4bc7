/**
 * What must hold of `Idempotency-Key`s at the end of everything: within a key's time one request under it is charged,
 * and who repeats it is told what that one came to.
 */
import type { Settled } from '../src/ledger/events.ts'
import { claimName } from '../src/ledger/state.ts'
import { must } from './checks.ts'
import { keptMs, type Disk } from './disk.ts'
import type { SimRequest } from './request.ts'

interface Charged {
  readonly id: string
  /** When its hold was made. */
  readonly at: number
}

function claimOf({ script: { terms, claim } }: SimRequest): string | null {
  return claim && claimName(terms.account, claim)
}

export function checkClaims(requests: readonly SimRequest[], disk: Disk): void {
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
      const isOver = request.lookedAt >= first.at + keptMs
      must(isOver, `${first.id} and ${id} were both charged under "${name}"`)
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
  must(first?.script.claim?.key === script.claim?.key, `${id} was answered what is another key's`)
  must(bill?.charge === replayed.cost_nanos, `${id} was told another charge than its first request's`)
  const answer = replayed.answer && Buffer.from(replayed.answer).toString()
  const isSame = answer === null || answer === `${replayed.request_id} ${bill?.usage.output}`
  must(isSame, `${id} was answered something else than its first request`)
}
