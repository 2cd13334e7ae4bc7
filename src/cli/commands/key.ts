/** `sluice key …`: API keys. */

import type { Command } from 'commander'
import { resolveAccountId } from './account.ts'
import { listAll, send, withAdminClient } from '../admin-client.ts'
import {
  bodyFrom,
  limitFields,
  parseCap,
  withJsonOption,
  parseList as listOption,
  parseTime,
  withLimits,
} from '../options.ts'
import { asFields, printResult, printRows, UsageError, type Fields, type OutputOptions } from '../output.ts'

const newKeyFields = {
  name: 'name',
  expires: 'expires_at',
  model: 'models',
  ip: 'ips',
  dailyCap: 'caps.daily',
  monthlyCap: 'caps.monthly',
  totalCap: 'caps.total',
  ...limitFields,
} as const

async function create(account: string, options: OutputOptions): Promise<void> {
  const key = await withAdminClient('key create', async (client) => {
    const id = await resolveAccountId(client, account)
    const path = `/accounts/${encodeURIComponent(id)}/keys`
    return asFields(await client.call('POST', path, bodyFrom(options, newKeyFields)))
  })
  printResult(key, options, () => {
    const text = `Created key ${String(key['id'])}. Save its secret: it is only shown now.`
    return `${text}\n\n${String(key['secret'])}`
  })
}

interface ListOptions extends OutputOptions {
  readonly all?: boolean
  readonly find?: string
  readonly status?: string
}

async function list(account: string | undefined, options: ListOptions): Promise<void> {
  const { all = false, find, status } = options
  if ((account === undefined) !== all) throw new UsageError('Name an account or use --all.')
  const data = await withAdminClient('key list', async (client) => {
    const id = account === undefined ? undefined : await resolveAccountId(client, account)
    // An unknown account is an error, not an empty list.
    if (id !== undefined) await client.call('GET', `/accounts/${encodeURIComponent(id)}`)
    return listAll(client, '/keys', { account: id, q: find, status, sort: 'oldest', limit: '1000' })
  })
  const columns = {
    ID: 'id',
    ACCOUNT: 'account_email',
    NAME: 'name',
    PREFIX: 'prefix',
    STATUS: (key: Fields) => (key['expired'] === true ? 'expired' : key['status']),
    EXPIRES: 'expires_at',
    MODELS: 'models',
    ADDRESSES: 'ips',
    'LAST USED': 'last_used_at',
    MONTH: 'spent.month',
  }
  printRows(data, columns, options)
}

const pathTo = (key: string): string => `/keys/${encodeURIComponent(key)}`

async function setStatus(key: string, status: 'active' | 'disabled', format: OutputOptions): Promise<void> {
  const changed = await send('key', 'PATCH', pathTo(key), { status })
  printResult(changed, format, () => `Key ${key} is ${status}.`)
}

async function remove(key: string, format: OutputOptions): Promise<void> {
  await send('key delete', 'DELETE', pathTo(key))
  printResult({ id: key, deleted: true }, format, () => `Deleted key ${key}.`)
}

export function configure(command: Command): void {
  const accountHelp = "the account's id or e-mail address"
  const createCommand = command.command('create').argument('<account>', accountHelp)
  withLimits(
    withJsonOption(
      createCommand,
      'key create ann@example.com --name laptop',
      'key create acc_… --name ci --expires 90d --model "family-a-*" --ip 10.0.0.0/8 --daily-cap 5',
    )
      .description('create a key; its secret is shown once')
      .requiredOption('--name <text>', 'name of the key')
      .option('--expires <time>', 'a time, or a duration such as 90d', parseTime)
      .option(
        '--model <names>',
        'only these models, comma-separated; a trailing * matches any suffix',
        listOption,
      )
      .option('--ip <cidrs>', 'only from these addresses, comma-separated', listOption)
      .option('--daily-cap <amount>', "in the platform's currency", parseCap)
      .option('--monthly-cap <amount>', "in the platform's currency", parseCap)
      .option('--total-cap <amount>', "in the platform's currency, for the key's lifetime", parseCap),
  ).action(create)
  withJsonOption(
    command.command('list').argument('[account]', accountHelp),
    'key list ann@example.com',
    'key list --all --find laptop --status disabled',
  )
    .description("list an account's keys, or all keys, with what they have spent this month")
    .option('--all', 'list the keys of all accounts')
    .option('--find <text>', 'part of a name, the start of a secret or of an e-mail address, or an id')
    .option('--status <status>', 'active, disabled or expired')
    .action(list)
  withJsonOption(command.command('disable').argument('<key>', "the key's id"), 'key disable key_…')
    .description('reject a key until it is enabled again')
    .action((key: string, format: OutputOptions) => setStatus(key, 'disabled', format))
  withJsonOption(command.command('enable').argument('<key>', "the key's id"), 'key enable key_…')
    .description('enable a disabled key')
    .action((key: string, format: OutputOptions) => setStatus(key, 'active', format))
  withJsonOption(command.command('delete').argument('<key>', "the key's id"), 'key delete key_…')
    .description('delete a key permanently')
    .action(remove)
}
