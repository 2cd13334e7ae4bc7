/**
 * When a model's success has fallen below its objective, and when it is back: rules over counts, with no clock and no
 * database. One failure among many is within every objective; an outage shows within seconds, and with little traffic
 * within minutes.
 */
import { burnOf, receivedOf, type Counts } from './availability.ts'

export interface JudgeTerms {
  /** What an outage under traffic shows in; one with little traffic shows in ten of them. */
  readonly windowMs: number
  /** So many failures at least. */
  readonly minimum: number
  /** Without it falling short for so long, a model is well again. */
  readonly recoveryMs: number
}

/** What a model's last minutes were, as RecentOutcomes tells it. */
export interface Past {
  since(from: number): Counts
  readonly lastFailure: number | null
}

export type Severity = 'minor' | 'major' | 'critical'

export type Verdict =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failing'; readonly severity: Severity }
  | { readonly kind: 'recovered' }
  /** Nobody asks any more, so nothing fails and nothing shows that it works. */
  | { readonly kind: 'quiet' }

/** A month's budget of failures is gone in two days at this pace: the usual bound of a fast burn. */
const fastBurn = 14.4
/** Below this share of failures, a lenient objective is not held against its own pace. */
const plainShare = 0.25
const quietMs = 25 * 60_000
const longWindows = 10

/** The share of failures from which on a model fails its objective visibly, not by a stray failure. */
export function failingShare(objective: number): number {
  const budget = 1 - objective
  return Math.max(budget, Math.min(fastBurn * budget, plainShare))
}

function shareOf(counts: Counts): number {
  const received = receivedOf(counts)
  return received === 0 ? 0 : counts.failed / received
}

function isFailing(counts: Counts, objective: number): boolean {
  return counts.failed > 0 && shareOf(counts) >= failingShare(objective)
}

export function severityOf(counts: Counts): Severity {
  const share = shareOf(counts)
  if (share >= 0.5) return 'critical'
  return share >= 0.1 ? 'major' : 'minor'
}

/** `since`: what had ended before does not count, for an incident that was closed then has told of it. */
export function judgeWell(
  past: Past,
  terms: JudgeTerms & { readonly objective: number },
  { now, since }: { readonly now: number; readonly since: number },
): Verdict {
  for (const windowMs of [terms.windowMs, longWindows * terms.windowMs]) {
    const counts = past.since(Math.max(since, now - windowMs))
    if (counts.failed >= terms.minimum && isFailing(counts, terms.objective))
      return { kind: 'failing', severity: severityOf(counts) }
  }
  return { kind: 'unchanged' }
}

/** Of a model with an open incident; `since`: when it was opened, or last changed. */
export function judgeIll(
  past: Past,
  terms: JudgeTerms & { readonly objective: number },
  { now, since }: { readonly now: number; readonly since: number },
): Verdict {
  const lately = past.since(now - terms.recoveryMs)
  if (now - since >= terms.recoveryMs) {
    if (lately.answered > 0 && !isFailing(lately, terms.objective)) return { kind: 'recovered' }
    const { lastFailure } = past
    const isCalm = lately.failed === 0 && past.since(lastFailure ?? since).answered > 0
    if (isCalm) return { kind: 'recovered' }
  }
  const isQuiet = now - since >= quietMs && receivedOf(past.since(now - quietMs)) === 0
  if (isQuiet) return { kind: 'quiet' }
  return isFailing(lately, terms.objective)
    ? { kind: 'failing', severity: severityOf(lately) }
    : { kind: 'unchanged' }
}

/** A pace at which the month's budget of failures is spent, seen in a long window and still in a short one. */
export interface BurnRule {
  readonly name: 'fast' | 'slow'
  readonly longMs: number
  readonly shortMs: number
  readonly burn: number
}

const hourMs = 3_600_000

/** 2 % of a month's budget in an hour, 5 % in six (Google's SRE workbook, "Alerting on SLOs"). */
export const burnRules: readonly BurnRule[] = [
  { name: 'fast', longMs: hourMs, shortMs: 5 * 60_000, burn: fastBurn },
  { name: 'slow', longMs: 6 * hourMs, shortMs: 30 * 60_000, burn: 6 },
]

export function isBurning(
  { long, short }: { readonly long: Counts; readonly short: Counts },
  rule: BurnRule,
  { objective, minimum }: { readonly objective: number; readonly minimum: number },
): boolean {
  if (long.failed < minimum) return false
  return burnOf(long, objective) >= rule.burn && burnOf(short, objective) >= rule.burn
}
