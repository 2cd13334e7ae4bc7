/** The paths of the public pages, apart from their handlers, which are loaded on first use. */
import type { Config } from '../../config.ts'

const statusPaths = ['/status', '/status.json', '/status.rss'] as const
export type StatusPath = (typeof statusPaths)[number]
const pricingPaths = ['/pricing', '/pricing.json'] as const
export type PricingPath = (typeof pricingPaths)[number]
const legalPaths = ['/terms', '/privacy'] as const
export type LegalPath = (typeof legalPaths)[number]
const assetPaths = ['/branding/logo', '/branding/colors.css'] as const
export type AssetPath = (typeof assetPaths)[number]

export type PublicPath = StatusPath | PricingPath | LegalPath | AssetPath

function isOneOf<Path extends string>(paths: readonly Path[], path: string): path is Path {
  return paths.some((each) => each === path)
}

/** The path of a URL with or without a query, if it is one of a public page that is on. */
export function publicPathOf(
  url: string,
  { statusPage, publicPrices }: Pick<Config, 'statusPage' | 'publicPrices'>,
): PublicPath | undefined {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  if (isOneOf(statusPaths, path)) return statusPage ? path : undefined
  if (isOneOf(pricingPaths, path)) return publicPrices ? path : undefined
  return isOneOf(legalPaths, path) || isOneOf(assetPaths, path) ? path : undefined
}
