/** How the prices by unit, and the usage by unit, are stored: JSON in one column of `prices`, and in one cell of the journal. */
import type { Modality, TokenUsage } from './usage.ts'

/** Nanos per million tokens. A component that is `null` or absent has its parent's price. */
export interface TokenRates {
  readonly input: bigint
  readonly output: bigint
  /** Input tokens read from the provider's cache. `null`: same as input. */
  readonly cachedInput: bigint | null
  /** Input tokens written to the provider's cache. `null`: same as input. */
  readonly cacheWrite: bigint | null
  /** Cache writes with a lifetime of one hour. `null` or absent: same as other cache writes. */
  readonly cacheWrite1h?: bigint | null
  /** Reasoning tokens. `null`: same as output. */
  readonly reasoning: bigint | null
  /** Tokens of images and audio. Absent: same as the total that they are part of. */
  readonly modality?: Readonly<Partial<Record<Modality, bigint>>>
}

/** The token prices that are no modality's. */
export const textRates = [
  'input',
  'output',
  'cachedInput',
  'cacheWrite',
  'cacheWrite1h',
  'reasoning',
] as const

/** The token prices of requests whose whole input has more than `above` tokens. */
export interface LongInputRates extends TokenRates {
  readonly above: number
}

/** What only some prices have. */
export interface UnitPrices {
  readonly modality?: TokenRates['modality']
  /** The lowest threshold first. The last one below the input replaces the token prices as a whole. */
  readonly above?: readonly LongInputRates[]
  /** Parts per million by which the token prices are multiplied, by the tier that served the request. */
  readonly serviceTiers?: Readonly<Record<string, number>>
  /**
   * Nanos for each call of a tool that the provider runs, by the tool's name. Classes of images have names of their
   * own (image-classes.ts).
   */
  readonly perToolCall?: Readonly<Record<string, bigint>>
}

/** Amounts are strings of digits, factors and thresholds numbers. `null`: the price has nothing by unit. */
export function encodeUnitPrices({ modality, above, serviceTiers, perToolCall }: UnitPrices): string | null {
  if (!modality && !above && !serviceTiers && !perToolCall) return null
  return JSON.stringify({ modality, above, serviceTiers, perToolCall }, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}

export function decodeUnitPrices(json: string): UnitPrices {
  return JSON.parse(json, (_name, value: unknown) =>
    typeof value === 'string' ? BigInt(value) : value,
  ) as UnitPrices
}

/** What a usage has beside its five counts and its searches; `null`: nothing. */
export function encodeUnitUsage({ modality, toolCalls, tier }: TokenUsage): string | null {
  return modality || toolCalls || tier ? JSON.stringify({ modality, toolCalls, tier }) : null
}

export function decodeUnitUsage(json: string): Pick<TokenUsage, 'modality' | 'toolCalls' | 'tier'> {
  return JSON.parse(json) as Pick<TokenUsage, 'modality' | 'toolCalls' | 'tier'>
}
