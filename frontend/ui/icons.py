"""The icons, drawn on a 24-unit grid with one stroke. Each is the content of an <svg>; templatetags/ui.py wraps it."""

from collections.abc import Mapping
from typing import Final

ICONS: Final[Mapping[str, str]] = {
    "alert": '<path d="M12 3.5 21.5 20h-19z"/><path d="M12 10v4.5M12 17.2v.1"/>',
    "arrow-left": '<path d="M20 12H4m6-6-6 6 6 6"/>',
    "arrow-right": '<path d="M4 12h16m-6-6 6 6-6 6"/>',
    "arrow-up": '<path d="M12 20V4m-7 7 7-7 7 7"/>',
    "arrow-down": '<path d="M12 4v16m-7-7 7 7 7-7"/>',
    "ban": '<circle cx="12" cy="12" r="8.5"/><path d="m6 6 12 12"/>',
    "book": '<path d="M12 6c-2-1.5-5-2-8-2v14c3 0 6 .5 8 2 2-1.5 5-2 8-2V4c-3 0-6 .5-8 2zm0 0v14"/>',
    "chart": '<path d="M4 4v16h16"/><path d="M8.5 16v-4M13 16V7M17.5 16v-6"/>',
    "chat": '<path d="M4 5h16v11h-9l-5 4v-4H4z"/>',
    "check": '<path d="m4.5 12.5 5 5 10-11"/>',
    "chevron-down": '<path d="m6 9.5 6 6 6-6"/>',
    "chip": '<path d="M7 7h10v10H7z"/><path d="M10 7V3.5M14 7V3.5M10 20.5V17M14 20.5V17M7 10H3.5M7 14H3.5M20.5 10H17'
    'M20.5 14H17"/>',
    "circle": '<circle cx="12" cy="12" r="7.5"/>',
    "clock": '<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/>',
    "copy": '<path d="M9 9h11v11H9z"/><path d="M15 9V4H4v11h5"/>',
    "cross": '<path d="m6 6 12 12M18 6 6 18"/>',
    "dot": '<circle cx="12" cy="12" r="4.5" fill="currentColor"/>',
    "download": '<path d="M12 4v11m-5-4.5 5 5 5-5M4 20h16"/>',
    "external": '<path d="M10 5H5v14h14v-5M14 4h6v6m0-6-9 9"/>',
    "eye": '<path d="M2.5 12C5 7.5 8.2 5.5 12 5.5s7 2 9.5 6.5c-2.5 4.5-5.7 6.5-9.5 6.5S5 16.5 2.5 12z"/>'
    '<circle cx="12" cy="12" r="3"/>',
    "file": '<path d="M6 3h8l4 4v14H6z"/><path d="M14 3v4h4"/>',
    "filter": '<path d="M4 5h16l-6 8v6l-4-2v-4z"/>',
    "folder": '<path d="M3.5 5h6l2 2.5h9V19h-17z"/>',
    "globe": '<circle cx="12" cy="12" r="8.5"/><path d="M3.5 12h17M12 3.5c-5 5-5 12 0 17 5-5 5-12 0-17z"/>',
    "half": '<circle cx="12" cy="12" r="8.5"/><path d="M12 3.5v17a8.5 8.5 0 0 0 0-17z" fill="currentColor"/>',
    "home": '<path d="m3.5 11.5 8.5-7.5 8.5 7.5M6 10v10h12V10"/>',
    "inbox": '<path d="M4 13 6.5 5h11L20 13v6H4z"/><path d="M4 13h5l1 2.5h4l1-2.5h5"/>',
    "info": '<circle cx="12" cy="12" r="8.5"/><path d="M12 11v5.5M12 7.6v.1"/>',
    "key": '<circle cx="8" cy="15.5" r="4"/><path d="m11 12.5 8.5-8.5M16 7.5l3 3"/>',
    "keyboard": '<path d="M3 6.5h18v11H3z"/><path d="M7 10.2v.1M12 10.2v.1M17 10.2v.1M8 14h8"/>',
    "laptop": '<path d="M5 5h14v10H5zM2.5 19h19"/>',
    "layers": '<path d="m12 4 9 4.5-9 4.5-9-4.5zM4 12.7l8 4 8-4M4 16.7l8 4 8-4"/>',
    "list": '<path d="M9 6h11M9 12h11M9 18h11M4.5 6v.1M4.5 12v.1M4.5 18v.1"/>',
    "lock": '<path d="M5 11h14v9H5z"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>',
    "logout": '<path d="M13 4H5v16h8M10 12h10m-4-4 4 4-4 4"/>',
    "minus": '<path d="M5 12h14"/>',
    "moon": '<path d="M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z"/>',
    "more": '<path d="M5.5 12v.1M12 12v.1M18.5 12v.1" stroke-width="3"/>',
    "offline": '<path d="M4 9.5a12 12 0 0 1 6-3M20 9.5a12 12 0 0 0-4.5-2.7M7.5 13.5A7 7 0 0 1 12 11.8"/>'
    '<path d="M12 18v.1M4 4l16 16"/>',
    "pencil": '<path d="M4 20v-4L16 4l4 4L8 20z"/><path d="m13.5 6.5 4 4"/>',
    "plus": '<path d="M12 5v14M5 12h14"/>',
    "refresh": '<path d="M19.5 12a7.5 7.5 0 1 1-2.5-5.6L19.5 8.5"/><path d="M19.5 4v4.5H15"/>',
    "rewrite": '<path d="M5 19h14"/><path d="M5 15v-3l8.5-8 3 3L8 15z"/>',
    "search": '<circle cx="10.5" cy="10.5" r="6"/><path d="m15 15 5.5 5.5"/>',
    "settings": '<path d="M4 7h9M19 7h1M4 17h1M11 17h9"/><circle cx="16" cy="7" r="2.5"/>'
    '<circle cx="8" cy="17" r="2.5"/>',
    "shield": '<path d="M12 3.5 19 6v6c0 4-3 7-7 8.5C8 19 5 16 5 12V6z"/><path d="m9 12 2.2 2.2L15.2 10"/>',
    "sun": '<circle cx="12" cy="12" r="4"/><path d="M12 2.5V5M12 19v2.5M2.5 12H5M19 12h2.5M5.3 5.3 7 7M17 17l1.7 1.7'
    'M18.7 5.3 17 7M7 17l-1.7 1.7"/>',
    "table": '<path d="M4 5h16v14H4zM4 10h16M10 10v9"/>',
    "trash": '<path d="M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5"/>',
    "undo": '<path d="M5 9h9.5a5 5 0 0 1 0 10H9"/><path d="M9 4.5 4.5 9 9 13.5"/>',
    "upload": '<path d="M12 15.5V4.5M7 9l5-5 5 5M4 20h16"/>',
    "user": '<circle cx="12" cy="8" r="4"/><path d="M4 20.5c1-4 4-6 8-6s7 2 8 6"/>',
    "users": '<circle cx="9" cy="8.5" r="3.5"/><path d="M2.5 19.5c.8-3.5 3.2-5 6.5-5s5.7 1.5 6.5 5M15.5 5.3a3.5 3.5 '
    '0 0 1 0 6.4M17.5 14.8c2.2.6 3.5 2.2 4 4.7"/>',
}
