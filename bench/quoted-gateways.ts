/** Gateways that were measured elsewhere (bench/quoted-gateways.json), which the chart of the READMEs shows, too. */
import { readFileSync } from 'node:fs'
import { table } from './markdown.ts'

export interface QuotedGateways {
  /** `2026-11`. */
  readonly date: string
  readonly relays: readonly {
    readonly title: string
    /** Processor time per request with a body of that size, and per streamed chunk, in microseconds. */
    readonly micros: { readonly '1kb': number; readonly '40kb'?: number; readonly chunk?: number }
    readonly peakMb?: number
    /** What else was measured. */
    readonly notes?: string
    readonly does: { readonly en: string; readonly 'zh-CN': string }
  }[]
}

export function readQuotedGateways(): QuotedGateways {
  return JSON.parse(
    readFileSync(new URL('./quoted-gateways.json', import.meta.url), 'utf8'),
  ) as QuotedGateways
}

export function quotedGatewaysTable(): string[] {
  const { date, relays } = readQuotedGateways()
  const cell = (value: number | undefined): string => value?.toLocaleString('en-US') ?? '–'
  const rows = relays.map(({ title, does, micros, peakMb }) => [
    `${title} (${does.en})`,
    cell(micros['1kb']),
    cell(micros['40kb']),
    cell(micros.chunk),
    cell(peakMb),
  ])
  return [
    '## Other gateways, on another machine',
    '',
    `Measured in one run on another, faster machine (${date}), in front of the same upstream, with every response checked. Compare them with the baseline relay of that run, not with the figures above.`,
    '',
    ...table(['', '1 KB µs', '40 KB µs', 'µs per chunk', 'peak memory MB'], rows),
    '',
  ]
}
