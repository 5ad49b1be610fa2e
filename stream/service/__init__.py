"""The service: streams at run time, REST, WHIP and WHEP, metrics and a page."""
