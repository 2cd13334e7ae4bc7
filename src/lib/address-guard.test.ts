import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { describe, test } from 'node:test'
import {
  upstreamUrlProblem,
  ForbiddenAddressError,
  forbiddenReason,
  createGuardedLookup,
  parseHostLiteral,
  parseCidrs,
  type Cidr,
} from './address-guard.ts'

/** Hosts that stand for a forbidden address, in every known notation. */
const forbiddenHosts = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '0',
  '0.0.0.0',
  '0.1.2.3',
  '0x7f.0.0.1',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0177.0x0.0.1',
  '127.0.0.1.',
  '127.000.000.001',
  '１２７.０.０.１',
  '127。0。0。1',
  '①②⑦.⓪.⓪.①',
  '%31%32%37.0.0.1',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '169.254.43518',
  '10.0.0.1',
  '10.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  '198.18.0.1',
  '192.0.2.1',
  '198.51.100.7',
  '203.0.113.1',
  '192.88.99.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:169.254.169.254]',
  '[::ffff:0.0.0.0]',
  '[::ffff:0:127.0.0.1]',
  '[::127.0.0.1]',
  '[::a9fe:a9fe]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b:1::a00:1]',
  '[2002:7f00:1::]',
  '[2002:a9fe:a9fe::1]',
  '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[100::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[4000::1]',
  '[5f00::1]',
  '[e000::1]',
]

const localNames =
  'localhost LOCALHOST localhost. loc%61lhost ｌｏｃａｌｈｏｓｔ a.localhost a.b.localhost.'.split(' ')

const wrongUrls = [
  'ftp://models.example.com/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:6379/_x',
  'javascript:alert(1)',
  'data:,x',
  'ws://models.example.com/',
  'models.example.com',
  '//models.example.com/',
  '',
  'http://',
  'https://user@models.example.com/',
  'https://user:secret@models.example.com/',
  'https://:secret@models.example.com/',
  'http://models.example.com@127.0.0.1/',
  'http://127.0.0.1\\@models.example.com/',
  'http://models.example.com\\.evil.test/',
  'http://127.0.0.1\t.example.com/',
  'http://models.\nexample.com/',
  ' http://models.example.com/',
  'http://models.example.com/ ',
  'http://[fe80::1%25eth0]/',
  'http://[::1%25lo]/',
  'http://[::ffff:127.0.0.1/',
  'http://1.2.3.4.5/',
  'http://256.0.0.1/',
  'http:127.0.0.1/',
  'http:/127.0.0.1/',
  'http:///127.0.0.1/',
  'http://127.0.0.1:80#@models.example.com/',
  'http://127.0.0.1?@models.example.com/',
  'http://models.example.com:99999/',
]

describe('address guard', () => {
  test('upstreamUrlProblem – rejects forbidden addresses in every notation', () => {
    assert.ok(forbiddenHosts.length + localNames.length + wrongUrls.length >= 40)
    for (const host of [...forbiddenHosts, ...localNames]) {
      for (const url of [`http://${host}`, `https://${host}:8443/v1?a=b`]) {
        assert.notEqual(upstreamUrlProblem(url, []), null, url)
      }
    }
    for (const url of wrongUrls) assert.notEqual(upstreamUrlProblem(url, []), null, url)
  })

  test('upstreamUrlProblem – accepts public addresses and names', () => {
    for (const url of [
      'https://api.example.com/v1',
      'http://models.example.com:8080/',
      'https://8.8.8.8/',
      'https://134744072/',
      'https://[2606:4700:4700::1111]/v1',
      'https://[::ffff:8.8.8.8]/',
      'https://172.32.0.1/',
      'https://100.128.0.1/',
      'https://localhost.example.com/',
      'https://notlocalhost/',
      'https://127.0.0.1.nip.example/',
      'https://例子.example/',
    ]) {
      assert.equal(upstreamUrlProblem(url, []), null, url)
    }
  })

  test('upstreamUrlProblem – explains what is wrong', () => {
    assert.equal(
      upstreamUrlProblem('http://0x7f.1/', []),
      'The address 127.0.0.1 is a loopback address, which is not allowed.',
    )
    assert.equal(
      upstreamUrlProblem('http://localhost./', []),
      'The name localhost. means a loopback address, which is not allowed.',
    )
    assert.match(upstreamUrlProblem('ftp://x/', []) ?? '', /https:\/\//)
    assert.match(upstreamUrlProblem('http://10.0.0.5/', [], 'X_ALLOW') ?? '', /addresses in X_ALLOW\.$/)
  })

  test('upstreamUrlProblem – accepts listed networks in every notation, and nothing else', () => {
    const allow = parseCidrs('127.0.0.0/8, 10.1.0.0/16 fd00:1::/32')
    for (const host of [
      '127.0.0.1',
      '0x7f.1',
      '[::ffff:127.0.0.1]',
      'localhost',
      'a.localhost',
      '10.1.2.3',
      '[fd00:1::5]',
    ]) {
      assert.equal(upstreamUrlProblem(`http://${host}/`, allow), null, host)
    }
    for (const host of [
      '10.2.0.1',
      '[::1]',
      '[fd00:2::5]',
      '0.0.0.0',
      '[64:ff9b::7f00:1]',
      '[::127.0.0.1]',
    ]) {
      assert.notEqual(upstreamUrlProblem(`http://${host}/`, allow), null, host)
    }
  })

  test('parseHostLiteral – parses every notation of an address, and no names', () => {
    const literals = [
      ['127.1', '127.0.0.1'],
      ['0300.0250.1', '192.168.0.1'],
      ['[::1]', '::1'],
      ['::1', '::1'],
      ['::FFFF:1.2.3.4', '::ffff:102:304'],
      ['8.8.8.8.', '8.8.8.8'],
      ['fe80::1%eth0', 'fe80::1%eth0'],
    ] as const
    for (const [host, literal] of literals) assert.equal(parseHostLiteral(host), literal, host)
    for (const host of [
      'example.com',
      'a1',
      'dead.beef',
      '127.0.0.1.example.com',
      '',
      'a/b',
      '1@2',
      ':',
      '1.2.3.4:80',
    ]) {
      assert.equal(parseHostLiteral(host), null, host)
    }
  })

  test('forbiddenReason – rejects everything that is not an address', () => {
    for (const literal of [
      '',
      'example.com',
      '0x7f.1',
      '127.1',
      '1.2.3.4/8',
      'fe80::1%eth0',
      '2606:4700::1%eth0',
      '[::1]',
    ]) {
      assert.notEqual(forbiddenReason(literal, []), null, literal)
    }
    assert.equal(forbiddenReason('1.1.1.1', []), null)
  })

  test('parseCidrs – parses networks and names an invalid one', () => {
    assert.deepEqual(parseCidrs(''), [])
    assert.equal(parseCidrs('10.0.0.0/8,\n192.168.1.1 ::1').length, 3)
    for (const [text, message] of [
      ['10.0.0.0/33', /"10\.0\.0\.0\/33".*0 to 32/],
      ['fd00::/129', /0 to 128/],
      ['10.0.0.0/', /prefix length/],
      ['10.0.0.0/-1', /prefix length/],
      ['10.0.0.0/8/8', /write an address/],
      ['10.0.0/8', /write an address/],
      ['example.com', /write an address/],
      ['fe80::1%eth0', /write an address/],
      ['10.0.0.1/8', /did you mean 10\.0\.0\.0\/8\?/],
      ['fd00::1/8', /did you mean fd00::\/8\?/],
      ['::ffff:10.0.0.0/104', /write it as IPv4/],
    ] as const) {
      assert.throws(() => parseCidrs(`127.0.0.0/8 ${text}`), message, text)
    }
  })

  function lookUp(
    addresses: string[],
    allow: readonly Cidr[],
    all: boolean,
  ): Promise<{ error: Error | null; found: string | LookupAddress[] }> {
    const lookup = createGuardedLookup(allow, (_hostname, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    )
    return new Promise((resolve) =>
      lookup('models.test', { all }, (error, found) => resolve({ error, found })),
    )
  }

  test('createGuardedLookup – returns only allowed addresses', async () => {
    const mixed = ['10.0.0.1', '1.1.1.1', '::1', '2606:4700::1', '::ffff:10.0.0.1']
    assert.deepEqual((await lookUp(mixed, [], true)).found, [
      { address: '1.1.1.1', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ])
    assert.equal((await lookUp(mixed, [], false)).found, '1.1.1.1')
    assert.equal((await lookUp(mixed, parseCidrs('10.0.0.0/8'), false)).found, '10.0.0.1')
  })

  test('createGuardedLookup – rejects a name with only forbidden addresses', async () => {
    for (const address of [
      '169.254.169.254',
      '127.0.0.1',
      'fd00:ec2::254',
      '::ffff:10.0.0.1',
      'fe80::1%eth0',
    ]) {
      const { error } = await lookUp([address], [], true)
      assert.ok(error instanceof ForbiddenAddressError, address)
      assert.match(error.message, /models\.test resolves to/)
    }
    assert.ok((await lookUp([], [], true)).error instanceof ForbiddenAddressError)
  })

  test('createGuardedLookup – passes a failed lookup on', async () => {
    const failure = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    const lookup = createGuardedLookup([], (_hostname, _options, callback) => callback(failure, []))
    const error = await new Promise((resolve) => lookup('models.test', {}, (fault) => resolve(fault)))
    assert.equal(error, failure)
  })
})
