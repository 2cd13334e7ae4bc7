/** `sluice account …`: who holds money. */

import type { Command } from 'commander'
import { randomUUID } from 'node:crypto'
import { listAll, pathOf, withControl, type Control } from '../admin-client.ts'
import { cap, decimal, finished, given, limitsOf, withLimits, type LimitOptions } from '../options.ts'
import {
  CommandError,
  fieldAt,
  fieldsOf,
  printResult,
  sheetOf,
  tableOf,
  UnclearError,
  UsageError,
  type Fields,
  type Format,
} from '../output.ts'

/** An account's id, as it is or found by its e-mail address. */
export async function accountIdOf(control: Control, idOrEmail: string): Promise<string> {
  if (!idOrEmail.includes('@')) return idOrEmail
  const [account] = await listAll(control, '/accounts', { email: idOrEmail })
  if (account === undefined)
    throw new CommandError(`There is no account with the e-mail address ${idOrEmail}.`)
  return String(account['id'])
}

const shownFields = [
  'id',
  'email',
  'name',
  'tier',
  'status',
  'balance',
  'held',
  'available',
  'spent_today',
  'spent_month',
  'caps.daily',
  'caps.monthly',
  'timezone',
] as const

function accountSheet(account: Fields): string {
  return sheetOf(shownFields.map((path) => [path.replaceAll(/[._]/g, ' '), fieldAt(account, path)]))
}

interface CreateOptions extends Format {
  readonly name?: string
  readonly tier?: string
  readonly timezone?: string
  readonly trial?: boolean
}

async function create(email: string, { json, ...rest }: CreateOptions): Promise<void> {
  const account = await withControl({ command: 'account create', create: true }, (control) =>
    control.call('POST', '/accounts', { email, ...rest }),
  )
  const id = String(fieldsOf(account)['id'])
  printResult(account, { json }, () => `Account ${id} for ${email} is made.${trialWords(fieldsOf(account))}`)
}

/** What came of `--trial`. */
function trialWords(account: Fields): string {
  const granted = fieldAt(account, 'trial_credit.granted')
  if (granted === true)
    return ` ${String(fieldAt(account, 'trial_credit.amount'))} are credited for trying out.`
  if (granted !== false) return ''
  return fieldAt(account, 'trial_credit.reason') === 'granted_before'
    ? ' Its mailbox has had a credit for trying out before.'
    : ' It has no credit: no promotion runs.'
}

async function list({ json, ...query }: Format & { readonly status?: string }): Promise<void> {
  const data = await withControl({ command: 'account list' }, (control) =>
    listAll(control, '/accounts', query),
  )
  printResult({ data, next: null }, { json }, () =>
    tableOf(
      ['ID', 'E-MAIL', 'TIER', 'STATUS', 'BALANCE'],
      data.map((each) => [each['id'], each['email'], each['tier'], each['status'], each['balance']]),
    ),
  )
}

async function show(idOrEmail: string, format: Format): Promise<void> {
  const account = await withControl({ command: 'account show' }, async (control) =>
    fieldsOf(
      await control.call('GET', `/accounts/${encodeURIComponent(await accountIdOf(control, idOrEmail))}`),
    ),
  )
  printResult(account, format, () => accountSheet(account))
}

interface CreditOptions extends Format {
  readonly reason: string
  readonly kind: string
  readonly idempotencyKey?: string
}

/** With a key of one's own making nobody could ask again for what may have been done, without doing it twice. */
async function askedOnce(key: string, ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof UnclearError)) throw error
    throw new CommandError(
      `${error.message} It may have been credited all the same: repeat the command with --idempotency-key ${key}, which cannot credit twice.`,
    )
  }
}

async function credit(idOrEmail: string, amount: string, options: CreditOptions): Promise<void> {
  const key = options.idempotencyKey ?? randomUUID()
  const body = { amount, reason: options.reason, kind: options.kind, idempotency_key: key }
  const receipt = await withControl({ command: 'account credit' }, async (control) => {
    const id = await accountIdOf(control, idOrEmail)
    const path = `/accounts/${encodeURIComponent(id)}/credits`
    return fieldsOf(await askedOnce(key, () => control.call('POST', path, body)))
  })
  printResult(receipt, options, () => {
    const done = amount.startsWith('-') ? `${amount.slice(1)} is taken back` : `${amount} is credited`
    return `${done}; the balance is ${String(receipt['balance'])}.`
  })
}

interface SetOptions extends Format, LimitOptions {
  readonly tier?: string
  readonly status?: string
  readonly timezone?: string
  readonly name?: string
  readonly dailyCap?: string | null
  readonly monthlyCap?: string | null
}

async function set(idOrEmail: string, options: SetOptions): Promise<void> {
  const { tier, status, timezone, name, dailyCap, monthlyCap } = options
  const caps = given({ daily: dailyCap, monthly: monthlyCap })
  const body = given({ tier, status, timezone, name, caps, limits: limitsOf(options) })
  if (body === undefined)
    throw new UsageError('Say what to set: --tier, --status, --daily-cap, --rpm or another option.')
  const account = await withControl({ command: 'account set' }, async (control) => {
    const id = await accountIdOf(control, idOrEmail)
    return fieldsOf(await control.call('PATCH', pathOf(`/accounts/${encodeURIComponent(id)}`), body))
  })
  printResult(account, options, () => accountSheet(account))
}

const accountWords = "the account's id or e-mail address"

export function completeAccount(command: Command): void {
  finished(
    command.command('create').argument('<email>', 'whose account it is'),
    'account create ann@example.com --tier standard',
  )
    .description('make an account')
    .option('--name <text>', 'what people call it')
    .option('--tier <name>', 'new, standard, enterprise or one of your own')
    .option('--timezone <zone>', 'in which its days and months begin, such as Asia/Shanghai')
    .option('--trial', 'with the credit for trying out, where there is one')
    .action(create)
  finished(command.command('list'), 'account list --status suspended')
    .description('list accounts, newest first')
    .option('--status <status>', 'active or suspended')
    .action(list)
  finished(command.command('show').argument('<account>', accountWords), 'account show ann@example.com')
    .description('balance, holds, caps and limits of an account')
    .action(show)
  finished(
    command
      .command('credit')
      .argument('<account>', accountWords)
      .argument('<amount>', 'in yuan; negative takes back', decimal),
    'account credit ann@example.com 100 --reason "invoice 4711"',
  )
    .description('add to the balance, or take back from it')
    .requiredOption('--reason <text>', 'stands in the ledger')
    .option('--kind <kind>', 'credit, payment (the first may change the tier) or refund', 'credit')
    .option('--idempotency-key <text>', 'the same key twice credits once')
    .action(credit)
  const setCommand = command.command('set').argument('<account>', accountWords)
  withLimits(
    finished(
      setCommand,
      'account set ann@example.com --daily-cap 50 --rpm 600',
      'account set acc_… --status suspended',
    )
      .description('change tier, status, caps or limits; what is not named stays')
      .option('--name <text>', 'what people call it')
      .option('--tier <name>', 'new, standard, enterprise or one of your own')
      .option('--status <status>', 'active or suspended')
      .option('--timezone <zone>', 'in which its days and months begin, such as Asia/Shanghai')
      .option('--daily-cap <amount>', 'in yuan, or "none"', cap)
      .option('--monthly-cap <amount>', 'in yuan, or "none"', cap),
  ).action(set)
}
