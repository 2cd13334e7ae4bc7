/**
 * Evaluates whether a model meets its objective (SLO): when it starts to fail, and when it has recovered. These are
 * pure rules over counts. One failure among many is within every objective; an outage shows within seconds, or within
 * minutes if there is little traffic.
 */
import { burnRate, totalOf, type OutcomeCounts } from './availability.ts'

export interface EvaluationOptions {
  /** The window in which an outage shows under traffic; with little traffic, ten of them are needed. */
  readonly windowMs: number
  /** The minimum number of failures. */
  readonly minFailures: number
  /** A model has recovered if it met its objective for this long. */
  readonly recoveryMs: number
}

/** The recent outcomes of a model (see RecentOutcomes). */
export interface RecentOutcomeCounts {
  since(from: number): OutcomeCounts
  readonly lastFailure: number | null
}

export type Severity = 'minor' | 'major' | 'critical'

export type Evaluation =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failing'; readonly severity: Severity }
  | { readonly kind: 'recovered' }
  /** There are no more requests, so nothing fails and nothing shows that the model works. */
  | { readonly kind: 'quiet' }

/** At this rate a month's error budget is gone in two days: the usual threshold of a fast burn. */
const fastBurnRate = 14.4
/** The maximum failure rate that is required for an incident, however lenient the objective. */
const maxFailureThreshold = 0.25
const quietAfterMs = 25 * 60_000
const longWindowFactor = 10

/** The failure rate from which a model clearly misses its objective, not by a single failure. */
export function failureThreshold(objective: number): number {
  const budget = 1 - objective
  return Math.max(budget, Math.min(fastBurnRate * budget, maxFailureThreshold))
}

function failureRate(counts: OutcomeCounts): number {
  const total = totalOf(counts)
  return total === 0 ? 0 : counts.failed / total
}

function isFailing(counts: OutcomeCounts, objective: number): boolean {
  return counts.failed > 0 && failureRate(counts) >= failureThreshold(objective)
}

export function severityOf(counts: OutcomeCounts): Severity {
  const share = failureRate(counts)
  if (share >= 0.5) return 'critical'
  return share >= 0.1 ? 'major' : 'minor'
}

/** Of a model without an open incident. `since`: earlier outcomes belong to the last incident and do not count. */
export function evaluateHealthy(
  outcomes: RecentOutcomeCounts,
  options: EvaluationOptions & { readonly objective: number },
  { now, since }: { readonly now: number; readonly since: number },
): Evaluation {
  for (const windowMs of [options.windowMs, longWindowFactor * options.windowMs]) {
    const counts = outcomes.since(Math.max(since, now - windowMs))
    if (counts.failed >= options.minFailures && isFailing(counts, options.objective))
      return { kind: 'failing', severity: severityOf(counts) }
  }
  return { kind: 'unchanged' }
}

/** Of a model with an open incident. `since`: when it was opened or last changed. */
export function evaluateFailing(
  outcomes: RecentOutcomeCounts,
  options: EvaluationOptions & { readonly objective: number },
  { now, since }: { readonly now: number; readonly since: number },
): Evaluation {
  const recent = outcomes.since(now - options.recoveryMs)
  if (now - since >= options.recoveryMs) {
    if (recent.answered > 0 && !isFailing(recent, options.objective)) return { kind: 'recovered' }
    const { lastFailure } = outcomes
    const hasSucceededSinceFailure = recent.failed === 0 && outcomes.since(lastFailure ?? since).answered > 0
    if (hasSucceededSinceFailure) return { kind: 'recovered' }
  }
  const isQuiet = now - since >= quietAfterMs && totalOf(outcomes.since(now - quietAfterMs)) === 0
  if (isQuiet) return { kind: 'quiet' }
  return isFailing(recent, options.objective)
    ? { kind: 'failing', severity: severityOf(recent) }
    : { kind: 'unchanged' }
}

/** A rate at which the month's error budget is spent, in a long window and still in a short one. */
export interface BurnRule {
  readonly name: 'fast' | 'slow'
  readonly longMs: number
  readonly shortMs: number
  readonly burnRate: number
}

const hourMs = 3_600_000

/** 2 % of a month's budget in an hour, 5 % in six (Google's SRE workbook, "Alerting on SLOs"). */
export const burnRules: readonly BurnRule[] = [
  { name: 'fast', longMs: hourMs, shortMs: 5 * 60_000, burnRate: fastBurnRate },
  { name: 'slow', longMs: 6 * hourMs, shortMs: 30 * 60_000, burnRate: 6 },
]

export function isBurning(
  { long, short }: { readonly long: OutcomeCounts; readonly short: OutcomeCounts },
  rule: BurnRule,
  { objective, minFailures }: { readonly objective: number; readonly minFailures: number },
): boolean {
  if (long.failed < minFailures) return false
  return burnRate(long, objective) >= rule.burnRate && burnRate(short, objective) >= rule.burnRate
}
