/**
 * Draws a document on A4 pages with the one font that has both scripts. Only the characters that occur are embedded, so that
 * a file has some ten kilobytes.
 */
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import PDFDocument from 'pdfkit'
import type { PdfContent, PdfTable } from './pdf-content.ts'

type Page = InstanceType<typeof PDFDocument>

const font = fileURLToPath(new URL('./fonts/NotoSansSC-Regular.ttf', import.meta.url))
const margin = 48
const footerHeight = 24
const gap = 6
const colors = { text: '#1a1d21', faint: '#565d66', line: '#d5d9de' }
const sizes = { title: 18, section: 12, text: 9.5, small: 8.5 }
const factNameShare = 0.28

const widthOf = ({ page }: Page): number => page.width - 2 * margin
const bottomOf = ({ page }: Page): number => page.height - margin - footerHeight

function ensureRoom(doc: Page, height: number): boolean {
  if (doc.y + height <= bottomOf(doc)) return false
  doc.addPage()
  return true
}

function drawLine(doc: Page): void {
  const { y } = doc
  doc
    .moveTo(margin, y)
    .lineTo(margin + widthOf(doc), y)
    .lineWidth(0.5)
    .stroke(colors.line)
}

function drawHeader(doc: Page, { brand, title, lead }: PdfContent): void {
  const logoHeight = 36
  if (brand.logo !== null) {
    doc.image(Buffer.from(brand.logo), margin, margin, { fit: [160, logoHeight] })
    doc.y = margin + logoHeight + gap
  }
  doc.fillColor(colors.faint).fontSize(sizes.text)
  if (brand.name !== null) doc.text(brand.name, margin, doc.y)
  doc.moveDown(1).fillColor(colors.text).fontSize(sizes.title).text(title, margin, doc.y)
  doc.fontSize(sizes.text).fillColor(colors.faint)
  if (lead !== null) doc.text(lead, margin, doc.y + 2)
  doc.moveDown(1)
}

interface Cell {
  readonly text: string
  readonly share: number
  readonly isNumeric?: boolean
  readonly color: string
}

/** Cells side by side; the highest one decides where the next row begins. */
function drawRow(doc: Page, cells: readonly Cell[]): void {
  doc.fontSize(sizes.text)
  const { y } = doc
  let x = margin
  let bottom = y
  for (const { text, share, isNumeric = false, color } of cells) {
    const width = widthOf(doc) * share
    doc
      .fillColor(color)
      .text(text, x, y, { width: width - gap, align: isNumeric ? 'right' : 'left', lineGap: 1 })
    bottom = Math.max(bottom, doc.y)
    x += width
  }
  doc.x = margin
  doc.y = bottom + gap / 2
}

function rowHeight(doc: Page, cells: readonly Cell[]): number {
  doc.fontSize(sizes.text)
  const heights = cells.map(({ text, share }) =>
    doc.heightOfString(text, { width: widthOf(doc) * share - gap, lineGap: 1 }),
  )
  return Math.max(0, ...heights) + gap
}

function drawFacts(doc: Page, { facts }: PdfContent): void {
  for (const [name, value] of facts) {
    const cells = [
      { text: name, share: factNameShare, color: colors.faint },
      { text: value, share: 1 - factNameShare, color: colors.text },
    ]
    ensureRoom(doc, rowHeight(doc, cells))
    drawRow(doc, cells)
  }
}

function drawTable(doc: Page, { title, columns, rows }: PdfTable): void {
  const cellsOf = (texts: readonly string[], color: string): Cell[] =>
    columns.map((column, index) => ({ ...column, text: texts[index] ?? '', color }))
  const head = cellsOf(
    columns.map(({ header }) => header),
    colors.faint,
  )
  const drawHead = (): void => {
    drawRow(doc, head)
    drawLine(doc)
    doc.y += gap / 2
  }
  doc.moveDown(1)
  // The title never stands alone at the end of a page.
  ensureRoom(doc, 80)
  doc.fillColor(colors.text).fontSize(sizes.section).text(title, margin, doc.y)
  doc.y += gap / 2
  drawHead()
  for (const row of rows) {
    const cells = cellsOf(row, colors.text)
    if (ensureRoom(doc, rowHeight(doc, cells))) drawHead()
    drawRow(doc, cells)
  }
}

function drawFooters(doc: Page, { brand, pageNumber }: PdfContent): void {
  const { start, count } = doc.bufferedPageRange()
  for (let index = start; index < start + count; index += 1) {
    doc.switchToPage(index)
    // Text in the margin would otherwise begin a new page.
    doc.page.margins.bottom = 0
    const y = doc.page.height - margin
    const width = widthOf(doc)
    const number = pageNumber.replace('{page}', String(index + 1)).replace('{pages}', String(count))
    doc.fillColor(colors.faint).fontSize(sizes.small)
    if (brand.support !== null) doc.text(brand.support, margin, y, { width: width * 0.75, lineBreak: false })
    doc.text(number, margin, y, { width, align: 'right', lineBreak: false })
  }
}

export async function drawPdf(content: PdfContent): Promise<Uint8Array<ArrayBuffer>> {
  const { title, brand, language } = content
  const info = { Title: title, Author: brand.name ?? '', Creator: '', Producer: '' }
  const doc = new PDFDocument({ size: 'A4', margin, bufferPages: true, lang: language, font, info })
  const bytes = buffer(doc)
  drawHeader(doc, content)
  drawFacts(doc, content)
  for (const table of content.tables) drawTable(doc, table)
  drawFooters(doc, content)
  doc.end()
  return new Uint8Array(await bytes)
}
