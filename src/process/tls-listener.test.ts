import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { describe, test } from 'node:test'
import { readConfig } from '../config.ts'
import { createHttpServer } from './http-server.ts'
import { cert, key } from '../lib/certificate.fixture.ts'
import { createListener } from './tls-listener.ts'

describe('createListener', () => {
  test('unfinished head over TLS – 408, and the connection is closed', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-tls-'))
    t.after(() => rm(folder, { recursive: true }))
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)])
    const config = readConfig({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile })
    const timeouts = { headTimeoutMs: 50, checkIntervalMs: 10 }
    const limits = { idleTimeoutMs: 60_000, highWaterMark: 16_384, bodyLimitBytes: 1024 }
    const server = createHttpServer({ ...limits, ...timeouts, writeTimeoutMs: 60_000 }, () => undefined)
    const { listener } = createListener(server, { config, highWaterMark: 16_384 }, () => undefined)
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', ca: cert })
    t.after(() => {
      socket.destroy()
      listener.close()
    })
    socket.setEncoding('latin1').write('GET / HTTP/1.1\r\nHost: x\r\n')
    let received = ''
    socket.on('data', (text: string) => (received += text))
    await once(socket, 'close')
    assert.match(received, /^HTTP\/1\.1 408 /)
  })
})
