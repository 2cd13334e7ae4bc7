import assert from 'node:assert/strict'
import { test } from 'node:test'

import { EventTooLarge } from '../lib/sse/sse-parser.ts'
import { AwsEventStream } from './bedrock/aws-event-stream.ts'
import { awsHeaders } from './bedrock/aws-signature.ts'
import { awsFrame, callOf } from './contract.fixture.ts'
import { bedrock } from './bedrock/bedrock.ts'
import type { StreamEvent } from './provider.ts'

const accessKeyId = 'AKIDEXAMPLE'
const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'

test("requests are signed as in Amazon's published example (post-vanilla)", () => {
  const headers = awsHeaders(
    { url: new URL('https://example.amazonaws.com/'), headers: [], body: [] },
    {
      key: { accessKeyId, secretAccessKey, sessionToken: undefined },
      region: 'us-east-1',
      service: 'service',
      nowMs: Date.UTC(2015, 7, 30, 12, 36, 0),
    },
  )
  assert.deepEqual(headers, [
    ['x-amz-date', '20150830T123600Z'],
    [
      'authorization',
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    ],
  ])
})

test('bedrock takes an access key in two forms and an API key; the region is in the address or the key', () => {
  const authorizationOf = (credential: string, baseUrl: string): string => {
    const { headers } = bedrock.ask(callOf(bedrock, {}, { credential, baseUrl }))
    return headers.find(([name]) => name === 'authorization')?.[1] ?? ''
  }
  const place = 'https://bedrock-runtime.eu-central-1.amazonaws.com'
  assert.match(authorizationOf(`AKIAIOSFODNN7EXAMPLE:${secretAccessKey}`, place), /\/eu-central-1\/bedrock\//)
  const json = { access_key_id: 'AKIA', secret_access_key: 's', session_token: 't', region: 'us-west-2' }
  assert.match(authorizationOf(JSON.stringify(json), place), /\/us-west-2\/.*x-amz-security-token/)
  assert.equal(authorizationOf('bedrock-api-key-abc', place), 'Bearer bedrock-api-key-abc')
  assert.throws(() => authorizationOf('{"access_key_id":"AKIA"}', place), /secret_access_key/)
})

function read(bytes: Buffer, most = 1000): StreamEvent[] {
  const events: StreamEvent[] = []
  new AwsEventStream((event) => events.push(event), most).push(bytes)
  return events
}

test('frames tell events, exceptions and errors by their names', () => {
  const event = awsFrame(
    { ':event-type': 'messageStop', ':message-type': 'event' },
    '{"stopReason":"end_turn"}',
  )
  const exception = awsFrame(
    { ':exception-type': 'throttlingException', ':message-type': 'exception' },
    '{"message":"Slow down"}',
  )
  const error = awsFrame(
    { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Sorry' },
    '',
  )
  assert.deepEqual(read(Buffer.concat([event, exception, error])), [
    { name: 'messageStop', text: '{"stopReason":"end_turn"}' },
    { name: 'throttlingException', text: '{"message":"Slow down"}' },
    { name: 'InternalFailure', text: '{"message":"Sorry"}' },
  ])
})

test('a frame with any wrong byte, or larger than allowed, is not read', () => {
  const frame = awsFrame(
    { ':event-type': 'messageStop', ':message-type': 'event' },
    '{"stopReason":"end_turn"}',
  )
  for (let at = 0; at < frame.length; at++) {
    const wrong = Buffer.from(frame)
    wrong.writeUInt8(wrong.readUInt8(at) ^ 1, at)
    assert.throws(() => read(wrong), /checksum/, `byte ${at}`)
  }
  assert.throws(() => read(frame, 50), EventTooLarge)
})

test('an exception inside a stream is an error with the status that it amounts to', () => {
  const stream = bedrock.translation?.stream(callOf(bedrock, { stream: true }))
  const chunks = stream?.take({ name: 'throttlingException', text: '{"message":"Slow down"}' })
  const error = {
    message: 'Slow down',
    type: 'throttlingException',
    code: 'throttlingException',
    status_code: 429,
  }
  assert.deepEqual(chunks, [{ error }])
})
