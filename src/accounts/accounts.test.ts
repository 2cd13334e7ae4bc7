import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listAudit } from '../db/audit.ts'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { ApiError } from '../errors.ts'
import { accountByEmail, accountById, createAccount, listAccounts, updateAccount } from './accounts.ts'
import { mailboxOf } from './fields.ts'
import { createTier, listTiers, tierByName, updateTier } from './tiers.ts'

function isApiError(status: number, param?: string): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.status === status && error.detail.param === param
}

describe('accounts', () => {
  test('createAccount – applies the defaults, and the account can be looked up', async (t) => {
    const db = await openTemporaryDb(t)
    const { value, changes } = await createAccount(db, { email: ' Alice@Example.COM ' }, 'admin')
    assert.deepEqual(changes, [{ kind: 'account', id: value.id }])
    assert.deepEqual(
      [value.email, value.tier, value.status, value.timezone, value.trial, value.limits],
      ['Alice@Example.COM', 'new', 'active', 'Asia/Shanghai', false, {}],
    )
    assert.deepEqual(await accountById(db, value.id), value)
    assert.deepEqual(await accountByEmail(db, 'alice@example.com'), value)
    assert.equal(await accountById(db, 'acc_none'), undefined)
  })

  test('an e-mail address – belongs to one account, however it is written', async (t) => {
    const db = await openTemporaryDb(t)
    await createAccount(db, { email: 'bob@bücher.example' }, 'admin')
    for (const email of ['BOB@bücher.example', 'bob@xn--bcher-kva.example']) {
      await assert.rejects(createAccount(db, { email }, 'admin'), isApiError(409, 'email'), email)
    }
  })

  test('an invalid field – is rejected with its name', async (t) => {
    const db = await openTemporaryDb(t)
    for (const email of [
      '',
      'alice',
      '@example.com',
      'a b@example.com',
      'a@b',
      'a@@example.com',
      `${'a'.repeat(65)}@example.com`,
    ]) {
      await assert.rejects(createAccount(db, { email }, 'admin'), isApiError(400, 'email'), email)
    }
    const email = 'carol@example.com'
    await assert.rejects(
      createAccount(db, { email, timezone: 'Mars/Base' }, 'admin'),
      isApiError(400, 'timezone'),
    )
    await assert.rejects(createAccount(db, { email, tier: 'gold' }, 'admin'), isApiError(400, 'tier'))
    await assert.rejects(createAccount(db, { email, name: 'a\nb' }, 'admin'), isApiError(400, 'name'))
    const { id } = (await createAccount(db, { email }, 'admin')).value
    await assert.rejects(
      updateAccount(db, id, { caps: { dailyNanos: -1n } }, 'admin'),
      isApiError(400, 'caps.daily'),
    )
    await assert.rejects(
      updateAccount(db, id, { limits: { rpm: 1.5 } }, 'admin'),
      isApiError(400, 'limits.rpm'),
    )
    await assert.rejects(updateAccount(db, 'acc_none', { name: 'x' }, 'admin'), isApiError(404))
  })

  test('updateAccount – changes only the given fields, and null removes a value', async (t) => {
    const db = await openTemporaryDb(t)
    const { id } = (await createAccount(db, { email: 'dave@example.com' }, 'admin')).value
    await updateAccount(
      db,
      id,
      { caps: { dailyNanos: 5n, monthlyNanos: 9n }, limits: { rpm: 5, tpm: 'unlimited' } },
      'admin',
    )
    const { value } = await updateAccount(
      db,
      id,
      {
        status: 'suspended',
        caps: { dailyNanos: null },
        limits: { rpm: null, rpd: 0 },
        priceFactorPpm: 500_000,
      },
      'admin',
    )
    assert.deepEqual(value.caps, { dailyNanos: null, monthlyNanos: 9n })
    assert.deepEqual(value.limits, { tpm: 'unlimited', rpd: 0 })
    assert.deepEqual([value.status, value.priceFactorPpm], ['suspended', 500_000])
    assert.equal((await updateAccount(db, id, { priceFactorPpm: null }, 'admin')).value.priceFactorPpm, null)
  })

  test('concurrent patches – both take effect', async (t) => {
    const db = await openTemporaryDb(t)
    const { id } = (await createAccount(db, { email: 'erin@example.com' }, 'admin')).value
    await Promise.all([
      updateAccount(db, id, { limits: { rpm: 1 } }, 'admin'),
      updateAccount(db, id, { limits: { tpm: 2 } }, 'admin'),
      updateAccount(db, id, { name: 'Erin' }, 'admin'),
    ])
    const account = await accountById(db, id)
    assert.deepEqual([account?.limits, account?.name], [{ rpm: 1, tpm: 2 }, 'Erin'])
  })

  test('listAccounts – returns newest first, each once, over pages', async (t) => {
    const db = await openTemporaryDb(t)
    const ids: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      ids.unshift((await createAccount(db, { email: `${name}@example.com` }, 'admin')).value.id)
    }
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await listAccounts(db, { limit: 2, cursor })
      seen.push(...page.data.map((account) => account.id))
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    assert.deepEqual(seen, ids)
  })
})

describe('searching accounts', () => {
  test('an account – is found by part of its e-mail address or name, and by its id', async (t) => {
    const db = await openTemporaryDb(t)
    const names: Record<string, string> = {
      'Ann@Bücher.example': 'Harbour 100%',
      'li@example.com': '深圳市海港科技有限公司',
      'wang@example.com': 'ＡＢＣ　商店',
    }
    for (const [email, name] of Object.entries(names)) await createAccount(db, { email, name }, 'admin')
    const find = async (search: string): Promise<string[]> =>
      (await listAccounts(db, { limit: 10, search })).data.map(({ email }) => email)
    assert.deepEqual(await find('EXAMPLE.com'), ['wang@example.com', 'li@example.com'])
    for (const search of ['aNN@', 'Bücher', 'xn--bcher', ' hARBour', '0%', 'ann@bücher.example'])
      assert.deepEqual(await find(search), ['Ann@Bücher.example'], search)
    assert.deepEqual(await find('海港科技'), ['li@example.com'])
    assert.deepEqual(await find('ＢＣ　商'), ['wang@example.com'])
    for (const search of ['_', '%%', '!', 'acc_', `'`]) assert.deepEqual(await find(search), [], search)
    const { id } = (await listAccounts(db, { limit: 1 })).data[0] ?? { id: '' }
    assert.deepEqual(await find(id), ['wang@example.com'])
  })

  test('a search – returns pages and combines with the status', async (t) => {
    const db = await openTemporaryDb(t)
    for (const email of ['a@shop.example', 'b@other.example', 'c@shop.example', 'd@shop.example']) {
      const { value } = await createAccount(db, { email }, 'admin')
      if (email.startsWith('d')) await updateAccount(db, value.id, { status: 'suspended' }, 'admin')
    }
    const page = { limit: 1, search: 'shop', status: 'active' } as const
    const first = await listAccounts(db, page)
    assert.deepEqual(
      first.data.map(({ email }) => email),
      ['c@shop.example'],
    )
    assert.ok(first.next !== null)
    const second = await listAccounts(db, { ...page, cursor: first.next })
    assert.deepEqual([second.data[0]?.email, second.next], ['a@shop.example', null])
  })
})

describe('tiers', () => {
  test('built-in tiers – new, standard and enterprise exist, enterprise without limits', async (t) => {
    const db = await openTemporaryDb(t)
    assert.deepEqual(
      (await listTiers(db)).map((tier) => tier.name),
      ['enterprise', 'new', 'standard'],
    )
    const enterprise = await tierByName(db, 'enterprise')
    assert.deepEqual(enterprise?.limits, { rpm: null, tpm: null, rpd: null, concurrency: null })
  })

  test('createTier and updateTier – reject duplicates and change only the given fields', async (t) => {
    const db = await openTemporaryDb(t)
    await createTier(db, { name: 'gold', rpm: 5, priceFactorPpm: 900_000 }, 'admin')
    await assert.rejects(createTier(db, { name: 'gold' }, 'admin'), isApiError(409, 'name'))
    await assert.rejects(createTier(db, { name: 'Gold!' }, 'admin'), isApiError(400, 'name'))
    await assert.rejects(updateTier(db, 'gold', { rpm: -1 }, 'admin'), isApiError(400, 'rpm'))
    await assert.rejects(updateTier(db, 'silver', { rpm: 1 }, 'admin'), isApiError(404, 'name'))
    const { value, changes } = await updateTier(db, 'gold', { tpm: 7 }, 'admin')
    assert.deepEqual(value, {
      name: 'gold',
      limits: { rpm: 5, tpm: 7, rpd: null, concurrency: null },
      priceFactorPpm: 900_000,
      afterPayment: null,
    })
    assert.deepEqual(changes, [{ kind: 'tier', id: 'gold' }])
    assert.deepEqual((await updateTier(db, 'gold', {}, 'admin')).value, value)
  })
})

describe('audit log and mailboxes', () => {
  test('the audit log – has a line for every change and none for a rejected one', async (t) => {
    const db = await openTemporaryDb(t)
    const { id } = (await createAccount(db, { email: 'frank@example.com' }, 'root')).value
    await updateAccount(db, id, { caps: { dailyNanos: 5n } }, 'alice')
    await assert.rejects(createAccount(db, { email: 'frank@example.com' }, 'root'))
    const lines = await listAudit(db, { limit: 10, object: id })
    assert.deepEqual(
      lines.map((line) => [line.actor, line.action]),
      [
        ['alice', 'account.update'],
        ['root', 'account.create'],
      ],
    )
    assert.deepEqual(lines[0]?.detail, { 'caps.daily': { before: null, after: '0.000000005' } })
    const { value, changes } = await updateAccount(db, id, { caps: { dailyNanos: 5n }, name: '' }, 'bob')
    assert.deepEqual([changes, value.caps.dailyNanos], [[], 5n], 'nothing has changed')
    assert.equal((await listAudit(db, { limit: 10 })).length, 2)
  })

  test('mailboxOf – treats all spellings of a mailbox as one', () => {
    const same = [
      ['ann.lee@gmail.com', 'AnnLee@googlemail.com', 'a.n.n.l.e.e+trial@gmail.com', 'annlee+1+2@GMAIL.com'],
      [
        'dora@example.com',
        '\uFF44ora@example.com',
        'do\u00ADra@example.com',
        '\u{1D403}ora\uFF0B1\u200B@example.com',
      ],
      ['bob@example.com', 'BOB@example.com', 'bob+again@example.com'],
      ['bob@bücher.example', 'bob@xn--bcher-kva.example'],
      ['+start@example.com', '+START@example.com'],
    ]
    for (const group of same) assert.equal(new Set(group.map(mailboxOf)).size, 1, group.join())
    assert.equal(
      new Set([...same.map(([first = '']) => mailboxOf(first)), mailboxOf('b.ob@example.com')]).size,
      6,
    )
  })
})
