/** `/branding`: how the operator presents the service in the console, on public pages and in e-mails. */
import { isDeepStrictEqual } from 'node:util'
import { z } from '@hono/zod-openapi'
import { cleanEmail } from '../../../accounts/fields.ts'
import {
  cleanHttpsUrl,
  updateBranding,
  type Branding,
  type SupportContact,
} from '../../../branding/branding.ts'
import { invalidField } from '../../../errors.ts'
import { publicBranding } from '../../api/branding.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'

const color = z.string().max(20).meta({ example: '#0b6a84' })
const colors = z.strictObject({ light: color, dark: color }).meta({
  description:
    'The accent colour of the light and of the dark theme, each with a contrast of at least 4.5 on its backgrounds.',
})
const links = z.array(z.strictObject({ label: z.string(), url: z.string() }))
const legalText = z.string().meta({
  description: 'An https URL, or plain text of at most 64 KiB, which is then a public page.',
})
const support = z.strictObject({ contact: z.string(), text: z.string().nullable() })

const shownLogo = z.object({
  url: z.string().meta({ description: 'Changes with the content.' }),
  media_type: z.string(),
  width: z.int(),
  height: z.int(),
  bytes: z.int(),
})

export const brandingSchema = z.object({
  name: z.string().nullable(),
  logo: shownLogo.nullable(),
  colors: colors.nullable(),
  links,
  terms: legalText.nullable(),
  privacy: legalText.nullable(),
  support: support.nullable(),
})

const brandingInput = z
  .strictObject({
    name: z.string().nullable().meta({ description: 'At most 60 characters.' }),
    logo: z.union([z.string(), shownLogo]).nullable().meta({
      description:
        'PNG, JPEG or WebP of at most 256 KiB and 1,024 pixels on each side, as base64; or the present one as it is returned.',
    }),
    colors: colors.nullable(),
    links: links.nullable().meta({ description: 'At most 10, each to an https URL.' }),
    terms: legalText.nullable(),
    privacy: legalText.nullable(),
    support: support
      .extend({ text: z.string().nullish() })
      .nullable()
      .meta({ description: '`contact`: an e-mail address or an https URL; `text`: a short hint.' }),
  })
  .partial()

function serializeBranding(branding: Branding): z.infer<typeof brandingSchema> {
  const { logo, ...fields } = branding
  const shown = publicBranding(branding).logo
  return {
    ...fields,
    links: [...fields.links],
    logo: logo &&
      shown && { ...shown, media_type: logo.mediaType, bytes: Buffer.from(logo.data, 'base64').length },
  }
}

const brandingView = view('branding', brandingSchema, serializeBranding)

type LogoInput = z.infer<typeof brandingInput>['logo']

/** undefined: the logo stays. */
function cleanLogo(input: LogoInput, current: Branding): string | null | undefined {
  if (typeof input !== 'object' || input === null) return input
  if (isDeepStrictEqual(input, serializeBranding(current).logo)) return undefined
  throw invalidField('logo', 'must be base64, or the present logo as it is returned')
}

type SupportInput = z.infer<typeof brandingInput>['support']

function cleanContact(input: SupportInput): SupportContact | null | undefined {
  if (!input) return input
  const { contact, text = null } = input
  const param = 'support.contact'
  const isAddress = contact.includes('@') && !contact.includes('/')
  return { text, contact: isAddress ? cleanEmail(contact, param).email : cleanHttpsUrl(contact, param) }
}

export const brandingEndpoints = [
  admin.get('/branding', {
    summary: 'Get the branding',
    response: brandingView,
    handle: ({ ctx }) => ctx.branding.current,
  }),
  admin.put('/branding', {
    summary: 'Change the branding',
    description:
      'A field that is omitted stays as it is; null removes it. Public pages show it within seconds.',
    body: brandingInput,
    response: brandingView,
    handle: ({ ctx, by, body, publish }) =>
      publish(
        updateBranding(
          ctx.db,
          {
            ...body,
            logo: cleanLogo(body.logo, ctx.branding.current),
            support: cleanContact(body.support),
          },
          by,
        ),
      ),
  }),
]
