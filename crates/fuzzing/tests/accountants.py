"""Guarantees handed between accountants: reads JSON on standard input, writes JSON on standard output.

The input is a list of guarantees of docs/FORMAT.md, section 11, each with deltas; the output says what each
package makes of them, and guarantees of the packages' own in the same form.
"""

import json
import sys

DELTAS = [1e-4, 1e-6]


def form(guarantee, reason):
    return {
        "form": "dp-guarantee/1",
        "adjacency": {"kind": "add-remove-row", "bound": 1.0},
        "declared by": "another accountant",
        "reason": reason,
        "guarantee": guarantee,
    }


def dp_accounting(ours):
    import numpy as np
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    def dense(way, step):
        masses = np.array(way["masses"], dtype=float)
        return pld_pmf.DensePLDPmf(step, way["first"], masses, way["infinite"], True)

    def way(pmf):
        pmf = pmf.to_dense_pmf()
        return {
            "first": int(pmf._lower_loss),
            "masses": [float(p) for p in pmf._probs],
            "infinite": float(pmf._infinity_mass),
        }

    def theirs(name, distribution):
        ways = [way(distribution._pmf_remove)]
        if not distribution._symmetric:
            ways.append(way(distribution._pmf_add))
        guarantee = {"kind": "loss-distribution", "step": distribution._pmf_remove._discretization, "ways": ways}
        epsilons = [distribution.get_epsilon_for_delta(delta) for delta in DELTAS]
        return {"name": name, "form": form(guarantee, name), "epsilons": epsilons}

    def read(guarantee):
        if guarantee["kind"] == "gaussian-dp":
            return pld.from_gaussian_mechanism(1 / guarantee["mu"], value_discretization_interval=1e-4)
        if guarantee["kind"] == "approximate-dp":
            from dp_accounting.pld import common

            parameters = common.DifferentialPrivacyParameters(guarantee["epsilon"], guarantee["delta"])
            return pld.from_privacy_parameters(parameters, value_discretization_interval=1e-4)
        ways = [dense(w, guarantee["step"]) for w in guarantee["ways"]]
        return pld.PrivacyLossDistribution(*ways)

    interval = {"value_discretization_interval": 2e-3}
    sampled = pld.from_gaussian_mechanism(1.2, sampling_prob=0.1, **interval)
    return {
        "of ours": [[read(o["guarantee"]).get_epsilon_for_delta(d) for d in DELTAS] for o in ours],
        "of theirs": [
            theirs("gaussian", pld.from_gaussian_mechanism(2.0, **interval)),
            theirs("laplace", pld.from_laplace_mechanism(1.5, **interval)),
            theirs("sampled gaussian, composed", sampled.self_compose(20)),
        ],
    }


def opendp(ours):
    import math

    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")

    def delta(guarantee, epsilon):
        def one(way):
            losses = enumerate(way["masses"], way["first"])
            parts = ((i * guarantee["step"], p) for i, p in losses)
            return way["infinite"] + sum(-p * math.expm1(epsilon - x) for x, p in parts if x > epsilon)

        return min(1.0, max(one(way) for way in guarantee["ways"]))

    def profile(guarantee):
        from opendp.measures import new_privacy_profile

        return new_privacy_profile(lambda epsilon: delta(guarantee, epsilon))

    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    gaussian = space >> dp.m.then_gaussian(scale=3.0)
    curve = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0)
    rho = gaussian.map(1.0)
    laplace = (dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)) >> dp.m.then_laplace(2.0)
    pure = {"kind": "approximate-dp", "epsilon": laplace.map(1.0), "delta": 0.0}
    tables = [o["guarantee"] if o["guarantee"]["kind"] == "loss-distribution" else None for o in ours]
    return {
        "of ours": [t and [profile(t).epsilon(d) for d in DELTAS] for t in tables],
        "of theirs": [
            {
                "name": "zcdp",
                "form": form({"kind": "zcdp", "rho": rho}, "opendp gaussian"),
                "epsilons": [curve.epsilon(d) for d in DELTAS],
            },
            {
                "name": "pure",
                "form": form(pure, "opendp laplace"),
                "epsilons": [laplace.map(1.0)] * len(DELTAS),
            },
        ],
    }


if __name__ == "__main__":
    ours = json.load(sys.stdin)
    json.dump({"dp_accounting": dp_accounting, "opendp": opendp}[sys.argv[1]](ours), sys.stdout)
