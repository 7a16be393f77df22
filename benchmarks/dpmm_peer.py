"""AIM and MST of `dpmm` with its defaults, on coded records: run by the Python that has dpmm installed.

    PYTHON benchmarks/dpmm_peer.py METHOD EPSILON DELTA SEED IN.npz OUT.npz

IN holds `codes` [records, columns] and `sizes`; OUT gets as many synthetic `codes` and the `cpu` seconds
of fitting and drawing. Noise comes from the system: dpmm draws it with OpenDP. The seed is that of the rest.
"""

import os
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import time  # noqa: E402

import numpy as np  # noqa: E402


def main(method: str, epsilon: str, delta: str, seed: str, source: str, target: str) -> None:
    import pandas as pd
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    given = np.load(source)
    codes, names = given["codes"], [f"c{at}" for at in range(len(given["sizes"]))]
    domain = dict(zip(names, map(int, given["sizes"]), strict=True))
    model = {"AIM": AIMGM, "MST": MSTGM}[method](
        epsilon=float(epsilon), delta=float(delta), domain=domain, n_jobs=1
    )
    model.set_random_state(np.random.RandomState(int(seed)))
    start = time.process_time()
    model.fit(pd.DataFrame(codes, columns=names))
    made = model.generate(n_records=len(codes))[names].to_numpy().astype(np.int64)
    np.savez(target, codes=made, cpu=time.process_time() - start)


if __name__ == "__main__":
    if len(sys.argv) < 7:
        sys.exit(print("skipped: synthesis_tables.py runs this"))
    main(*sys.argv[1:])
