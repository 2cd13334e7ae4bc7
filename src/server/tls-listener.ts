/**
 * TLS by the relay itself, for who has nothing in front of it: connections are decrypted here and handed to the same
 * doors as plain ones. A renewed certificate is taken without a restart; one that cannot be used is not.
 */
import { readFileSync, statSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'
import { createSecureContext, createServer } from 'node:tls'
import type { Config } from '../config.ts'
import { errorWords } from '../lib/error-message.ts'

/** How often the files are looked at. */
const lookEveryMs = 5000

interface Pair {
  readonly cert: Buffer
  readonly key: Buffer
  /** Changes when a file does. */
  readonly version: string
}

interface Files {
  readonly cert: string
  readonly key: string
}

function filesOf({ tlsCertFile, tlsKeyFile }: Config): Files | null {
  return tlsCertFile === null || tlsKeyFile === null ? null : { cert: tlsCertFile, key: tlsKeyFile }
}

function versionOf(files: Files): string {
  return [files.cert, files.key].map((file) => `${statSync(file).mtimeMs} ${statSync(file).ino}`).join(' ')
}

/** Throws when a file cannot be read, or the two do not belong together. */
function read(files: Files): Pair {
  const version = versionOf(files)
  const pair = { cert: readFileSync(files.cert), key: readFileSync(files.key), version }
  createSecureContext(pair)
  return pair
}

/** Why TLS cannot be spoken as it is set; `null` when it can, or is not wanted. */
export function tlsProblem(config: Config): string | null {
  const files = filesOf(config)
  try {
    if (files) read(files)
    return null
  } catch (error) {
    return errorWords(error)
  }
}

/** What listens in front of the doors: the server itself, or TLS before it. `onProblem`: a renewed pair cannot be used, once for each reason. */
export function listenerOf(
  server: HttpServer,
  { config, highWaterMark }: { readonly config: Config; readonly highWaterMark: number },
  onProblem: (error: unknown) => void,
): Server {
  const files = filesOf(config)
  if (!files) return server
  let pair = read(files)
  const options = { ...pair, ALPNProtocols: ['http/1.1'], noDelay: true, highWaterMark }
  const listener = createServer(options, (socket) => void server.emit('connection', socket))
  // Strangers who speak something else, or leave in the middle, are no event.
  listener.on('tlsClientError', () => {})
  let told = ''
  const looking = setInterval(() => {
    try {
      if (versionOf(files) === pair.version) return
      pair = read(files)
      listener.setSecureContext(pair)
      told = ''
    } catch (error) {
      if (String(error) !== told) onProblem(error)
      told = String(error)
    }
  }, lookEveryMs)
  looking.unref()
  listener.on('close', () => clearInterval(looking))
  return listener
}
