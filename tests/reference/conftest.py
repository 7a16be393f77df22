"""Keep pytest's doctest collection away: these scripts need gmpy2 and are run by hand."""

collect_ignore_glob = ["*.py"]
