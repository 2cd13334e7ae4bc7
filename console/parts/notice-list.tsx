/** Notices below each other: how grave, what happened, when; those that were read stand back. */
import type { Notice } from '../contract.ts'
import { State, When, type Tone } from '../components/tables/format-cells.tsx'

const tones: Readonly<Record<Notice['severity'], Tone>> = { info: 'accent', warning: 'warn', critical: 'bad' }

export type ShownNotice = Pick<Notice, 'id' | 'severity' | 'title' | 'text' | 'time' | 'read'>

export function NoticeList({ notices }: { readonly notices: readonly ShownNotice[] }) {
  return (
    <ul className="panel notice-list">
      {notices.map((notice) => (
        <li key={notice.id} className={notice.read ? 'quiet' : ''}>
          <div className="row spread">
            <State tone={tones[notice.severity]}>
              <strong>{notice.title}</strong>
            </State>
            <When at={notice.time} />
          </div>
          <p>{notice.text}</p>
        </li>
      ))}
    </ul>
  )
}
