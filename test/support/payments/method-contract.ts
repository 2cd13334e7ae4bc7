/**
 * The suite that every payment method passes against its scripted provider: each case is registered by the method's test
 * file. A method that differs for a good reason says so in its `MethodContract`; everything else is the same for all.
 */
import assert from 'node:assert/strict'

import { readConfig } from '../../../src/config.ts'
import type { NoticeSubject } from '../../../src/payments/payment-method.ts'
import { createPaymentMethods } from '../../../src/payments/payment-methods.ts'
import { ProviderHttp } from '../../../src/payments/provider-http.ts'
import { startWebhookSink } from '../sinks/webhook-sinks.ts'
import { moneyCases } from './method-contract-money.ts'
import {
  assertUnknown,
  beginOrder,
  createMethod,
  openMethod,
  paidOrder,
  receivedNotice,
  testOrder,
  type FaultOf,
  type MethodCases,
  type MethodContract,
  type OpenMethod,
} from './method-fixture.ts'
import type { ScriptedNotice } from './scripted-provider.ts'

/** `for (const [title, run] of methodCases(contract)) test(`epay – ${title}`, run)` */
export function methodCases(contract: MethodContract): [title: string, run: () => Promise<void>][] {
  const cases: MethodCases = {
    ...settingsCases,
    ...orderCases,
    ...createFaultCases(contract),
    ...queryFaultCases(contract),
    ...closeCases(contract),
    ...moneyCases(contract),
  }
  return Object.entries(cases).map(([title, run]) => [
    title,
    async () => {
      await using open = await openMethod(contract)
      await run({ ...open, contract })
    },
  ])
}

const settingsCases: MethodCases = {
  'is absent unless it is configured': async ({ contract }) => {
    await using absent = createMethod(contract.create, {})
    assert.equal(absent.method, null)
  },

  'is a method of the relay, once that has a public address': async ({ method, provider }) => {
    await using http = new ProviderHttp(['127.0.0.1'])
    const open = (more: Readonly<Record<string, string>>) => {
      const config = readConfig({ ...provider.settings, ...more })
      return createPaymentMethods({ config, currency: 'CNY', http, now: Date.now })
    }
    assert.deepEqual([...(await open({ PUBLIC_URL: 'https://relay.example' })).keys()], [method.name])
    await assert.rejects(() => open({}), { name: 'ConfigError', message: /PUBLIC_URL/ })
  },

  'names the setting that is missing': async ({ contract, provider }) => {
    for (const missing of contract.required) {
      const settings = Object.entries(provider.settings).filter(([setting]) => setting !== missing)
      assert.throws(
        () => createMethod(contract.create, Object.fromEntries(settings)),
        (error: Error) => error.name === 'ConfigError' && error.message.includes(missing),
        missing,
      )
    }
  },

  'a setting that is blank counts as missing': async ({ contract, provider }) => {
    for (const blank of ['', ' ', '\t\n']) {
      for (const name of contract.required) {
        assert.throws(
          () => createMethod(contract.create, { ...provider.settings, [name]: blank }),
          (error: Error) => error.name === 'ConfigError' && error.message.includes(name),
          `${name} = ${JSON.stringify(blank)}`,
        )
      }
    }
  },

  'the check accepts right credentials and reports wrong ones': async ({ contract, method, provider }) => {
    assert.equal(await method.check(), null)
    await using wrong = createMethod(contract.create, { ...provider.settings, ...contract.wrongSettings })
    const problem = (await wrong.method?.check()) ?? ''
    assert.notEqual(problem, '')
    for (const value of Object.values(contract.wrongSettings)) assert.ok(!problem.includes(value), problem)
  },
}

const orderCases: MethodCases = {
  'an order is unpaid until it is paid, and then states what was paid': async (open) => {
    const { method, provider } = open
    const order = await beginOrder(open)
    assert.deepEqual(await method.read(order), { state: 'unpaid' })
    const transaction = provider.pay(order.id)
    const reading = await method.read(order)
    assert.ok(reading.state === 'paid', reading.state)
    const { payment } = reading
    assert.equal(payment.order, order.id)
    assert.equal(payment.merchant, method.merchant)
    assert.equal(payment.currency, order.currency)
    assert.equal(payment.amountMinor, order.amountMinor)
    assert.equal(payment.transaction, transaction)
    assert.match(payment.payer ?? '0'.repeat(64), /^[0-9a-f]{64}$/)
    assert.deepEqual(await method.read(order), reading)
  },

  'every product begins, and the same order begins once': async (open) => {
    const { method, provider } = open
    for (const product of method.products.length === 0 ? [null] : method.products) {
      const order = await beginOrder(open, { product })
      assert.equal((await method.begin({ ...order, reference: null })).kind, 'begun')
      provider.pay(order.id)
      assert.equal((await method.read(order)).state, 'paid')
      assert.equal(provider.payments.filter((payment) => payment.order === order.id).length, 1)
    }
    assert.equal(provider.orders.length, new Set(provider.orders).size)
  },

  'an order that the provider does not know is unpaid': async ({ method }) => {
    assert.deepEqual(await method.read(testOrder(method)), { state: 'unpaid' })
  },

  'other amounts, currencies and merchants are reported as they are': async (open) => {
    const { contract, method, provider } = open
    for (const difference of [-1n, 1n]) {
      const order = await beginOrder(open)
      provider.pay(order.id, { amountMinor: order.amountMinor + difference })
      const reading = await method.read(order)
      assert.ok(reading.state === 'paid', reading.state)
      assert.equal(reading.payment.amountMinor, order.amountMinor + difference)
    }
    for (const field of contract.reported) {
      const order = await beginOrder(open)
      provider.pay(order.id, field === 'currency' ? { currency: 'HKD' } : { merchant: '9999' })
      const reading = await method.read(order)
      assert.ok(reading.state === 'paid', reading.state)
      assert.notEqual(reading.payment[field], method[field])
    }
  },

  'a coupon of the provider does not change the amount of the order': async (open) => {
    const order = await beginOrder(open)
    open.provider.pay(order.id, { couponMinor: 100n })
    const reading = await open.method.read(order)
    assert.ok(reading.state === 'paid', reading.state)
    assert.equal(reading.payment.amountMinor, order.amountMinor)
  },

  'a slow means of payment is processing until the money is there': async (open) => {
    const { method, provider } = open
    const order = await beginOrder(open)
    if (provider.process !== undefined) {
      provider.process(order.id)
      assert.deepEqual(await method.read(order), { state: 'processing' })
    }
    provider.pay(order.id)
    assert.equal((await method.read(order)).state, 'paid')
  },
}

const createFaults: Readonly<Record<FaultOf<'create'>, (open: OpenMethod) => Promise<void>>> = {
  unreachable: async (open) => {
    const order = testOrder(open.method)
    await assertUnknown(open, open.method.begin(order))
    open.provider.faults = {}
    assert.equal((await open.method.begin(order)).kind, 'begun')
  },

  refused: async ({ method }) => {
    const begun = await method.begin(testOrder(method))
    assert.ok(begun.kind === 'refused' && begun.reason !== '', begun.kind)
  },

  'notice-first': async ({ method }) => {
    const subjects: (NoticeSubject | undefined)[] = []
    const sink = await startWebhookSink(async ({ url, headers, body }) => {
      const notice: ScriptedNotice = {
        method: body === '' ? 'GET' : 'POST',
        query: url.search,
        headers: headers as Record<string, string>,
        body,
      }
      subjects.push(await method.notices?.read(receivedNotice(notice)))
      return { status: 200, body: 'success' }
    })
    const order = testOrder(method, { noticeUrl: `${sink.url}/api/payments/${method.name}/notice` })
    const begun = await method.begin(order)
    assert.ok(begun.kind === 'begun', begun.kind)
    assert.partialDeepStrictEqual(subjects, [{ kind: 'order', order: order.id }])
    assert.equal((await method.read({ ...order, reference: begun.reference })).state, 'paid')
  },
}

function createFaultCases(contract: MethodContract): MethodCases {
  return Object.fromEntries(
    contract.createFaults.map((fault) => [
      `beginning an order survives the fault: ${fault}`,
      async (open: OpenMethod) => {
        open.provider.faults = { create: fault }
        await createFaults[fault](open)
      },
    ]),
  )
}

function queryFaultCases(contract: MethodContract): MethodCases {
  return Object.fromEntries(
    contract.queryFaults.map((fault) => [
      `a read concludes nothing from the fault: ${fault}`,
      async (open: OpenMethod) => {
        const { method, provider } = open
        const order = await paidOrder(open)
        provider.faults = { query: fault }
        if (fault === 'flapping') assert.deepEqual(await method.read(order), { state: 'unpaid' })
        else {
          await assertUnknown(open, method.read(order))
          provider.faults = {}
        }
        assert.equal((await method.read(order)).state, 'paid')
      },
    ]),
  )
}

const closeFaults: Readonly<Record<FaultOf<'close'> | 'none', (open: OpenMethod) => Promise<void>>> = {
  none: async (open) => {
    const order = await beginOrder(open)
    assert.equal(await open.method.close(order), 'closed')
    assert.ok(['closed', 'unpaid'].includes((await open.method.read(order)).state))
  },

  'says-paid': async (open) => {
    const order = await beginOrder(open)
    assert.equal(await open.method.close(order), 'paid')
    assert.equal((await open.method.read(order)).state, 'paid')
  },

  timeout: async (open) => {
    await assertUnknown(open, open.method.close(await beginOrder(open)))
  },
}

function closeCases(contract: MethodContract): MethodCases {
  if (contract.closeFaults.length === 0) {
    return {
      'an order that cannot be closed stays payable': async (open) => {
        const order = await beginOrder(open)
        assert.equal(await open.method.close(order), 'unsupported')
        open.provider.pay(order.id)
        assert.equal((await open.method.read(order)).state, 'paid')
      },
    }
  }
  return Object.fromEntries(
    contract.closeFaults.map((fault) => [
      `closing an order races with its payment: ${fault}`,
      async (open: OpenMethod) => {
        if (fault !== 'none') open.provider.faults = { close: fault }
        await closeFaults[fault](open)
      },
    ]),
  )
}
