/**
 * A passkey authenticator in software, as far as the relay verifies it: an elliptic-curve key that signs what a browser
 * passes to it (WebAuthn Level 3: authenticator data, client data, no attestation).
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

interface Options {
  challenge?: unknown
}

const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest()

/** CBOR (RFC 8949) of the types in an attestation: integers, bytes, texts and maps, all short. */
function cbor(value: number | string | Uint8Array | Map<number | string, unknown>): Buffer {
  const head = (kind: number, size: number): Buffer => {
    if (size < 24) return Buffer.from([(kind << 5) | size])
    return size < 256
      ? Buffer.from([(kind << 5) | 24, size])
      : Buffer.from([(kind << 5) | 25, size >> 8, size & 255])
  }
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  const parts = [...value].flatMap(([key, each]) => [cbor(key), cbor(each as number)])
  return Buffer.concat([head(5, value.size), ...parts])
}

export class SoftwareAuthenticator {
  readonly #origin: string
  readonly #id = randomBytes(16)
  readonly #privateKey: KeyObject
  readonly #coseKey: Buffer
  #counter = 0

  constructor(origin: string) {
    this.#origin = origin
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    this.#privateKey = privateKey
    const bytes = (text: string): Buffer => Buffer.from(text, 'base64url')
    this.#coseKey = cbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(x)],
        [-3, bytes(y)],
      ]),
    )
  }

  #clientData(type: string, { challenge }: Options): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }))
  }

  /** `isVerified`: the user has unlocked the device. */
  #data(isVerified: boolean, attested?: Buffer): Buffer {
    this.#counter += 1
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.#counter)
    const flags = 1 | (isVerified ? 4 : 0) | (attested ? 64 : 0)
    const parts = [sha256(new URL(this.#origin).hostname), Buffer.from([flags]), counter]
    return Buffer.concat(attested ? [...parts, attested] : parts)
  }

  /** The result of `navigator.credentials.create`, as JSON. */
  create(options: Options): Record<string, unknown> {
    const length = Buffer.from([0, this.#id.length])
    const attested = Buffer.concat([Buffer.alloc(16), length, this.#id, this.#coseKey])
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', this.#data(true, attested)],
    ])
    const response = {
      clientDataJSON: this.#clientData('webauthn.create', options).toString('base64url'),
      attestationObject: cbor(attestation).toString('base64url'),
      transports: ['internal'],
    }
    return this.#credential(response)
  }

  /** The result of `navigator.credentials.get`, as JSON. */
  get(options: Options, isVerified = true): Record<string, unknown> {
    const client = this.#clientData('webauthn.get', options)
    const data = this.#data(isVerified)
    const signature = sign('sha256', Buffer.concat([data, sha256(client)]), this.#privateKey)
    return this.#credential({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
    })
  }

  #credential(response: object): Record<string, unknown> {
    const id = this.#id.toString('base64url')
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }
}
