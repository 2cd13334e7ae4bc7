/** A self-signed certificate for models.test and 127.0.0.1, created anew by each process that imports this file. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function makeCertificate(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
  try {
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const certificate = `-keyout ${keyFile} -out ${certFile} -nodes -days 2 -subj /CN=models.test`
    const names = '-addext subjectAltName=DNS:models.test,IP:127.0.0.1'
    const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1'
    execFileSync('openssl', `req -x509 ${newKey} ${names} ${certificate}`.split(' '), { stdio: 'ignore' })
    return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export const { key, cert } = makeCertificate()
