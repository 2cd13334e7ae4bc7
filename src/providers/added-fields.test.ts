import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withAddedFields } from './added-fields.ts'
import { bedrock } from './bedrock/bedrock.ts'
import { createCall } from './contract.fixture.ts'

const request = (body: string) => ({
  url: 'https://api.example/v1',
  headers: [
    ['user-agent', 'sluice'],
    ['anthropic-beta', 'caller'],
  ] as const,
  body: [Buffer.from(body.slice(0, 5)), Buffer.from(body.slice(5))],
})
const textOf = (body: readonly Buffer[]): string => Buffer.concat(body).toString()

describe('withAddedFields', () => {
  test('members – follow the bytes of the request, and never replace one of it', () => {
    const added = { headers: [], body: { user: 'operator', seed: 1 } }
    for (const [body, expected] of [
      ['{ "a": 1.0 }\n', '{ "a": 1.0 ,"user":"operator","seed":1}'],
      ['{"us\\u0065r":"}"}', '{"us\\u0065r":"}","seed":1}'],
      ['{"seed":null,"user":2}', '{"seed":null,"user":2}'],
      ['{}', '{"user":"operator","seed":1}'],
      ['["a"]', '["a"]'],
    ] as const)
      assert.equal(textOf(withAddedFields(request(body), added).body), expected)
  })

  test('headers – replace the relay’s own, whatever their case; betas are added to the caller’s', () => {
    const headers = [
      ['User-Agent', 'operator'],
      ['Anthropic-Beta', 'operator'],
    ] as const
    assert.deepEqual(withAddedFields(request('{}'), { headers, body: {} }).headers, [
      ['anthropic-beta', 'caller'],
      ...headers,
    ])
  })

  test('signed requests – are signed with the members that are added', () => {
    const credential = 'AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
    const baseUrl = 'https://bedrock-runtime.eu-central-1.amazonaws.com'
    const plain = bedrock.buildRequest(createCall(bedrock, {}, { credential, baseUrl }))
    const added = { headers: [], body: { requestMetadata: { team: 'a' } } }
    const built = bedrock.buildRequest(createCall(bedrock, {}, { credential, baseUrl, added }))
    assert.match(textOf(built.body), /"requestMetadata":\{"team":"a"\}\}$/)
    assert.equal(textOf(withAddedFields(built, added).body), textOf(built.body))
    const signatureOf = ({ headers }: typeof built) => headers.find(([name]) => name === 'authorization')?.[1]
    assert.notEqual(signatureOf(built), signatureOf(plain))
  })
})
