/** A list of notifications with severity, text and time; read ones are muted. */
import type { Notification } from '../../api/contract.ts'
import { StatusLabel, RelativeTime, type Tone } from './format-cells.tsx'

const tones: Readonly<Record<Notification['severity'], Tone>> = {
  info: 'info',
  warning: 'warning',
  critical: 'danger',
}

export function NotificationList({ notifications }: { readonly notifications: readonly Notification[] }) {
  return (
    <ul className="panel notification-list">
      {notifications.map((notification) => (
        <li key={notification.id} className={notification.read_at ? 'muted' : ''}>
          <div className="row spread">
            <StatusLabel tone={tones[notification.severity]}>
              <strong>{notification.title}</strong>
            </StatusLabel>
            <RelativeTime at={notification.time} />
          </div>
          <p>{notification.text}</p>
        </li>
      ))}
    </ul>
  )
}
