// The page: its styles, the frame, the views.
import { render } from 'preact';

import { Shell } from './shell/shell';
import './state/theme';
import './styles/base.css';
import './styles/parts.css';
import './styles/shell.css';

const root = document.getElementById('page');
if (root) render(<Shell />, root);
