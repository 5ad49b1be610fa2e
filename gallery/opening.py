"""Opens the gallery on the store that a run asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gallery.errors import StoreUnavailable
from gallery.gallery import Gallery
from gallery.ledger import Ledger
from gallery.secrets import SecretRing
from gallery.settings import GallerySettings
from gallery.stores.memory import MemoryStore
from gallery.stores.store import Store
from gallery.surrogates import SurrogateMaker

__all__ = ["open_gallery"]

_FOREVER_S: Final = 30 * 86_400.0


def open_gallery(
    settings: GallerySettings,
    maker: SurrogateMaker,
    redis_url: str | None = None,
    namespace: str = "default",
    key_file: Path | None = None,
    ledger_folder: Path | None = None,
    window_s: float = 86_400.0,
    session: str | None = None,
    timeout_s: float = 0.25,
    run: str | None = None,
) -> Gallery:
    """A gallery on the store that the settings of a run name.

    Args:
        settings: k, policy, scope and limits.
        maker: makes latents from donors.
        redis_url: the shared store; None keeps people in this process.
        namespace: galleries with different names do not see each other.
        key_file: keys that seal what Redis holds; None takes them from the environment.
        ledger_folder: where releases are recorded; None keeps the accounts in memory.
        window_s: people are forgotten, all at once, this long after the window began; with
            the scope "forever", 30 days after the last newcomer.
        session: see `Gallery`.
        timeout_s: longest wait for Redis.
        run: see `Gallery`.

    Raises:
        SecretMissing: Redis is used and no key is at hand.
        StoreUnavailable: the URL is malformed, or the redis extra is not installed.
        LedgerBroken: the folder cannot be used.
    """
    is_forever = settings.scope == "forever"
    lifetime_s = _FOREVER_S if is_forever else window_s
    ledger = Ledger(settings.k, settings.below_k, ledger_folder)
    if redis_url is None:
        store: Store = MemoryStore(lifetime_s, is_renewed=is_forever)
        return Gallery(settings, maker, store, ledger=ledger, session=session, run=run)
    try:
        from gallery.stores.redis import RedisStore
    except ImportError:
        raise StoreUnavailable("Redis needs the extra: pip install kveil[redis]") from None
    ring = SecretRing.from_file(key_file) if key_file else SecretRing.from_environment()
    store = RedisStore(redis_url, namespace, lifetime_s, is_forever, timeout_s)
    return Gallery(settings, maker, store, ring, ledger, session, run=run)
