/**
 * TLS termination in the relay, for operation without a reverse proxy: decrypted connections go to the same HTTP server as
 * plain ones. A renewed certificate is loaded without a restart; an invalid one is ignored.
 */
import { readFileSync, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import type { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'
import { createSecureContext, createServer } from 'node:tls'
import type { Config } from '../config.ts'
import { headTimeoutMs } from '../http/server/fast-path.ts'
import { errorMessage } from '../lib/error-message.ts'

/** How often the files are checked for changes. */
const checkFilesEveryMs = 5000

/** Browsers that came over HTTPS once never use plain HTTP again for a year (RFC 6797). */
const strictTransportSecurity = 'max-age=31536000'

interface CertificatePair {
  readonly cert: Buffer
  readonly key: Buffer
  /** Changes when a file changes. */
  readonly version: string
}

interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

function certificateFilesOf({ tlsCertFile, tlsKeyFile }: Config): CertificateFiles | null {
  return tlsCertFile === null || tlsKeyFile === null ? null : { cert: tlsCertFile, key: tlsKeyFile }
}

function versionOf(files: CertificateFiles): string {
  return [files.cert, files.key].map((file) => `${statSync(file).mtimeMs} ${statSync(file).ino}`).join(' ')
}

/** Throws if a file cannot be read, or if the key does not match the certificate. */
function readCertificate(files: CertificateFiles): CertificatePair {
  const version = versionOf(files)
  const pair = { cert: readFileSync(files.cert), key: readFileSync(files.key), version }
  createSecureContext(pair)
  return pair
}

/** The same while the relay serves, which waits for no file. */
async function versionLater({ cert, key }: CertificateFiles): Promise<string> {
  const found = await Promise.all([stat(cert), stat(key)])
  return found.map(({ mtimeMs, ino }) => `${mtimeMs} ${ino}`).join(' ')
}

async function readCertificateLater(files: CertificateFiles): Promise<CertificatePair> {
  const version = await versionLater(files)
  const [cert, key] = await Promise.all([readFile(files.cert), readFile(files.key)])
  const pair = { cert, key, version }
  createSecureContext(pair)
  return pair
}

/** Why the configured certificate cannot be used; `null` if it can, or if TLS is not configured. */
export function findTlsProblem(config: Config): string | null {
  const files = certificateFilesOf(config)
  try {
    if (files) readCertificate(files)
    return null
  } catch (error) {
    return errorMessage(error)
  }
}

export interface HttpListener {
  /** The HTTP server itself, or a TLS server in front of it. */
  readonly listener: Server
  /** Reads the files again, whether they have changed or not. */
  readonly reloadCertificate: () => void
}

/** `onProblem`: a renewed pair cannot be used; called once per reason, and at each `reloadCertificate`. */
export function createListener(
  server: HttpServer,
  { config, highWaterMark }: { readonly config: Config; readonly highWaterMark: number },
  onProblem: (error: unknown) => void,
): HttpListener {
  const files = certificateFilesOf(config)
  if (!files) return { listener: server, reloadCertificate: () => {} }
  let pair = readCertificate(files)
  const options = {
    ...pair,
    ALPNProtocols: ['http/1.1'],
    noDelay: true,
    highWaterMark,
    handshakeTimeout: headTimeoutMs,
  }
  const listener = createServer(options, (socket) => void server.emit('connection', socket))
  // Here, and not in the endpoints: it belongs to the connection, and a browser gets it with any of its requests.
  server.prependListener('request', (_incoming, outgoing) => {
    outgoing.setHeader('strict-transport-security', strictTransportSecurity)
  })
  // node:http only checks the timeouts of connections once its server listens.
  listener.on('listening', () => void server.emit('listening'))
  // Clients that do not speak TLS, or disconnect during the handshake, are not reported.
  listener.on('tlsClientError', () => {})
  let reported = ''
  let isReloading = false
  const reload = async (isChanged: () => Promise<boolean>): Promise<void> => {
    // One at a time: files that cannot be read hold no more than one thread of the pool.
    if (isReloading) return
    isReloading = true
    try {
      if (!(await isChanged())) return
      pair = await readCertificateLater(files)
      listener.setSecureContext(pair)
      reported = ''
    } catch (error) {
      if (String(error) !== reported) onProblem(error)
      reported = String(error)
    } finally {
      isReloading = false
    }
  }
  const timer = setInterval(
    () => void reload(async () => (await versionLater(files)) !== pair.version),
    checkFilesEveryMs,
  )
  timer.unref()
  listener.on('close', () => clearInterval(timer))
  const reloadCertificate = (): void => {
    reported = ''
    void reload(() => Promise.resolve(true))
  }
  return { listener, reloadCertificate }
}
