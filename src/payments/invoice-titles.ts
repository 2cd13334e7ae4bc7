/** Invoice titles: whom the invoices of an account name. They are added and deleted; an invoice keeps a copy of its own. */
import { auditStatement } from '../db/audit.ts'
import { requireAtMost, writeIfFound, type Db } from '../db/db.ts'
import { fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import { sql, type InvoiceTitlesTable } from '../db/schema/schema.ts'
import { isExpectationFailure } from '../db/store-error.ts'
import { apiError, invalidField } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { cleanTaxNumber } from './tax-number.ts'

export type InvoiceTitle = RowFields<InvoiceTitlesTable>
export type InvoiceTitleInput = Omit<InvoiceTitle, 'id' | 'accountId' | 'createdAt'>

/** What an account has at most. */
const maxTitles = 50

const titlesOf = (account: string) =>
  sql.selectFrom('invoice_titles').selectAll().where('account_id', '=', account)

/** Newest first. */
export async function listInvoiceTitles(db: Db, account: string): Promise<InvoiceTitle[]> {
  return (await db.all(titlesOf(account).orderBy('id', 'desc'))).map(fieldsOf)
}

export async function invoiceTitleById(
  db: Db,
  account: string,
  id: string,
): Promise<InvoiceTitle | undefined> {
  const row = await db.first(titlesOf(account).where('id', '=', id))
  return row && fieldsOf(row)
}

/** Throws 400 naming the field, 409 if the account has too many. */
export async function addInvoiceTitle(
  db: Db,
  account: string,
  input: InvoiceTitleInput,
  by: string,
): Promise<InvoiceTitle> {
  const { kind, taxNumber } = input
  if (kind === 'enterprise' && taxNumber === null)
    throw invalidField('tax_number', 'is required for an enterprise')
  const title: InvoiceTitle = {
    ...input,
    id: newId('ttl'),
    accountId: account,
    taxNumber: taxNumber === null ? null : cleanTaxNumber(taxNumber),
    createdAt: Date.now(),
  }
  const count = sql
    .selectFrom('invoice_titles')
    .select((build) => build.fn.countAll().as('count'))
    .where('account_id', '=', account)
  try {
    await db.write(
      sql.insertInto('invoice_titles').values(rowOf<InvoiceTitlesTable>(title)),
      requireAtMost(count, maxTitles),
      auditStatement(by, 'invoice.title_add', title.id, { account, title: title.title }),
    )
  } catch (error) {
    if (!isExpectationFailure(error)) throw error
    throw apiError('conflict', { message: `An account has at most ${maxTitles} invoice titles.` })
  }
  return title
}

/** Whether there was one. */
export function deleteInvoiceTitle(db: Db, account: string, id: string, by: string): Promise<boolean> {
  const remove = sql.deleteFrom('invoice_titles').where('account_id', '=', account).where('id', '=', id)
  return writeIfFound(db, remove, auditStatement(by, 'invoice.title_delete', id, { account }))
}
