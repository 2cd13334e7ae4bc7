/** The branding as everybody may see it: in the session of the console and on public pages. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { renderAccentStyle } from '../../branding/accent-colors.ts'
import { isHttpsUrl, type Branding } from '../../branding/branding.ts'

const link = z.object({ label: z.string(), url: z.string() })

export const publicBrandingSchema = z.object({
  name: z.string().nullable(),
  logo: z.object({ url: z.string(), width: z.int(), height: z.int() }).nullable(),
  links: z.array(link),
  /** A URL, of another site or of our own page; likewise the next. */
  terms: z.string().nullable(),
  privacy: z.string().nullable(),
  /** `url` opens what `contact` names. */
  support: z.object({ contact: z.string(), url: z.string(), text: z.string().nullable() }).nullable(),
})
export type PublicBranding = z.infer<typeof publicBrandingSchema>

function legalUrl(text: string | null, page: '/terms' | '/privacy'): string | null {
  return text === null || isHttpsUrl(text) ? text : page
}

/** A mailbox may contain characters that have a meaning in URLs. */
function contactUrl(contact: string): string {
  return isHttpsUrl(contact) ? contact : `mailto:${encodeURIComponent(contact).replace('%40', '@')}`
}

export function publicBranding({ name, logo, links, terms, privacy, support }: Branding): PublicBranding {
  return {
    name,
    logo: logo && { url: `/branding/logo?v=${logo.hash}`, width: logo.width, height: logo.height },
    links: [...links],
    terms: legalUrl(terms, '/terms'),
    privacy: legalUrl(privacy, '/privacy'),
    support: support && { ...support, url: contactUrl(support.contact) },
  }
}

/** null: there are no colours of the operator. */
export function accentStyleUrl({ colors }: Branding): string | null {
  if (colors === null) return null
  const hash = createHash('sha256').update(renderAccentStyle(colors)).digest('base64url').slice(0, 22)
  return `/branding/colors.css?v=${hash}`
}
