import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { SseEventTooLargeError } from '../../lib/sse/sse-parser.ts'
import { AwsEventStreamParser } from './aws-event-stream.ts'
import { signAwsRequest } from './aws-signature.ts'
import { encodeAwsFrame, createCall } from '../contract.fixture.ts'
import { bedrock } from './bedrock.ts'
import type { StreamEvent } from '../provider.ts'

const accessKeyId = 'AKIDEXAMPLE'
const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'

describe('AWS signature and credentials', () => {
  test('signAwsRequest – matches Amazon’s published example (post-vanilla)', () => {
    const headers = signAwsRequest(
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

  test('credentials – access key in two forms or API key; region from URL or key', () => {
    const authorizationOf = (credential: string, baseUrl: string): string => {
      const { headers } = bedrock.buildRequest(createCall(bedrock, {}, { credential, baseUrl }))
      return headers.find(([name]) => name === 'authorization')?.[1] ?? ''
    }
    const place = 'https://bedrock-runtime.eu-central-1.amazonaws.com'
    assert.match(
      authorizationOf(`AKIAIOSFODNN7EXAMPLE:${secretAccessKey}`, place),
      /\/eu-central-1\/bedrock\//,
    )
    const json = { access_key_id: 'AKIA', secret_access_key: 's', session_token: 't', region: 'us-west-2' }
    assert.match(authorizationOf(JSON.stringify(json), place), /\/us-west-2\/.*x-amz-security-token/)
    assert.equal(authorizationOf('bedrock-api-key-abc', place), 'Bearer bedrock-api-key-abc')
    assert.throws(() => authorizationOf('{"access_key_id":"AKIA"}', place), /secret_access_key/)
  })
})

describe('AwsEventStreamParser', () => {
  function read(bytes: Buffer, most = 1000): StreamEvent[] {
    const events: StreamEvent[] = []
    new AwsEventStreamParser((event) => events.push(event), most).push(bytes)
    return events
  }

  test('push – parses events, exceptions and errors with their names', () => {
    const event = encodeAwsFrame(
      { ':event-type': 'messageStop', ':message-type': 'event' },
      '{"stopReason":"end_turn"}',
    )
    const exception = encodeAwsFrame(
      { ':exception-type': 'throttlingException', ':message-type': 'exception' },
      '{"message":"Slow down"}',
    )
    const error = encodeAwsFrame(
      { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Sorry' },
      '',
    )
    assert.deepEqual(read(Buffer.concat([event, exception, error])), [
      { name: 'messageStop', text: '{"stopReason":"end_turn"}' },
      { name: 'throttlingException', text: '{"message":"Slow down"}' },
      { name: 'InternalFailure', text: '{"message":"Sorry"}' },
    ])
  })

  test('push – rejects frames with a wrong byte or over the maximum', () => {
    const frame = encodeAwsFrame(
      { ':event-type': 'messageStop', ':message-type': 'event' },
      '{"stopReason":"end_turn"}',
    )
    for (let at = 0; at < frame.length; at++) {
      const wrong = Buffer.from(frame)
      wrong.writeUInt8(wrong.readUInt8(at) ^ 1, at)
      assert.throws(() => read(wrong), /checksum/, `byte ${at}`)
    }
    assert.throws(() => read(frame, 50), SseEventTooLargeError)
  })

  test('exceptions – become errors with their HTTP status', () => {
    const stream = bedrock.translation?.createStream(createCall(bedrock, { stream: true }))
    const chunks = stream?.translate({ name: 'throttlingException', text: '{"message":"Slow down"}' })
    const error = {
      message: 'Slow down',
      type: 'throttlingException',
      code: 'throttlingException',
      status_code: 429,
    }
    assert.deepEqual(chunks, [{ error }])
  })
})
