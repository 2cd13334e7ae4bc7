import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { createMethod, receivedNotice } from '../../test/support/payments/method-fixture.ts'
import { LoopbackServer } from '../../test/support/payments/loopback-server.ts'
import { openStripe } from '../../test/support/payments/open-stripe.ts'
import { ForgedNoticeError, ProviderError, type ReceivedNotice } from './payment-method.ts'
import { ProviderHttp } from './provider-http.ts'
import { fromStripeAmount, toStripeAmount } from './stripe-amounts.ts'
import { StripeClient } from './stripe-client.ts'
import { createStripe } from './stripe.ts'

const imported: string[] = []
registerHooks({
  resolve(specifier, context, nextResolve) {
    imported.push(specifier)
    return nextResolve(specifier, context)
  },
})

const settings = { STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_WEBHOOK_SECRET: 'whsec_test_secret' }

/** The notice of Stripe's scheme whose signature is known, at 1700000000. */
function knownNotice(changes: { header?: string; body?: string; receivedAt?: number } = {}): ReceivedNotice {
  const signature = 'd1e4aa90551919f198c22ba0a9691b35338d4b631d54ce1f1465e93b1d41c430'
  const {
    header = `t=1700000000,v1=${signature}`,
    body = '{"id":"evt_1","object":"event","type":"checkout.session.completed"}',
    receivedAt = 1_700_000_000_000,
  } = changes
  const headers = new Map([['stripe-signature', header]])
  return {
    method: 'POST',
    query: '',
    headers,
    body: Buffer.from(body),
    receivedAt,
    address: '127.0.0.1',
  }
}

function read(notice: ReceivedNotice, changes: Readonly<Record<string, string>> = {}) {
  const notices = createMethod(createStripe, { ...settings, ...changes }).method?.notices
  assert.ok(notices)
  return notices.read(notice)
}

describe('stripe settings', () => {
  const invalid: [title: string, changes: Record<string, string>, named: string][] = [
    ['a publishable key', { STRIPE_SECRET_KEY: 'pk_test_1' }, 'STRIPE_SECRET_KEY'],
    ['a secret of no endpoint', { STRIPE_WEBHOOK_SECRET: 'whsec_a,secret' }, 'STRIPE_WEBHOOK_SECRET'],
    ['no secret between commas', { STRIPE_WEBHOOK_SECRET: ' , ' }, 'STRIPE_WEBHOOK_SECRET'],
    ['a blank secret', { STRIPE_WEBHOOK_SECRET: ' ' }, 'STRIPE_WEBHOOK_SECRET'],
    ['a test key for live mode', { STRIPE_LIVE: '1' }, 'STRIPE_LIVE'],
    ['a mode that is none', { STRIPE_LIVE: 'yes' }, 'STRIPE_LIVE'],
    ['a currency in lower case', { STRIPE_CURRENCY: 'usd' }, 'STRIPE_CURRENCY'],
    ['a currency that does not exist', { STRIPE_CURRENCY: 'QQQ' }, 'STRIPE_CURRENCY'],
    ['http to any host', { STRIPE_BASE: 'http://api.stripe.com' }, 'STRIPE_BASE'],
    ['http to an address not allowed', { STRIPE_BASE: 'http://127.0.0.1:1' }, 'STRIPE_BASE'],
    ['a base with a path', { STRIPE_BASE: 'https://proxy.example/stripe' }, 'STRIPE_BASE'],
  ]
  for (const [title, changes, named] of invalid) {
    test(`settings – ${title} refuses the start and names ${named}`, () => {
      assert.throws(
        () => createMethod(createStripe, { ...settings, ...changes }),
        ({ name, message }: Error) => {
          const secret = Object.entries(changes).find(([setting]) => /KEY|SECRET/.test(setting))?.[1]
          assert.ok(secret === undefined || secret.trim() === '' || !message.includes(secret), message)
          return name === 'ConfigError' && message.startsWith(`Invalid ${named}`)
        },
      )
    })
  }

  test('settings – the merchant is the mode of the key, restricted or not', () => {
    for (const mode of ['live', 'test']) {
      for (const kind of ['sk', 'rk']) {
        const changes = { ...settings, STRIPE_SECRET_KEY: `${kind}_${mode}_1`, STRIPE_CURRENCY: 'USD' }
        const { method } = createMethod(createStripe, changes)
        assert.deepEqual([method?.merchant, method?.currency], [mode, 'USD'])
      }
    }
  })

  test('settings – an order lives 35 minutes to 23 h 55 min', () => {
    const { method } = createMethod(createStripe, settings)
    const minutes = [5, 40, 1440].map(
      (configured) => (method?.lifetimeMs(configured * 60_000, null) ?? 0) / 60_000,
    )
    assert.deepEqual(minutes, [35, 40, 1435])
  })
})

describe('stripe library', () => {
  test('library – is loaded when Stripe is first asked, not before', async () => {
    imported.length = 0
    await using open = await openStripe()
    assert.ok(!imported.includes('stripe'))
    assert.equal(await open.method.check(), null)
    assert.ok(imported.includes('stripe'))
  })

  test('library – sends nothing about the machine, and prints no notices of Stripe', async () => {
    const warnings: Error[] = []
    const listener = (warning: Error): number => warnings.push(warning)
    process.on('warning', listener)
    await using open = await openStripe()
    assert.equal(await open.method.check(), null)
    await open.method.check()
    const names = new Set(open.provider.calls.flatMap(({ headers }) => Object.keys(headers)))
    const sent = ['accept', 'authorization', 'connection', 'content-type', 'host', 'stripe-version']
    assert.deepEqual([...names].toSorted(), sent)
    process.off('warning', listener)
    assert.deepEqual(warnings, [])
  })

  test('library – asks once more without a response, within the time of one call', async () => {
    let calls = 0
    await using silent = new LoopbackServer((request) => {
      calls += 1
      if (calls === 1) request.socket.destroy()
    })
    await silent.listen()
    await using http = new ProviderHttp(['127.0.0.1'])
    const client = new StripeClient({ secretKey: 'sk_test_1', base: silent.url, http, callMs: 500 })
    await assert.rejects(
      client.call((stripe) => stripe.balance.retrieve()),
      ProviderError,
    )
    assert.equal(calls, 2)
  })

  test('library – cannot reach an address that is not allowed', async () => {
    await using open = await openStripe()
    const { STRIPE_BASE, ...others } = open.provider.settings
    const port = new URL(STRIPE_BASE ?? '').port
    const changes = { ...others, STRIPE_BASE: `https://127.0.0.1:${port}`, PAYMENT_ALLOW: '10.0.0.1' }
    await using created = createMethod(createStripe, changes)
    await assert.rejects(async () => await created.method?.readDispute?.('dp_1'), ProviderError)
    assert.deepEqual(open.provider.calls, [])
  })
})

describe('stripe amounts', () => {
  test('amounts – are minor units, where Stripe takes all of them', () => {
    const known: [minor: bigint, currency: string, amount: number | null][] = [
      [1000n, 'CNY', 1000],
      [500n, 'JPY', 500],
      [500n, 'ISK', 500],
      [550n, 'ISK', null],
      [50n, 'UGX', null],
      [1010n, 'KWD', 1010],
      [1005n, 'KWD', null],
      [9_999_999_999_999n, 'USD', 9_999_999_999_999],
      [2n ** 53n, 'USD', null],
    ]
    for (const [minor, currency, amount] of known) assert.equal(toStripeAmount(minor, currency), amount)
  })

  test('amounts – that are no whole numbers are errors', () => {
    for (const amount of [1.5, NaN, 2 ** 53, null]) {
      assert.throws(() => fromStripeAmount(amount), ProviderError)
    }
  })

  test('amounts – come back as they went', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 99_999_999_999n), fc.constantFrom('CNY', 'JPY'), (minor, currency) => {
        assert.equal(fromStripeAmount(toStripeAmount(minor, currency)), minor)
      }),
    )
  })
})

describe('stripe notices', () => {
  const signature = knownNotice().headers.get('stripe-signature')?.split('v1=')[1] ?? ''

  test('notices – the known signature is genuine for 300 s before and after its time', async () => {
    assert.deepEqual(await read(knownNotice()), { kind: 'other' })
    for (const seconds of [-300, 300]) {
      const receivedAt = (1_700_000_000 + seconds) * 1000
      assert.deepEqual(await read(knownNotice({ receivedAt })), { kind: 'other' })
    }
    for (const seconds of [-301, 301]) {
      const receivedAt = (1_700_000_000 + seconds) * 1000
      await assert.rejects(read(knownNotice({ receivedAt })), ForgedNoticeError)
    }
  })

  test('notices – any of several signatures and of several secrets may be right', async () => {
    const header = `t=1700000000,v1=${'0'.repeat(64)},v1=${signature},v0=abc`
    const notice = knownNotice({ header })
    assert.deepEqual(await read(notice, { STRIPE_WEBHOOK_SECRET: 'whsec_new, whsec_test_secret' }), {
      kind: 'other',
    })
    await assert.rejects(read(notice, { STRIPE_WEBHOOK_SECRET: 'whsec_new' }), ForgedNoticeError)
  })

  test('notices – other headers and other bytes are forged', async () => {
    const headers = [
      '',
      `v1=${signature}`,
      `t=1700000000,v1=`,
      `t=1700000000,v1`,
      `t=1700000000,v0=${signature}`,
      `t=NaN,v1=${signature}`,
      `t=1700000000.0,v1=${signature}`,
      `t=1700000000,t=1700000000,v1=${signature}`,
      `t=1700000001,v1=${signature}`,
      `t=1700000000,v1=${signature.toUpperCase()}`,
    ]
    for (const header of headers)
      await assert.rejects(read(knownNotice({ header })), ForgedNoticeError, header)
    const { body } = knownNotice()
    await assert.rejects(read(knownNotice({ body: `${Buffer.from(body).toString()} ` })), ForgedNoticeError)
  })

  const intent = { id: 'pi_1', metadata: { order: 'S1' } }
  const charged = { id: 'pi_1', metadata: { order: 'S1', automatic: 'true' } }
  const refund = { id: 're_1', payment_intent: 'pi_1', metadata: { refund: 'R1' } }
  const dispute = { id: 'dp_1', status: 'needs_response' }
  const order = { kind: 'order', order: 'S1', payment: null }
  const paid = { ...order, payment: { transaction: 'pi_1', amountMinor: 1000n } }
  const session = { client_reference_id: 'S1', payment_intent: 'pi_1', amount_total: 1000 }
  const subjects: [type: string, object: Record<string, unknown>, subject: object][] = [
    ['checkout.session.completed', session, paid],
    ['checkout.session.completed', { ...session, amount_total: 0.5 }, order],
    ['checkout.session.async_payment_succeeded', session, paid],
    ['checkout.session.async_payment_failed', { client_reference_id: 'S1' }, order],
    ['checkout.session.expired', { client_reference_id: 'S1' }, order],
    ['checkout.session.completed', { client_reference_id: null }, { kind: 'other' }],
    ['payment_intent.succeeded', { ...intent, amount_received: 1000 }, paid],
    ['payment_intent.payment_failed', intent, { kind: 'other' }],
    ['payment_intent.payment_failed', charged, order],
    ['refund.created', refund, { kind: 'refund', refund: 'R1', reference: 're_1', transaction: 'pi_1' }],
    [
      'refund.failed',
      { ...refund, metadata: {} },
      { kind: 'refund', refund: null, reference: 're_1', transaction: 'pi_1' },
    ],
    ['charge.dispute.created', dispute, { kind: 'dispute', reference: 'dp_1' }],
    ['charge.dispute.closed', dispute, { kind: 'dispute', reference: 'dp_1' }],
    ['charge.dispute.created', { id: 'dp_1', status: 'warning_needs_response' }, { kind: 'other' }],
    ['payment_method.detached', { id: 'pm_1' }, { kind: 'card-removed', customer: 'cus_1', card: 'pm_1' }],
    ['customer.deleted', { id: 'cus_1' }, { kind: 'card-removed', customer: 'cus_1', card: null }],
    ['invoice.paid', { id: 'in_1', metadata: { order: 'S1' } }, { kind: 'other' }],
  ]
  for (const [index, [type, object, subject]] of subjects.entries()) {
    test(`notices – ${type} (${index + 1}) names what is read`, async () => {
      await using open = await openStripe()
      const notice = open.provider.event(type, object, undefined, { customer: 'cus_1' })
      assert.deepEqual(await open.method.notices?.read(receivedNotice(notice)), subject)
    })
  }
})
