"""State over people, across streams: clusters of at least k, surrogates, ledger, stores."""
