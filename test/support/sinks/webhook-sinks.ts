/** Receivers of notifications: a scripted HTTP server, and a mail server with one mailbox. */

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { createServer as createMailServer, type AddressInfo, type Socket } from 'node:net'
import { after } from 'node:test'

export interface ReceivedWebhook {
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface WebhookResponse {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

export interface WebhookSink {
  readonly url: string
  readonly received: ReceivedWebhook[]
  /** Requests without a complete response whose sender is still connected. */
  readonly openRequests: number
  /** Returns the response to a webhook. */
  respond: (received: ReceivedWebhook) => WebhookResponse | Promise<WebhookResponse>
}

/** Closed after the last test of the file. */
export async function startWebhookSink(respond: WebhookSink['respond'] = () => ({})): Promise<WebhookSink> {
  const received: ReceivedWebhook[] = []
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://receiver.example')
      const webhook = { url, headers: request.headers, body: Buffer.concat(parts).toString() }
      received.push(webhook)
      void Promise.resolve(sink.respond(webhook)).then(({ status = 200, headers = {}, body = '' }) =>
        response.writeHead(status, headers).end(body),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const sink: WebhookSink = {
    url: `http://127.0.0.1:${port}`,
    received,
    get openRequests() {
      return open.size
    },
    respond,
  }
  return sink
}

export interface Email {
  readonly from: string
  readonly to: string
  readonly headers: Record<string, string>
  readonly text: string
}

export interface Mailbox {
  /** For SMTP_URL. */
  readonly url: string
  readonly emails: Email[]
  /** The number of e-mails to reject temporarily (RFC 5321, 451) before the next one is accepted. */
  rejections: number
}

function decodeHeader(value: string): string {
  return value
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(text, 'base64').toString()
        : decodeQuotedPrintable(text.replaceAll('_', ' ')),
    )
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

function parseEmail(from: string, to: string, data: string): Email {
  const [head = '', ...rest] = data.split('\r\n\r\n')
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      decodeHeader(line.slice(line.indexOf(':') + 2)),
    ]),
  )
  const body = rest.join('\r\n\r\n')
  const encoding = headers['content-transfer-encoding']
  if (encoding === 'base64') return { from, to, headers, text: Buffer.from(body, 'base64').toString() }
  return { from, to, headers, text: encoding === 'quoted-printable' ? decodeQuotedPrintable(body) : body }
}

/** The part of SMTP that a client without authentication and TLS needs. Closed after the last test of the file. */
export async function startMailbox(): Promise<Mailbox> {
  const emails: Email[] = []
  const sockets = new Set<Socket>()
  const server = createMailServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    let [from, to, rest, isData] = ['', '', '', false]
    const response = (line: string): void => void socket.write(`${line}\r\n`)
    const handleCommand = (line: string): void => {
      const address = /<([^>]*)>/.exec(line)?.[1] ?? ''
      if (/^(EHLO|HELO)/i.test(line)) response('250 mail.example')
      else if (/^MAIL FROM/i.test(line)) response(((from = address), '250 ok'))
      else if (/^RCPT TO/i.test(line)) response(((to = address), '250 ok'))
      else if (/^DATA/i.test(line)) response(((isData = true), '354 go on'))
      else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n')
      else response('250 ok')
    }
    socket.on('data', (part: Buffer) => {
      rest += part.toString('latin1')
      for (;;) {
        const end = rest.indexOf(isData ? '\r\n.\r\n' : '\r\n')
        if (end < 0) return
        const line = Buffer.from(rest.slice(0, end), 'latin1').toString()
        rest = rest.slice(end + (isData ? 5 : 2))
        if (!isData) {
          handleCommand(line)
          continue
        }
        isData = false
        if (mailbox.rejections > 0) {
          mailbox.rejections -= 1
          response('451 not now')
        } else {
          emails.push(parseEmail(from, to, line))
          response('250 taken')
        }
      }
    })
    response('220 mail.example')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const mailbox: Mailbox = { url: `smtp://127.0.0.1:${port}`, emails, rejections: 0 }
  return mailbox
}
