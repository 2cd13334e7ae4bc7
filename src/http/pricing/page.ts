/** The price list as a page: a table for each operation, and the same prices for search engines as JSON-LD. */
import { html as markup, raw } from 'hono/html'
import type { Branding } from '../../branding/branding.ts'
import type { PricedModel } from '../../catalog/catalog.ts'
import { modelOperations, operationsWithoutOutput, type ModelOperation } from '../../catalog/operations.ts'
import { formatAmount, formatFactor } from '../../lib/money.ts'
import type { Language } from '../../notifications/locales/notification-texts.ts'
import { parseClassedName } from '../../providers/image-classes.ts'
import type { TokenRates } from '../../providers/price-units.ts'
import { modalityNames } from '../../providers/usage.ts'
import { renderPublicPage, type Markup } from '../public-pages/frame.ts'
import { pricingMessages, type PricingMessages } from './locales.ts'

/** Inline, in the frame of all public pages. On a phone, each row is a block with its labels. */
export const pricingStyle = `
body{max-width:64rem}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.5rem .75rem .5rem 0;border-top:1px solid var(--line);text-align:end;vertical-align:top;font-weight:400}
thead th{border-top:0;color:var(--faint);font-size:.85rem}
th:first-child,tr>:last-child{text-align:start}td:nth-child(2){white-space:nowrap}tbody th{font-weight:600;overflow-wrap:anywhere}
td.others{font-size:.85rem;min-width:16rem}.group{margin-top:.25rem;color:var(--faint)}
@media(max-width:40rem){table,tbody,tr,th,td{display:block}td.others{min-width:0}thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
tr{padding:.5rem 0;border-top:1px solid var(--line)}th,td{border:0;padding:.1rem 0;text-align:start}
td:not(:empty){display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}td:empty{display:none}td::before{content:attr(data-label);color:var(--faint)}td.others::before{width:100%}td.others ul{width:100%}}
td.others li{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}
`

/** The texts of a language, with the platform's currency. */
type Texts = PricingMessages & { readonly currency: string }

interface PriceLine {
  readonly label: string
  /** null: a heading of the lines below. */
  readonly value: string | null
}

const optionalRates = ['cacheWrite', 'cacheWrite1h', 'reasoning'] as const

/** At least two decimals: `2.00`, `0.0015`. */
function amountText(nanos: bigint): string {
  const [whole = '', decimals = ''] = formatAmount(nanos).split('.')
  return `${whole}.${decimals.padEnd(2, '0')}`
}

function countText(count: number): string {
  return count.toLocaleString('en-US')
}

/** What a price has beside those of input, output and cached input. */
function ratesBeside(rates: TokenRates, messages: Texts): PriceLine[] {
  const named = [
    ...optionalRates.map((name) => [name, rates[name]] as const),
    ...modalityNames.map((name) => [name, rates.modality?.[name]] as const),
  ]
  return named.flatMap(([name, nanos]) =>
    nanos === null || nanos === undefined ? [] : [{ label: messages.rates[name], value: amountText(nanos) }],
  )
}

function mainRates({ input, output, cachedInput }: TokenRates, hasOutput: boolean) {
  return [
    { name: 'input', nanos: input },
    ...(hasOutput ? [{ name: 'output', nanos: output } as const] : []),
    { name: 'cachedInput', nanos: cachedInput ?? input },
  ] as const
}

function otherPrices({ price }: PricedModel, messages: Texts, hasOutput: boolean): PriceLine[] {
  const { perRequest, perSearch, perToolCall = {}, above = [], serviceTiers = {} } = price
  const fees = [
    { label: messages.perRequest, nanos: perRequest },
    { label: messages.perSearch, nanos: perSearch ?? 0n },
    ...Object.entries(perToolCall).map(([name, nanos]) => {
      const { tool, quality, size } = parseClassedName(name)
      return { label: messages.perCall([tool, quality, size].filter(Boolean).join(' ')), nanos }
    }),
  ]
  return [
    ...ratesBeside(price, messages),
    ...fees
      .filter(({ nanos }) => nanos > 0n)
      .map(({ label, nanos }) => ({ label, value: `${amountText(nanos)} ${messages.currency}` })),
    ...Object.entries(serviceTiers).map(([tier, ppm]) => ({
      label: messages.tier(tier),
      value: `× ${formatFactor(ppm)}`,
    })),
    // Last, because the lines below a threshold are its own.
    ...above.flatMap((rates) => [
      { label: messages.above(countText(rates.above)), value: null },
      ...mainRates(rates, hasOutput).map(({ name, nanos }) => ({
        label: messages.rates[name],
        value: amountText(nanos),
      })),
      ...ratesBeside(rates, messages),
    ]),
  ]
}

function renderRow(model: PricedModel, messages: Texts, hasOutput: boolean): Markup {
  const { price, contextTokens } = model
  const rates = mainRates(price, hasOutput).map(
    ({ name, nanos }) =>
      markup`<td role="cell" data-label="${messages.rates[name]}">${price.free ? messages.free : amountText(nanos)}</td>`,
  )
  const lines = otherPrices(model, messages, hasOutput).map(({ label, value }) =>
    value === null
      ? markup`<li class="group">${label}</li>`
      : markup`<li><span>${label}</span> <span>${value}</span></li>`,
  )
  const others = lines.length === 0 ? '' : markup`<ul>${lines}</ul>`
  return markup`<tr role="row"><th scope="row" role="rowheader">${model.id}</th><td role="cell" data-label="${messages.context}">${messages.tokens(countText(contextTokens))}</td>${rates}<td role="cell" class="others" data-label="${messages.others}">${others}</td></tr>`
}

/** The roles keep it a table where the style shows rows as blocks. */
function renderTable(operation: ModelOperation, models: readonly PricedModel[], messages: Texts): Markup {
  const hasOutput = !operationsWithoutOutput.has(operation)
  const heading = messages.operations[operation] ?? operation
  const names = ['input', ...(hasOutput ? (['output'] as const) : []), 'cachedInput'] as const
  const headers = [
    messages.model,
    messages.context,
    ...names.map((name) => messages.rates[name]),
    messages.others,
  ]
  const cells = headers.map((header) => markup`<th scope="col" role="columnheader">${header}</th>`)
  const rows = models.map((model) => renderRow(model, messages, hasOutput))
  return markup`<section aria-labelledby="${operation}"><h2 id="${operation}">${heading}</h2>
<table role="table" aria-labelledby="${operation}"><thead role="rowgroup"><tr role="row">${cells}</tr></thead><tbody role="rowgroup">${rows}</tbody></table></section>`
}

/** Vocabulary of schema.org. In a block of data, which browsers do not run. */
function structuredData({ models, branding: { name } }: PricingPage, messages: Texts, url: string): Markup {
  const seller = name === null ? {} : { seller: { '@type': 'Organization', name } }
  const offers = models.map(({ id, price, operations }) => ({
    '@type': 'Offer',
    ...seller,
    itemOffered: {
      '@type': 'Service',
      name: id,
      serviceType: operations.map((operation) => messages.operations[operation] ?? operation).join(', '),
    },
    priceSpecification: mainRates(price, true).map(({ name, nanos }) => ({
      '@type': 'UnitPriceSpecification',
      name: messages.rates[name],
      price: formatAmount(nanos),
      priceCurrency: messages.currency,
      referenceQuantity: { '@type': 'QuantitativeValue', value: 1_000_000, unitText: 'tokens' },
    })),
  }))
  const catalog = { '@type': 'OfferCatalog', name: messages.title, url, itemListElement: offers }
  // A name that contains `</script>` must not end the block.
  const json = JSON.stringify({ '@context': 'https://schema.org', ...catalog }).replaceAll('<', '\\u003c')
  return markup`<script type="application/ld+json">${raw(json)}</script>`
}

export interface PricingPage {
  readonly models: readonly PricedModel[]
  readonly language: Language
  readonly branding: Branding
  /** The platform's. */
  readonly currency: string
  /** The public URL of the relay, without a trailing slash. */
  readonly origin: string
}

export function renderPricingPage(page: PricingPage): string {
  const { models, language, branding, currency, origin } = page
  const messages = { ...pricingMessages[language], currency }
  const address = `${origin}/pricing`
  // Search engines ask for no language and get English.
  const canonical = language === 'en' ? address : `${address}?lang=${language}`
  const tables = modelOperations.flatMap((operation) => {
    const able = models.filter(({ operations }) => operations.includes(operation))
    return able.length === 0 ? [] : [renderTable(operation, able, messages)]
  })
  return renderPublicPage({
    path: '/pricing',
    language,
    branding,
    title: messages.title,
    heading: messages.title,
    style: pricingStyle,
    head: markup`<meta name="description" content="${messages.description(models.length, currency)}">
<link rel="canonical" href="${canonical}">
<link rel="alternate" hreflang="en" href="${address}?lang=en"><link rel="alternate" hreflang="zh-CN" href="${address}?lang=zh-CN"><link rel="alternate" hreflang=x-default href="${address}">
${structuredData(page, messages, canonical)}`,
    navigation: markup`<a href="/pricing.json">JSON</a>`,
    main:
      tables.length === 0
        ? markup`<p>${messages.none}</p>`
        : markup`<p>${messages.unit(currency)}</p>${tables}`,
  })
}
