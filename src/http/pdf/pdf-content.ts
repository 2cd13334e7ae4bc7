/** What a PDF shows, as plain values: they are sent to the thread that renders it (pdf-thread.ts). */
import type { Branding } from '../../branding/branding.ts'
import { minorDigitsOf } from '../../lib/currency.ts'
import type { Language } from '../api/json-schemas.ts'

export interface PdfColumn {
  readonly header: string
  /** Of the width of the page; all of a table make 1. */
  readonly share: number
  readonly isNumeric?: boolean
}

export interface PdfTable {
  readonly title: string
  readonly columns: readonly PdfColumn[]
  readonly rows: readonly (readonly string[])[]
}

/** How the operator presents the service. */
interface PdfBrand {
  readonly name: string | null
  /** PNG or JPEG. */
  readonly logo: Uint8Array | null
  readonly support: string | null
}

export interface PdfContent {
  readonly language: Language
  readonly brand: PdfBrand
  readonly title: string
  readonly lead: string | null
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly tables: readonly PdfTable[]
  /** `Page 1 of 2`: `{page}` and `{pages}` are replaced. */
  readonly pageNumber: string
}

/** PDF has no WebP images: such a logo is left out. */
export function pdfBrand({ name, logo, support }: Branding): PdfBrand {
  const isShown = logo !== null && logo.mediaType !== 'image/webp'
  return {
    name,
    logo: isShown ? new Uint8Array(Buffer.from(logo.data, 'base64')) : null,
    support: support === null ? null : [support.contact, support.text ?? ''].join(' ').trim(),
  }
}

/** `1,234.50 CNY`: all digits, with at least those of the minor unit. */
export function formatPdfAmount(amount: string, currency: string): string {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.')
  const digits = fraction.padEnd(minorDigitsOf(currency), '0')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return `${amount.startsWith('-') ? '−' : ''}${grouped}${digits === '' ? '' : `.${digits}`} ${currency}`
}

/** `2026-11-28 18:30:00` in a time zone. */
export function formatPdfTime(time: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone })
  return format.format(Date.parse(time))
}
