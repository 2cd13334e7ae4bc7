/** Why an exchange failed, classified so that a caller can decide whether to retry. */

/**
 * `forbidden_address`: the address guard rejected the address, nothing was connected · `dns`: the name did not resolve ·
 * `refused`: connection refused or no route to the host · `tls`: the handshake or the certificate check failed ·
 * `timeout`: connecting timed out · `proxy`: the proxy rejected the connection · `reset`: the connection ended before
 * the response did · `malformed`: the response is not valid HTTP.
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
  /** For logs; may contain addresses. */
  readonly message: string
  /** Whether any byte of the request may have reached the server. */
  readonly sent: boolean
  /** Whether any byte of the response arrived. */
  readonly hasResponse: boolean
}

/** The phase of a connection. */
export type ConnectionStage = 'connecting' | 'securing' | 'open'

/** Classifies a socket error by the stage in which it occurred. */
export function classifyFailure(error: NodeJS.ErrnoException, stage: ConnectionStage): FailureKind {
  const code = error.code ?? ''
  if (code === 'ERR_FORBIDDEN_ADDRESS') return 'forbidden_address'
  if (code === 'ERR_PROXY') return 'proxy'
  if (error.syscall === 'getaddrinfo' || code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'dns'
  if (stage === 'securing' || code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')) return 'tls'
  if (code === 'ETIMEDOUT' && stage === 'connecting') return 'timeout'
  return stage === 'connecting' ? 'refused' : 'reset'
}
