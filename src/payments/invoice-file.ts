/** The files of digital invoices by their bytes, whatever their names say: PDF, OFD (GB/T 33190, a ZIP archive) and XML. */
import { invalidField } from '../errors.ts'
import type { InvoiceFileType } from '../db/schema/schema.ts'

export const maxInvoiceFileBytes = 5 * 1024 * 1024

export interface InvoiceFile {
  readonly type: InvoiceFileType
  readonly content: Buffer
}

function typeOf(content: Buffer): InvoiceFileType | null {
  if (content.subarray(0, 5).toString('latin1') === '%PDF-') return 'pdf'
  const isArchive = content.subarray(0, 4).toString('latin1') === 'PK\x03\x04'
  // The entry that every OFD document begins with; names in archives are not compressed.
  if (isArchive && content.includes('OFD.xml')) return 'ofd'
  return /^\u{FEFF}?<\?xml\s/u.test(content.subarray(0, 100).toString()) ? 'xml' : null
}

/** Throws 400 naming the field. */
export function readInvoiceFile(base64: string, param = 'file'): InvoiceFile {
  const content = Buffer.from(base64, 'base64')
  if (content.toString('base64') !== base64) throw invalidField(param, 'must be the base64 of a file')
  if (content.length > maxInvoiceFileBytes) throw invalidField(param, 'must have at most 5 MiB')
  const type = typeOf(content)
  if (type === null) throw invalidField(param, 'must be a PDF, OFD or XML file')
  return { type, content }
}
