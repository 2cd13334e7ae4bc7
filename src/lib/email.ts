/** Sends plain-text e-mail over SMTP. */
import type { Transporter } from 'nodemailer'

export interface Email {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The same at every retry, so that mailboxes can recognize duplicates. */
  readonly id?: string
}

export interface EmailSender {
  /** Resolves when the mail server has accepted the e-mail. */
  send(email: Email): Promise<void>
}

const smtpTimeoutMs = 20_000

/** `url`: smtp or smtps, with user and password if required. */
export function createEmailSender(url: string, from: string): EmailSender {
  const timeouts = {
    connectionTimeout: smtpTimeoutMs,
    greetingTimeout: smtpTimeoutMs,
    socketTimeout: smtpTimeoutMs,
  }
  // Loaded with the first e-mail, because most processes send none.
  let transport: Promise<Transporter> | undefined
  const openTransport = async (): Promise<Transporter> => {
    const { createTransport } = await import('nodemailer')
    return createTransport({ url, ...timeouts })
  }
  const domain = /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  return {
    async send({ id, ...email }) {
      const messageId = id === undefined ? undefined : `<${id}@${domain}>`
      await (await (transport ??= openTransport())).sendMail({ from, messageId, ...email })
    },
  }
}
