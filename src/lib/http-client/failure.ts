/**
 * Why an exchange failed, in kinds that tell a caller whether another attempt makes sense.
 */

/**
 * `forbidden_address`: the guard said no, nothing was connected · `dns`: the name has no address · `refused`: no
 * connection, or no way there · `tls`: the handshake failed, or the certificate is not theirs · `timeout`: connecting
 * took too long · `proxy`: the proxy did not let us through · `reset`: the connection ended before the answer did ·
 * `malformed`: the answer is not HTTP.
 */
export type FailureKind =
  | 'forbidden_address'
  | 'dns'
  | 'refused'
  | 'tls'
  | 'timeout'
  | 'proxy'
  | 'reset'
  | 'malformed'

export interface ConnectionFailure {
  readonly kind: FailureKind
  /** For logs; may name addresses. */
  readonly message: string
  /** Whether any byte of the request may have reached the other side. */
  readonly sent: boolean
  /** Whether any byte of the answer came. */
  readonly answered: boolean
}

/** How far a connection has come. */
export type Stage = 'connecting' | 'securing' | 'open'

/** What an error of a socket means at the stage that it happened. */
export function failureKind(error: NodeJS.ErrnoException, stage: Stage): FailureKind {
  const code = error.code ?? ''
  if (code === 'ERR_FORBIDDEN_ADDRESS') return 'forbidden_address'
  if (code === 'ERR_PROXY') return 'proxy'
  if (error.syscall === 'getaddrinfo' || code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'dns'
  if (stage === 'securing' || code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')) return 'tls'
  if (code === 'ETIMEDOUT' && stage === 'connecting') return 'timeout'
  return stage === 'connecting' ? 'refused' : 'reset'
}
