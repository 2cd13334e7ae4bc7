/** The models offered to a customer: prices with the account's factor, and recent availability. */
import { z } from 'zod'
import { modelOperations } from '../../../catalog/operations.ts'
import type { PricedModel } from '../../../catalog/catalog.ts'
import type { Account } from '../../../accounts/accounts.ts'
import { sumByModelSince, successRate, totalOf } from '../../../health/availability.ts'
import { snakeCase } from '../../../db/audit-changes.ts'
import { formatPrice, formatAmount, formatFactor } from '../../../lib/money.ts'
import { parseClassedName } from '../../../providers/image-classes.ts'
import { loadLatency } from '../../../usage/latency.ts'
import type { AppContext } from '../../app-context.ts'
import { money } from '../../api/json-schemas.ts'
import { last24HoursStart } from '../../api/time-spans.ts'

export const modelSchema = z.object({
  id: z.string(),
  owned_by: z.string(),
  context_tokens: z.int(),
  max_output_tokens: z.int().nullable(),
  operations: z.array(z.enum(modelOperations)),
  free: z.boolean(),
  /** Per 1,000 tokens with this account's factor; `per_…` per unit. null or absent: priced as its parent, or nothing. */
  prices: z.object({
    input: money,
    output: money,
    cached_input: money.nullable(),
    cache_write: money.nullable(),
    reasoning: money.nullable(),
    per_request: money,
    per_search: money,
    /** Tokens of images and audio, such as `input_audio`. */
    media: z.record(z.string(), money),
    /** By tool; of the image tool, one for each class of its price. */
    per_tool_call: z.array(
      z.object({
        tool: z.string(),
        quality: z.string().optional(),
        size: z.string().optional(),
        amount: money,
      }),
    ),
    /** Token prices of requests with more input tokens. */
    above: z.array(z.object({ input_tokens: z.int(), input: money, output: money })),
    /** Factors on the token prices. */
    service_tiers: z.record(z.string(), z.string()),
  }),
  /** Success rate over the current hour and the 23 before it, without errors of callers; null: no requests. */
  success: z.number().nullable(),
  /** Those in the success rate. */
  requests: z.int(),
  first_token_ms: z.number().nullable(),
})
export type Model = z.infer<typeof modelSchema>

const onePpm = 1_000_000n

/** Whether an enabled upstream serves the model. The catalog only has models with a price. */
export function isServed({ routes }: PricedModel): boolean {
  return routes.length > 0
}

/** The factor on this account's prices: its own or that of its tier. */
export function resolvePriceFactorPpm({ directory }: AppContext, account: Account): number {
  return account.priceFactorPpm ?? directory.tier(account.tier)?.priceFactorPpm ?? Number(onePpm)
}

/** Rounds up to a nano per million tokens for display; charges are rounded once per request. */
function applyFactor(nanos: bigint, factorPpm: number): bigint {
  return (nanos * BigInt(factorPpm) + onePpm - 1n) / onePpm
}

function mapEntries<Value>(
  record: Readonly<Record<string, Value>>,
  convert: (name: string, value: Value) => [name: string, text: string],
): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => convert(name, value)))
}

const ratesIn = ({ input, output }: { readonly input: bigint; readonly output: bigint }): bigint[] => [
  input,
  output,
]

function serializePrices({ price }: PricedModel, factorPpm: number): Pick<Model, 'free' | 'prices'> {
  const per1K = (nanos: bigint): string => formatPrice(applyFactor(nanos, factorPpm))
  const optional = (nanos: bigint | null): string | null => (nanos === null ? null : per1K(nanos))
  const perUnit = (nanos: bigint): string => formatAmount(applyFactor(nanos, factorPpm))
  const { input, output, cachedInput, cacheWrite, reasoning, perRequest, perSearch } = price
  const { modality = {}, perToolCall = {}, above = [], serviceTiers = {} } = price
  const units = [...Object.values(modality), ...Object.values(perToolCall), ...above.flatMap(ratesIn)]
  const parts = [input, output, cachedInput, cacheWrite, reasoning, perRequest, perSearch ?? 0n, ...units]
  return {
    free: parts.every((part) => part === null || part === 0n),
    prices: {
      input: per1K(input),
      output: per1K(output),
      cached_input: optional(cachedInput),
      cache_write: optional(cacheWrite),
      reasoning: optional(reasoning),
      per_request: perUnit(perRequest),
      per_search: perUnit(perSearch ?? 0n),
      media: mapEntries(modality, (name, nanos) => [snakeCase(name), per1K(nanos)]),
      per_tool_call: Object.entries(perToolCall).map(([name, nanos]) => ({
        ...parseClassedName(name),
        amount: perUnit(nanos),
      })),
      above: above.map((rates) => ({
        input_tokens: rates.above,
        input: per1K(rates.input),
        output: per1K(rates.output),
      })),
      service_tiers: mapEntries(serviceTiers, (name, ppm) => [name, formatFactor(ppm)]),
    },
  }
}

export async function listOfferedModels(ctx: AppContext, account: Account): Promise<Model[]> {
  const { db, catalog } = ctx
  const now = Date.now()
  const since = last24HoursStart(now)
  const [byModel, latency] = await Promise.all([
    sumByModelSince(db, since),
    loadLatency(db, { account: null, from: since, to: now }),
  ])
  const factorPpm = resolvePriceFactorPpm(ctx, account)
  return catalog
    .listed()
    .filter(isServed)
    .map((model) => {
      const counts = byModel.get(model.id) ?? { answered: 0, failed: 0 }
      return {
        id: model.id,
        owned_by: model.ownedBy,
        context_tokens: model.contextTokens,
        max_output_tokens: model.maxOutputTokens,
        operations: [...model.operations],
        ...serializePrices(model, factorPpm),
        success: successRate(counts),
        requests: totalOf(counts),
        first_token_ms: latency.models.get(model.id)?.firstToken?.p50 ?? null,
      }
    })
}
