/** The stretches of time that a page offers, each with the step in which it is shown. */

export const spans = ['24h', '7d', '30d', '90d'] as const

const hourMs = 3_600_000
const lengths: Readonly<Record<string, number>> = { '24h': 24, '7d': 168, '30d': 720, '90d': 2160 }

export interface Span {
  readonly from: string
  readonly to: string | undefined
  readonly step: 'hour' | 'day'
}

/** Begins at a whole hour, so that the same question has the same name for an hour. */
export function spanOf(name: string): Span {
  const hours = lengths[name] ?? 720
  const from = Math.floor(Date.now() / hourMs) * hourMs - (hours - 1) * hourMs
  return { from: new Date(from).toISOString(), to: undefined, step: hours <= 24 ? 'hour' : 'day' }
}
