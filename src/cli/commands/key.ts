/** `sluice key …`: what callers present. */

import type { Command } from 'commander'
import { accountIdOf } from './account.ts'
import { listAll, withControl } from '../admin-client.ts'
import {
  cap,
  finished,
  given,
  limitsOf,
  list as listOption,
  moment,
  withLimits,
  type LimitOptions,
} from '../options.ts'
import { fieldAt, fieldsOf, printResult, tableOf, UsageError, type Format } from '../output.ts'

interface CreateOptions extends Format, LimitOptions {
  readonly name: string
  readonly expires?: string | null
  readonly model?: readonly string[]
  readonly ip?: readonly string[]
  readonly dailyCap?: string | null
  readonly monthlyCap?: string | null
  readonly totalCap?: string | null
}

async function create(account: string, options: CreateOptions): Promise<void> {
  const { name, expires, model, ip, dailyCap, monthlyCap, totalCap } = options
  const caps = given({ daily: dailyCap, monthly: monthlyCap, total: totalCap })
  const body = given({ name, expires_at: expires, models: model, ips: ip, caps, limits: limitsOf(options) })
  const key = await withControl({ command: 'key create' }, async (control) => {
    const id = await accountIdOf(control, account)
    return fieldsOf(await control.call('POST', `/accounts/${encodeURIComponent(id)}/keys`, body))
  })
  printResult(key, options, () => {
    const told = `Key ${String(key['id'])} is made. Keep its secret: it is shown only now.`
    return `${told}\n\n${String(key['secret'])}`
  })
}

interface ListOptions extends Format {
  readonly all?: boolean
  readonly find?: string
  readonly status?: string
}

async function list(account: string | undefined, options: ListOptions): Promise<void> {
  const { all = false, find, status } = options
  if ((account === undefined) !== all) throw new UsageError('Name an account, or say --all.')
  const data = await withControl({ command: 'key list' }, async (control) => {
    const id = account === undefined ? undefined : await accountIdOf(control, account)
    // An account that is not there is told, not shown as one without keys.
    if (id !== undefined) await control.call('GET', `/accounts/${encodeURIComponent(id)}`)
    return listAll(control, '/keys', { account: id, q: find, status, sort: 'oldest', limit: '1000' })
  })
  printResult({ data, next: null }, options, () =>
    tableOf(
      ['ID', 'ACCOUNT', 'NAME', 'BEGINS', 'STATUS', 'EXPIRES', 'MODELS', 'ADDRESSES', 'LAST USED', 'MONTH'],
      data.map((key) => [
        key['id'],
        key['account_email'],
        key['name'],
        key['prefix'],
        key['expired'] === true ? 'expired' : key['status'],
        key['expires_at'],
        key['models'],
        key['ips'],
        key['last_used_at'],
        fieldAt(key, 'spent.month'),
      ]),
    ),
  )
}

async function setStatus(key: string, status: 'active' | 'disabled', format: Format): Promise<void> {
  const changed = await withControl({ command: 'key' }, (control) =>
    control.call('PATCH', `/keys/${encodeURIComponent(key)}`, { status }),
  )
  printResult(changed, format, () => `Key ${key} is ${status}.`)
}

async function remove(key: string, format: Format): Promise<void> {
  await withControl({ command: 'key delete' }, (control) =>
    control.call('DELETE', `/keys/${encodeURIComponent(key)}`),
  )
  printResult({ id: key, deleted: true }, format, () => `Key ${key} is deleted.`)
}

export function completeKey(command: Command): void {
  const accountWords = "the account's id or e-mail address"
  const createCommand = command.command('create').argument('<account>', accountWords)
  withLimits(
    finished(
      createCommand,
      'key create ann@example.com --name laptop',
      'key create acc_… --name ci --expires 90d --model "family-a-*" --ip 10.0.0.0/8 --daily-cap 5',
    )
      .description('make a key; its secret is shown once')
      .requiredOption('--name <text>', 'to tell it from others')
      .option('--expires <time>', 'a time, or a span such as 90d', moment)
      .option(
        '--model <names>',
        'only these models, with commas; * at the end stands for any ending',
        listOption,
      )
      .option('--ip <cidrs>', 'only from these addresses, with commas', listOption)
      .option('--daily-cap <amount>', 'in yuan', cap)
      .option('--monthly-cap <amount>', 'in yuan', cap)
      .option('--total-cap <amount>', "in yuan, for the key's life", cap),
  ).action(create)
  finished(
    command.command('list').argument('[account]', accountWords),
    'key list ann@example.com',
    'key list --all --find laptop --status disabled',
  )
    .description("list an account's keys, or all there are, and what they have spent this month")
    .option('--all', 'of every account')
    .option('--find <text>', 'a part of a name, the beginning of a secret or of an e-mail address, or an id')
    .option('--status <status>', 'active, disabled or expired')
    .action(list)
  finished(command.command('disable').argument('<key>', "the key's id"), 'key disable key_…')
    .description('refuse a key until it is enabled again')
    .action((key: string, format: Format) => setStatus(key, 'disabled', format))
  finished(command.command('enable').argument('<key>', "the key's id"), 'key enable key_…')
    .description('take a disabled key again')
    .action((key: string, format: Format) => setStatus(key, 'active', format))
  finished(command.command('delete').argument('<key>', "the key's id"), 'key delete key_…')
    .description('delete a key for good')
    .action(remove)
}
