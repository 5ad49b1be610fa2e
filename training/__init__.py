"""How the bundled weights were made; the only room that needs torch."""
