/** A monthly statement as PDF. */
import { dateOf } from '../../../ledger/periods.ts'
import type { Language } from '../../api/json-schemas.ts'
import type { AppContext } from '../../app-context.ts'
import { pdfTexts } from '../../pdf/locales.ts'
import {
  formatPdfAmount,
  formatPdfTime,
  pdfBrand,
  type PdfContent,
  type PdfTable,
} from '../../pdf/pdf-content.ts'
import { pdfResponse } from '../../pdf/render-pdf.ts'
import type { Statement } from './read-statement.ts'

const formatCount = (count: number): string => count.toLocaleString('en-US')

function summaryTable(statement: Statement, language: Language): PdfTable {
  const all = pdfTexts(language)
  const t = all.statement
  const money = (amount: string): string => formatPdfAmount(amount, statement.currency)
  const optional = [
    [t.payments, statement.payments],
    [t.bonuses, statement.bonuses],
    [t.otherCredits, statement.other_credits],
    [t.paybacks, statement.paybacks],
  ] as const
  return {
    title: t.summary,
    columns: [
      { header: all.item, share: 0.6 },
      { header: all.amount, share: 0.4, isNumeric: true },
    ],
    rows: [
      [t.opening, money(statement.opening)],
      ...optional.filter(([, amount]) => amount !== '0').map(([name, amount]) => [name, money(amount)]),
      [t.charges, money(statement.charges === '0' ? '0' : `-${statement.charges}`)],
      [statement.final ? t.closing : t.balanceSoFar, money(statement.closing)],
    ],
  }
}

function usageTable(
  title: string,
  header: string,
  rows: readonly (Statement['models'][number] | Statement['days'][number])[],
  { currency, language }: { readonly currency: string; readonly language: Language },
): PdfTable {
  const all = pdfTexts(language)
  const t = all.statement
  const numeric = (name: string, share: number) => ({ header: name, share, isNumeric: true })
  return {
    title,
    columns: [
      { header, share: 0.32 },
      numeric(t.requests, 0.12),
      numeric(t.input, 0.16),
      numeric(t.output, 0.16),
      numeric(all.amount, 0.24),
    ],
    rows: rows.map((row) => [
      'model' in row ? row.model : row.day,
      formatCount(row.requests),
      formatCount(row.prompt_tokens),
      formatCount(row.completion_tokens),
      formatPdfAmount(row.cost, currency),
    ]),
  }
}

function statementContent(statement: Statement, language: Language): Omit<PdfContent, 'brand'> {
  const all = pdfTexts(language)
  const t = all.statement
  const { account, currency, timezone, credit_lines: lines, models, days } = statement
  const dayOf = (ms: number): string => dateOf(timezone, ms)
  const period = `${dayOf(Date.parse(statement.from))} – ${dayOf(Date.parse(statement.to) - 1)}`
  const creditTable: PdfTable = {
    title: t.credits,
    columns: [
      { header: all.time, share: 0.24 },
      { header: all.item, share: 0.5 },
      { header: all.amount, share: 0.26, isNumeric: true },
    ],
    rows: lines.map(({ time, group, source, reason, amount }) => [
      formatPdfTime(time, timezone),
      [
        group === 'payback' ? t.paybacks : (all.sources[source ?? 'credit'] ?? source ?? ''),
        ...(reason === null ? [] : [all.reason(reason)]),
      ].join(' · '),
      formatPdfAmount(amount, currency),
    ]),
  }
  const shown = { currency, language }
  return {
    language,
    title: t.title(statement.month),
    lead: statement.final ? t.final : t.open,
    facts: [
      [all.account, account.name === '' ? account.email : `${account.name} (${account.email})`],
      [t.period, period],
      [all.timezone, timezone],
    ],
    tables: [
      summaryTable(statement, language),
      ...(lines.length === 0 ? [] : [creditTable]),
      ...(models.length === 0 ? [] : [usageTable(t.models, t.model, models, shown)]),
      ...(days.length === 0 ? [] : [usageTable(t.days, t.day, days, shown)]),
    ],
    pageNumber: all.pageNumber,
  }
}

export function statementPdf(
  statement: Statement,
  { branding }: Pick<AppContext, 'branding'>,
  language: Language,
): Promise<Response> {
  const content = { ...statementContent(statement, language), brand: pdfBrand(branding.current) }
  return pdfResponse(statement.account.id, content, `statement-${statement.month}`)
}
