/** Leads to the first page of whoever is signed in. */
import { Navigate } from '@tanstack/react-router'
import { useSession } from '../api/session.ts'

export function Start() {
  const { account } = useSession()
  return account === null ? (
    <Navigate to="/operator/dashboard" replace />
  ) : (
    <Navigate to="/overview" replace />
  )
}
