/** The entry point: styles, messages of the current language, and the console itself (console.tsx). */
import './styles/stylesheets.ts'
import { createRoot } from 'react-dom/client'
import { Console } from './console.tsx'
import { currentLanguage, loadMessages } from './locales/messages.ts'
import { createConsoleRouter } from './routes.tsx'

await loadMessages(currentLanguage(), 'auth')
const root = document.getElementById('root')
if (root === null) throw new Error('Element #root not found.')
createRoot(root).render(<Console router={createConsoleRouter()} />)
