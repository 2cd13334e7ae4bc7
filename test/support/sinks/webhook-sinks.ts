/** Those who get notices, in stories: an HTTP server that does as told, and a mail server with one mailbox. */

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createServer as createMailServer, type AddressInfo, type Socket } from 'node:net'
import { after } from 'node:test'

export interface Received {
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface ReceiverAnswer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** What it answers from now on; a promise is waited for. */
  answer: (received: Received) => ReceiverAnswer | Promise<ReceiverAnswer>
}

/** Closed after the last story of the file. */
export async function openReceiver(answer: Receiver['answer'] = () => ({})): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://receiver.example')
      const one = { url, headers: request.headers, body: Buffer.concat(parts).toString() }
      received.push(one)
      void Promise.resolve(receiver.answer(one)).then(({ status = 200, headers = {}, body = '' }) =>
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
  const receiver: Receiver = { url: `http://127.0.0.1:${port}`, received, answer }
  return receiver
}

export interface Letter {
  readonly from: string
  readonly to: string
  readonly headers: Record<string, string>
  readonly text: string
}

export interface Mailbox {
  /** For SMTP_URL. */
  readonly url: string
  readonly letters: Letter[]
  /** So many letters are refused for now (RFC 5321, 451) before the next is taken. */
  refusals: number
}

function decodedWord(value: string): string {
  return value
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toUpperCase() === 'B' ? Buffer.from(text, 'base64').toString() : quoted(text.replaceAll('_', ' ')),
    )
}

function quoted(text: string): string {
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

function letterOf(from: string, to: string, data: string): Letter {
  const [head = '', ...rest] = data.split('\r\n\r\n')
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      decodedWord(line.slice(line.indexOf(':') + 2)),
    ]),
  )
  const body = rest.join('\r\n\r\n')
  const encoding = headers['content-transfer-encoding']
  if (encoding === 'base64') return { from, to, headers, text: Buffer.from(body, 'base64').toString() }
  return { from, to, headers, text: encoding === 'quoted-printable' ? quoted(body) : body }
}

/** As much of SMTP as a client needs that knows neither user nor TLS. Closed after the last story of the file. */
export async function openMailbox(): Promise<Mailbox> {
  const letters: Letter[] = []
  const sockets = new Set<Socket>()
  const server = createMailServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    let [from, to, rest, isData] = ['', '', '', false]
    const say = (line: string): void => void socket.write(`${line}\r\n`)
    const hear = (line: string): void => {
      const address = /<([^>]*)>/.exec(line)?.[1] ?? ''
      if (/^(EHLO|HELO)/i.test(line)) say('250 mail.example')
      else if (/^MAIL FROM/i.test(line)) say(((from = address), '250 ok'))
      else if (/^RCPT TO/i.test(line)) say(((to = address), '250 ok'))
      else if (/^DATA/i.test(line)) say(((isData = true), '354 go on'))
      else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n')
      else say('250 ok')
    }
    socket.on('data', (part: Buffer) => {
      rest += part.toString('latin1')
      for (;;) {
        const end = rest.indexOf(isData ? '\r\n.\r\n' : '\r\n')
        if (end < 0) return
        const line = Buffer.from(rest.slice(0, end), 'latin1').toString()
        rest = rest.slice(end + (isData ? 5 : 2))
        if (!isData) {
          hear(line)
          continue
        }
        isData = false
        if (mailbox.refusals > 0) {
          mailbox.refusals -= 1
          say('451 not now')
        } else {
          letters.push(letterOf(from, to, line))
          say('250 taken')
        }
      }
    })
    say('220 mail.example')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const mailbox: Mailbox = { url: `smtp://127.0.0.1:${port}`, letters, refusals: 0 }
  return mailbox
}
