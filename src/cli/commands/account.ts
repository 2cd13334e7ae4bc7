/** `sluice account …`: the accounts that hold money. */

import type { Command } from 'commander'
import { randomUUID } from 'node:crypto'
import { listAll, printList, send, withAdminClient, type AdminClient } from '../admin-client.ts'
import { bodyFrom, limitFields, parseCap, parseDecimal, withJsonOption, withLimits } from '../options.ts'
import {
  CommandError,
  fieldAt,
  asFields,
  printResult,
  formatFields,
  UnknownOutcomeError,
  UsageError,
  type Fields,
  type OutputOptions,
} from '../output.ts'

/** Returns an id unchanged and looks up an e-mail address. */
export async function resolveAccountId(client: AdminClient, idOrEmail: string): Promise<string> {
  if (!idOrEmail.includes('@')) return idOrEmail
  const [account] = await listAll(client, '/accounts', { email: idOrEmail })
  if (account === undefined) throw new CommandError(`No account has the e-mail address ${idOrEmail}.`)
  return String(account['id'])
}

async function resolvePath(client: AdminClient, idOrEmail: string): Promise<string> {
  return `/accounts/${encodeURIComponent(await resolveAccountId(client, idOrEmail))}`
}

const accountFields = [
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

function formatAccount(account: Fields): string {
  return formatFields(accountFields.map((path) => [path.replaceAll(/[._]/g, ' '), fieldAt(account, path)]))
}

async function create(email: string, { json, ...fields }: OutputOptions): Promise<void> {
  const account = await send('account create', 'POST', '/accounts', { email, ...fields })
  const text = `Created account ${String(account['id'])} for ${email}.${trialCreditText(account)}`
  printResult(account, { json }, () => text)
}

/** The result of `--trial`. */
function trialCreditText(account: Fields): string {
  const granted = fieldAt(account, 'trial_credit.granted')
  if (granted === true) return ` It got a trial credit of ${String(fieldAt(account, 'trial_credit.amount'))}.`
  if (granted !== false) return ''
  return fieldAt(account, 'trial_credit.reason') === 'granted_before'
    ? ' It got no trial credit: its mailbox has had one before.'
    : ' It got no trial credit: no promotion is running.'
}

const columns = { ID: 'id', 'E-MAIL': 'email', TIER: 'tier', STATUS: 'status', BALANCE: 'balance' }

async function list({ json, ...query }: OutputOptions & { readonly status?: string }): Promise<void> {
  await printList({ command: 'account list', path: '/accounts', query }, columns, { json })
}

async function show(idOrEmail: string, format: OutputOptions): Promise<void> {
  const account = await withAdminClient('account show', async (client) =>
    asFields(await client.call('GET', await resolvePath(client, idOrEmail))),
  )
  printResult(account, format, () => formatAccount(account))
}

interface CreditOptions extends OutputOptions {
  readonly reason: string
  readonly kind: string
  readonly idempotencyKey?: string
}

/** If the outcome is unknown, the error names the generated key, so that the credit can be retried safely. */
async function withRetryAdvice(key: string, send: () => Promise<unknown>): Promise<unknown> {
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof UnknownOutcomeError)) throw error
    throw new CommandError(
      `${error.message} The credit may have been applied. Retry with --idempotency-key ${key}, which cannot credit twice.`,
    )
  }
}

async function credit(idOrEmail: string, amount: string, options: CreditOptions): Promise<void> {
  const key = options.idempotencyKey ?? randomUUID()
  const body = { amount, reason: options.reason, kind: options.kind, idempotency_key: key }
  const receipt = await withAdminClient('account credit', async (client) => {
    const path = `${await resolvePath(client, idOrEmail)}/credits`
    return asFields(await withRetryAdvice(key, () => client.call('POST', path, body)))
  })
  printResult(receipt, options, () => {
    const done = amount.startsWith('-') ? `Debited ${amount.slice(1)}` : `Credited ${amount}`
    return `${done}. The balance is ${String(receipt['balance'])}.`
  })
}

const changeableFields = {
  tier: 'tier',
  status: 'status',
  timezone: 'timezone',
  name: 'name',
  dailyCap: 'caps.daily',
  monthlyCap: 'caps.monthly',
  ...limitFields,
} as const

async function set(idOrEmail: string, options: OutputOptions): Promise<void> {
  const body = bodyFrom(options, changeableFields)
  if (body === undefined)
    throw new UsageError('Nothing to change. Use --tier, --status, --daily-cap, --rpm or another option.')
  const account = await withAdminClient('account set', async (client) =>
    asFields(await client.call('PATCH', await resolvePath(client, idOrEmail), body)),
  )
  printResult(account, options, () => formatAccount(account))
}

const accountHelp = "the account's id or e-mail address"

export function configure(command: Command): void {
  withJsonOption(
    command.command('create').argument('<email>', "the account holder's e-mail address"),
    'account create ann@example.com --tier standard',
  )
    .description('create an account')
    .option('--name <text>', 'display name')
    .option('--tier <name>', 'new, standard, enterprise or a custom tier')
    .option('--timezone <zone>', 'time zone of its days and months, such as Asia/Shanghai')
    .option('--trial', 'grant the trial credit of the running promotion')
    .action(create)
  withJsonOption(command.command('list'), 'account list --status suspended')
    .description('list accounts, newest first')
    .option('--status <status>', 'active or suspended')
    .action(list)
  withJsonOption(command.command('show').argument('<account>', accountHelp), 'account show ann@example.com')
    .description("show an account's balance, holds, caps and limits")
    .action(show)
  withJsonOption(
    command
      .command('credit')
      .argument('<account>', accountHelp)
      .argument('<amount>', "in the platform's currency; negative to debit", parseDecimal),
    'account credit ann@example.com 100 --reason "invoice 4711"',
  )
    .description('credit or debit an account')
    .requiredOption('--reason <text>', 'recorded in the ledger')
    .option('--kind <kind>', 'credit, payment (the first one may change the tier) or refund', 'credit')
    .option('--idempotency-key <text>', 'a key that makes retries safe')
    .action(credit)
  const setCommand = command.command('set').argument('<account>', accountHelp)
  withLimits(
    withJsonOption(
      setCommand,
      'account set ann@example.com --daily-cap 50 --rpm 600',
      'account set acc_… --status suspended',
    )
      .description('change tier, status, caps or limits; other values stay')
      .option('--name <text>', 'display name')
      .option('--tier <name>', 'new, standard, enterprise or a custom tier')
      .option('--status <status>', 'active or suspended')
      .option('--timezone <zone>', 'time zone of its days and months, such as Asia/Shanghai')
      .option('--daily-cap <amount>', `in the platform's currency, or "none"`, parseCap)
      .option('--monthly-cap <amount>', `in the platform's currency, or "none"`, parseCap),
  ).action(set)
}
