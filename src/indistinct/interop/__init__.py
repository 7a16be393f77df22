"""Other libraries' ways to account for privacy, over this library's guarantees: one module for each of them,
which needs that library and is imported by nothing else here.

`opacus`, `dp_accounting` (and with it `jax_privacy`), `tf_privacy`, `flower`, `opendp`.
"""
