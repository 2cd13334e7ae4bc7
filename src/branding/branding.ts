/** How the operator presents the service: the name, logo, colours, links, legal texts and support contact. */
import { createHash } from 'node:crypto'
import { invalidField } from '../errors.ts'
import { auditChanges } from '../db/audit-changes.ts'
import { auditStatement } from '../db/audit.ts'
import type { Changed } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql, type BrandingTable } from '../db/schema/schema.ts'
import { readImageHeader, type ImageHeader } from '../lib/image-header.ts'
import { cleanColors, type AccentColors } from './accent-colors.ts'

export interface Logo extends ImageHeader {
  /** The beginning of its SHA-256 as base64url. */
  readonly hash: string
  /** Base64. */
  readonly data: string
}

export interface BrandingLink {
  readonly label: string
  readonly url: string
}

export interface SupportContact {
  /** An e-mail address or an https URL. */
  readonly contact: string
  readonly text: string | null
}

export interface Branding {
  readonly name: string | null
  readonly logo: Logo | null
  readonly colors: AccentColors | null
  readonly links: readonly BrandingLink[]
  /** An https URL, otherwise the text itself; likewise the next. */
  readonly terms: string | null
  readonly privacy: string | null
  readonly support: SupportContact | null
}

/** As received: the logo is base64. An omitted field is unchanged, null removes it. */
export interface BrandingPatch {
  readonly name?: string | null | undefined
  readonly logo?: string | null | undefined
  readonly colors?: AccentColors | null | undefined
  readonly links?: readonly BrandingLink[] | null | undefined
  readonly terms?: string | null | undefined
  readonly privacy?: string | null | undefined
  readonly support?: SupportContact | null | undefined
}

const rowId = 'branding'
const maxNameLength = 60
const maxLabelLength = 60
const maxUrlLength = 2000
const maxLinks = 10
const maxSupportLength = 300
const maxTextBytes = 64 * 1024
const maxLogoBytes = 256 * 1024
const maxLogoPixels = 1024

export const noBranding: Branding = {
  name: null,
  logo: null,
  colors: null,
  links: [],
  terms: null,
  privacy: null,
  support: null,
}

/** What authenticator apps and password managers show. */
export const serviceName = ({ name }: Branding): string => name ?? 'Sluice'

/** One line. Characters that change the direction of other text or are invisible could imitate other names. */
function cleanLine(text: string, param: string, maxLength: number): string {
  const line = text.trim().normalize('NFC')
  if (line === '') throw invalidField(param, 'must not be empty')
  if (line.length > maxLength) throw invalidField(param, `must have at most ${maxLength} characters`)
  if (/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u.test(line))
    throw invalidField(param, 'must not contain control characters')
  return line
}

/** Whether a text is an address, and not the text of a page. */
export function isHttpsUrl(text: string): boolean {
  return /^https:\/\/\S+$/.test(text)
}

/** Throws 400 unless it is an https URL. In the form of the URL standard, which has no quotes and no spaces. */
export function cleanHttpsUrl(text: string, param: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '')
    throw invalidField(param, 'must be an https URL')
  if (url.href.length > maxUrlLength)
    throw invalidField(param, `must have at most ${maxUrlLength} characters`)
  return url.href
}

function cleanLinks(links: readonly BrandingLink[]): BrandingLink[] {
  if (links.length > maxLinks) throw invalidField('links', `must have at most ${maxLinks} entries`)
  return links.map(({ label, url }, at) => ({
    label: cleanLine(label, `links[${at}].label`, maxLabelLength),
    url: cleanHttpsUrl(url, `links[${at}].url`),
  }))
}

/** A single word with a scheme is meant as a link, and must be one that browsers open safely. */
function cleanLegalText(text: string, param: string): string {
  const trimmed = text.trim()
  if (trimmed === '') throw invalidField(param, 'must not be empty')
  if (/^[a-z][a-z0-9+.-]*:\S*$/i.test(trimmed)) return cleanHttpsUrl(trimmed, param)
  if (Buffer.byteLength(trimmed) > maxTextBytes) throw invalidField(param, `must have at most 64 KiB`)
  return trimmed.replaceAll(/\r\n?/g, '\n')
}

function cleanLogo(base64: string): Logo {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') !== base64) throw invalidField('logo', 'must be the base64 of a file')
  if (bytes.length > maxLogoBytes) throw invalidField('logo', `must have at most 256 KiB`)
  const image = readImageHeader(bytes)
  if (image === null) throw invalidField('logo', 'must be a complete PNG, JPEG or WebP image')
  const { width, height } = image
  if (Math.min(width, height) < 1 || Math.max(width, height) > maxLogoPixels) {
    const reason = `must have at most ${maxLogoPixels} pixels on each side, and has ${width} × ${height}`
    throw invalidField('logo', reason)
  }
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return { ...image, hash, data: base64 }
}

function cleanSupport({ contact, text }: SupportContact): SupportContact {
  const isBlank = text === null || text.trim() === ''
  return { contact, text: isBlank ? null : cleanLine(text, 'support.text', maxSupportLength) }
}

function brandingOf(row: BrandingTable): Branding {
  const parse = <Value>(json: string | null): Value | null =>
    json === null ? null : (JSON.parse(json) as Value)
  const { name, terms, privacy } = row
  return {
    name,
    terms,
    privacy,
    logo: parse<Logo>(row.logo),
    colors: parse<AccentColors>(row.colors),
    links: parse<BrandingLink[]>(row.links) ?? [],
    support: parse<SupportContact>(row.support),
  }
}

/** Throws 400 naming the field. `support.contact` must be valid. */
function toColumns(patch: BrandingPatch): Partial<BrandingTable> {
  const { name, logo, colors, links, terms, privacy, support } = patch
  const json = <Value>(value: Value | null, clean: (value: Value) => object): string | null =>
    value === null ? null : JSON.stringify(clean(value))
  return {
    ...(name !== undefined && { name: name === null ? null : cleanLine(name, 'name', maxNameLength) }),
    ...(logo !== undefined && { logo: json(logo, cleanLogo) }),
    ...(colors !== undefined && { colors: json(colors, cleanColors) }),
    ...(links !== undefined && { links: json(links, cleanLinks) }),
    ...(terms !== undefined && { terms: terms === null ? null : cleanLegalText(terms, 'terms') }),
    ...(privacy !== undefined && { privacy: privacy === null ? null : cleanLegalText(privacy, 'privacy') }),
    ...(support !== undefined && { support: json(support, cleanSupport) }),
  }
}

/** Without the content of the logo and the legal texts, which the audit log keeps as digests. */
function auditView({ logo, terms, privacy, ...rest }: Branding): object {
  const digest = (text: string | null): string | null =>
    text === null || isHttpsUrl(text) ? text : `SHA-256 ${createHash('sha256').update(text).digest('hex')}`
  return { ...rest, logo: logo?.hash ?? null, terms: digest(terms), privacy: digest(privacy) }
}

export async function loadBrandingRow(db: Db): Promise<BrandingTable | null> {
  return (await db.first(sql.selectFrom('branding').selectAll().where('id', '=', rowId))) ?? null
}

/** Throws 400 naming the field. A patch that changes nothing writes nothing. */
export async function updateBranding(db: Db, patch: BrandingPatch, by: string): Promise<Changed<Branding>> {
  const set = toColumns(patch)
  const empty: BrandingTable = {
    id: rowId,
    name: null,
    logo: null,
    colors: null,
    links: null,
    terms: null,
    privacy: null,
    support: null,
  }
  const before = (await loadBrandingRow(db)) ?? empty
  const value = brandingOf({ ...before, ...set })
  const changes = auditChanges(auditView(brandingOf(before)), auditView(value))
  if (changes === null) return { value, changes: [] }
  const insert = sql.insertInto('branding').values({ ...empty, ...set })
  await db.write(
    insert.onConflict((conflict) => conflict.column('id').doUpdateSet(set)),
    auditStatement(by, 'branding.update', rowId, changes),
  )
  return { value, changes: [{ kind: 'branding', id: rowId }] }
}

/** The copy of a thread, which engine/config-cache.ts keeps current. */
export class CurrentBranding {
  #branding = noBranding
  #version = ''

  constructor(row: BrandingTable | null) {
    this.apply(row)
  }

  get current(): Branding {
    return this.#branding
  }

  /** Differs whenever the branding does. */
  get version(): string {
    return this.#version
  }

  /** null: nothing is set. */
  apply(row: BrandingTable | null): void {
    this.#branding = row === null ? noBranding : brandingOf(row)
    const { logo, ...rest } = this.#branding
    const text = JSON.stringify({ ...rest, logo: logo?.hash })
    this.#version = createHash('sha256').update(text).digest('base64url').slice(0, 22)
  }
}
