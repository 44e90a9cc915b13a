; An f-string may hold its own quotes.
(string (interpolation)) @opaque
