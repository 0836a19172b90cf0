"""Covariances, windows, regressions, low rank and sums of groups: docs/FORMAT.md, section 7."""

import math

from mpmath import mpf, sqrt

from certificate import check_width
from payload import on_grid
from profiles import row_moves
from projections import norm
from text import canonical, fields, is_name, need, parse, same, tagged
from theorems import ROWS, at_least, moved_counts, parts


def unit_of(bound, constant=None):
    """What rows of a norm are multiples of, and the number that follows them."""
    unit = mpf(2) ** (math.frexp(bound)[1] - 21)
    need(constant is None or (units := mpf(constant) / unit) == int(units) and 1 <= units <= 2**21, "constant: not so many units of the rows")
    return unit


def coarse(law, own, numbers):
    """What rounding adds to so many numbers that are multiples of `own`."""
    step = mpf(2) ** law["grid"]
    return 0 if step == own else sqrt(mpf(numbers)) * step


def moved(beta, entry, bound, constant):
    """The most that one value moves second moments of rows scaled to a norm, by."""
    square = bound**2 + constant**2
    most = min(beta, 2 * min(entry, bound))
    a = entry if entry <= bound and most * entry <= square else bound
    steps, under = [most], 5 * a**2 - 4 * square
    steps += [min(most, sqrt(2 * square))] + ([min(most, (3 * a - sqrt(under)) / 2)] if under > 0 else [])
    return max(t * sqrt(max(2 * square - t**2 / 2, 2 * square + 2 * a**2 - 4 * a * t + t**2)) for t in steps)


def check_groups(values, f, c, rows, columns, open_ends):
    """Sums of groups, moments behind them, and what both noises pay."""
    spec, public = f["projection"], c["public"]
    d, laws = spec["d"], c["noise"]["laws"]
    need(spec["family"].get("kind") == "grouped" and columns == spec["k"] and rows > 0, "shape: not a sum for each group")
    need(len(values) == rows * columns + (d + 1) * (d + 2) // 2, "shape: length of the payload")
    need([law["kind"] for law in laws] == ["symmetric-gaussian", "staircase"], "noise of moments and sums")
    on_grid(values[: rows * columns], laws[1])
    on_grid(values[rows * columns :], laws[0])
    need(type(public.get("row_bound")) is float and type(public.get("largest entry")) is float, "bounds of rows and entries")
    facts = [mpf(public[name]) for name in ("largest entry", "row_bound", "constant")]
    need(all(x > 0 for x in facts) and public["constant"] == f["constant"], "bounds of rows and entries, or constant")
    a = c["guarantee"]["adjacency"]
    need(a["kind"] == "attribute", "groups under another adjacency")
    least = moved(mpf(a["beta"]), *facts) + coarse(laws[0], unit_of(public["row_bound"], f["constant"]) ** 2, (d + 1) ** 2)
    at_least(c["guarantee"]["profile"]["sensitivity"], least, "sensitivity", 1e-12)
    check_width(a, laws)
    open_ends.append("groups: they follow from the moments")


def check_names(names, count):
    need(type(names) is list and all(map(is_name, names)) and len(names) == count == len(set(names)), "columns")


def check_stated(public, a, d, facts, values):
    """Rows and names of columns that a covariance states."""
    if "columns" in public:
        check_names(parse(public["columns"], strict=False), d)
    if "rows" in public:
        need("constant" in facts and a["kind"] != "add-remove-row" and type(public["rows"]) is int, "rows")
        off = abs(values[-1] - facts["constant"] ** 2 * public["rows"])
        need(off <= 12 * facts["noise"]["sigma"] + 1e-9 * facts["constant"] ** 2 * public["rows"], "rows: not those of the sums")


COVARIANCE_NOISE = {"symmetric-gaussian": {"sigma": "+"}, "jl-sketch": {"rows": "n", "lift": "+"}, "wishart": {"dof": "n", "scale": "+"}}


def check_covariance(values, facts):
    """The shape of a covariance and of what stands beside it."""
    moments = "constant" in facts
    fields(facts, "parameters", {"dim": "n", "sketch_rows": ".", "noise": "."} | ({"constant": "+"} if moments else {}))
    tagged(facts["noise"], "parameters.noise", COVARIANCE_NOISE)
    d, r = facts["dim"], facts["sketch_rows"] or 0
    need(d <= 2**20 and type(r) is int and r in (0, facts["noise"].get("rows")), "dim beyond its limit, or rows of another sketch")
    need(not moments or facts["noise"]["kind"] == "symmetric-gaussian", "sums beside another noise")
    need(facts["sketch_rows"] is None or r > 0, "a sketch of no rows")
    need(len(values) == d * d + r * d + moments * (d + 1), "shape: length of the payload")
    largest = max(map(abs, values[: d * d]))
    need(all(abs(values[i * d + j] - values[j * d + i]) <= 1e-9 * largest for i in range(d) for j in range(i)), "payload: not symmetric")
    y = values[d * d :]
    if r:
        gram = [math.fsum(y[x * d + i] * y[x * d + j] for x in range(r)) for i in range(d) for j in range(d)]
        trace = math.fsum(gram[i * d + i] for i in range(d))
        need(all(abs(g - r * v) <= 1e-9 * trace for g, v in zip(gram, values)), "payload: not the covariance of its sketch")
    return d


def check_regression(values, f, c, columns, open_ends):
    """Coefficients, steps and matrix of a regression; what the steps count."""
    fields(f, "parameters", {"features": "n", "constant": "." if f.get("constant") is None else "+"})
    d, constant, public = f["features"], f["constant"], c["public"]
    need(columns == d + (constant is not None) and len(values) == columns * (columns + 1) + 4 * (2 * columns + 1), "shape: length of the payload")
    need(same(public.get("d"), d) and same(public.get("constant"), constant), "public parameters differ from the file")
    steps = [values[columns + i * (2 * columns + 1) :][: 2 * columns + 1] for i in range(4)]
    sizes = [public["label_bound"] * 2 ** (-i / 4) for i in range(24)]
    need(all(any(abs(s[0] / y - 1) <= 1e-9 for y in (sizes if i else sizes[:1])) for i, s in enumerate(steps)), "payload: residuals clipped to no public size")
    matrix = values[-columns * columns :]
    need(all(matrix[i * columns + j] == matrix[j * columns + i] for i in range(columns) for j in range(i)), "payload: not symmetric")
    need(("columns" in public) == ("target" in public), "names of columns and target")
    if "columns" in public:
        check_names([*parse(public["columns"], strict=False), public["target"]], d + 1)
    laws = c["noise"]["laws"]
    need([law["kind"] for law in laws] == ["symmetric-gaussian", "rounded-gaussian", "rounded-gaussian"], "noise of a regression")
    on_grid(matrix, laws[0])
    for step in steps:
        on_grid(step[1 : columns + 1], laws[1])
    (a, of_user), counted = parts(c["guarantee"]["adjacency"]), c["guarantee"]["profile"]["steps"]
    square, k = mpf(a["bound"]) ** 2, mpf(constant or 0) ** 2
    gradient = {"add-remove-row": sqrt(square + k), "zero-row": sqrt(square + 4 * k), "replace-row": 2 * sqrt(square + k)}[a["kind"]]
    unit = unit_of(a["bound"], constant)
    matrix = sqrt(of_user * (square + k) + coarse(laws[0], unit**2, columns**2))
    needed = (row_moves(matrix, ROWS[a["kind"]]), of_user * gradient + coarse(laws[1], unit / 2**20, columns), moved_counts(c["guarantee"]["adjacency"]))
    need(len(counted) == 3, "profile: not three steps")
    for step, least, times in zip(counted, needed, (1, 4, 3)):
        need(step["times"] >= times, "times of a step")
        at_least(step["sensitivity"], least, "sensitivity", 1e-12)
    open_ends.append("coefficients: they follow from the matrix, the clips and the gradients")


def check_range(drawn, c):
    """A range sketch, and what the certificate states of it."""
    fields(drawn, "range sketch", {"m": "n", "k": "n", "sigma": "+", "seed": "s", "origin": "t"})
    public, origins = c["public"], {"operating-system": "operating system", "reproducible-not-private": "reproducible, not private"}
    need(drawn["m"] < 2**32 and drawn["k"] <= 2**24, "m or k of a range sketch beyond its limit")
    need(same(public.get("m"), drawn["m"]) and same(public.get("seed"), drawn["seed"]), "public: m or seed of the range sketch")
    need(public.get("seed origin") == origins.get(drawn["origin"], drawn), "public: origin of the seed of the range sketch")
    need(public.get("rank", 0) + public.get("oversampling", 0) == drawn["k"], "public: rank and oversampling are not k")
    first = c["noise"].get("laws", [c["noise"]])[0]
    need((first["kind"], first.get("sigma")) == ("rounded-gaussian", drawn["sigma"]), "noise of the range sketch")


OF_SCHEDULES = {"block": ("symmetric-gaussian", "wishart", "jl-mechanism"), "tree": ("gaussian", "repeated", "jl-mechanism"),
                "factorised": ("gaussian",), "decayed": ("gaussian",)}
SCHEDULES = {"block": {"noise": ".", "keep": "."}, "tree": {"noise": "."}, "factorised": {"horizon": "n"}, "decayed": {"decay": "p", "horizon": "n"}}
NODES = {"symmetric-gaussian": {}, "wishart": {}, "johnson-lindenstrauss": {"rows": "n"}}
KEEPS = {"blocks": {}, "histogram": {"rho": "p", "rule": "t"}}


def check_schedule(public):
    """The schedule, of whole blocks of the window."""
    schedule = parse(public.get("schedule", ""), strict=True)
    tagged(schedule, "schedule", SCHEDULES)
    if "noise" in schedule:
        tagged(schedule["noise"], "schedule.noise", NODES)
    if "keep" in schedule:
        tagged(schedule["keep"], "schedule.keep", KEEPS)
        need(schedule["keep"].get("rule", "update") in ("update", "update-approx"), "schedule.keep.rule")
    need(0 < schedule.get("decay", 0.5) < 1 and schedule.get("horizon", 1) <= 2**24, "schedule: decay or horizon")
    window, block = public.get("window"), public.get("block")
    need(type(window) is int and type(block) is int and 1 <= block <= window and window % block == 0, "window or block")
    return schedule


def check_span(f, law, public):
    """Which rows a window covers, and that its noise is that of so many blocks."""
    fields(f, "parameters", {"span": ".", "blocks": "n", "covariance": "."})
    fields(f["span"], "span", {"first_row": "w", "end_row": "w"})
    noise, blocks = f["covariance"]["noise"], f["blocks"]
    expected = {"blocks": blocks, **f["span"], "release noise": canonical(noise)}
    need(all(same(public.get(name), value) for name, value in expected.items()), "public parameters differ from the file")
    need(noise["kind"] == law["kind"], "noise of the window")


def nodes(levels, first, end):
    """How many nodes of a tree of so many levels hold these blocks."""
    count = 0
    while first < end:
        first += max(2**level for level in range(levels) if first % 2**level == 0 and 2**level <= end - first)
        count += 1
    return count


def check_place(schedule, public, noise, law):
    """Where in its stream a release stands, and that its noise is what the stream has there."""
    kind, block, blocks, end = schedule["kind"], public["block"], public["blocks"], public["end_row"]
    closed, of_window = end // block, public["window"] // block
    need(public.get("pace") in ("rows", "clock"), "pace: neither rows nor clock")
    need(end % block == 0 and end - public["first_row"] == blocks * block, "span: not the rows of its blocks")
    most = closed if kind == "decayed" else min(closed, of_window)
    need(blocks == most or schedule.get("keep", {}).get("kind") == "histogram", "blocks: not those of the window")
    need(closed <= schedule.get("horizon", closed), "span: behind the horizon")
    if kind == "block":
        times = blocks
    elif kind == "tree":
        times = nodes(of_window.bit_length(), closed - blocks, closed)
    else:
        times = sum(x * x for x in root_of(schedule, of_window)[:closed])
    if noise["kind"] == "wishart":
        found = noise["dof"] / law["dof"] if noise["scale"] == law["scale"] else 0
    else:
        found = (noise.get("sigma", noise.get("lift")) / law.get("sigma", law.get("lift"))) ** 2
        need(noise.get("rows") == law.get("rows") == schedule.get("noise", {}).get("rows"), "rows of sketches")
    # Beyond so many coefficients the root is cut.
    need(abs(found / times - 1) <= 1e-9 or kind not in ("block", "tree") and closed > 2**20, "noise of the window")


def root_of(schedule, blocks):
    """The first coefficients of the root of the workload's series: as many as no horizon changes."""
    decay = schedule.get("decay")
    most = 2 * blocks if decay is None else min(max(math.ceil(math.log(200) / (-2 * math.log(decay))), 1), 1024)
    root = [1.0]
    for i in range(1, min(most, schedule["horizon"], 2**20)):
        root.append(root[-1] * (2 * i - 1) / (2 * i) * (1 if decay is None else decay))
    return root if decay is not None else [x - (root[i - blocks] / 2 if i >= blocks else 0) for i, x in enumerate(root)]


def check_window(schedule, c, a, d, theorem):
    """What one row moves of all matrices that it is in."""
    kind, p, blocks = schedule["kind"], c["guarantee"]["profile"], c["public"]["window"] // c["public"]["block"]
    levels = blocks.bit_length()
    need(theorem is None or (theorem == "sliding-window") == (kind != "block"), "a theorem about another schedule")
    need(p is None or p["kind"] in OF_SCHEDULES[kind], "a profile of another schedule")
    if p is None or kind == "block":
        return
    if p["kind"] == "gaussian":
        need(c["noise"]["kind"] == "symmetric-gaussian", "noise of sums")
        matrices, factor = (levels, sqrt(mpf(levels))) if kind == "tree" else (schedule["horizon"], norm(root_of(schedule, blocks)))
        rounding = sqrt(mpf(matrices)) * d * mpf(2) ** c["noise"]["grid"]
        at_least(p["sensitivity"], factor * row_moves(a["bound"], ROWS[a["kind"]]) + rounding, "sensitivity")
    elif p["kind"] == "jl-mechanism":
        need(p["rows"] >= levels * schedule["noise"].get("rows", math.inf), "fewer rows of sketches than those of all levels")
    else:
        need(p["times"] >= levels, "fewer matrices than levels of the tree")


def check_matrix(code, values, f, c, columns, theorem):
    """A covariance, or that of a window."""
    facts, public, profile, noise = f if code == 8 else f["covariance"], c["public"], c["guarantee"]["profile"], c["noise"]
    d = check_covariance(values, facts)
    need(columns == d and same(public.get("d"), d), "shape: not d x d, or public.d differs from the file")
    need(public.get("constant") == facts.get("constant") and (code == 8 or "constant" not in facts), "constant")
    a, of_user = parts(c["guarantee"]["adjacency"])
    need(a["kind"] in ROWS, f"a covariance under {a['kind']}")
    chosen = public.get("chosen bound") if code == 8 else None
    need(chosen is None or type(chosen) is float and 0 < chosen <= a["bound"], "chosen bound above that of the adjacency")
    bound, constant = a["bound"] if chosen is None else chosen, facts.get("constant")
    square, unit = mpf(bound) ** 2 + mpf(constant or 0) ** 2, unit_of(bound, constant)
    check_stated(public, a, d, facts, values)
    need(theorem is None or (theorem == "covariance-of-chosen-bound") == (chosen is not None), "a theorem about another choice of the bound")
    if chosen is not None:
        noise, of_counts = noise["laws"]
        need((noise["kind"], of_counts["kind"]) == ("symmetric-gaussian", "rounded-gaussian"), "noise beside a chosen bound")
        least = row_moves(sqrt(of_user * square + coarse(noise, unit**2, (d + (constant is not None)) ** 2)), ROWS[a["kind"]])
        need(profile["kind"] == "gaussian-composition" and len(profile["steps"]) == 2, "profile: not two steps")
        for step, needed in zip(profile["steps"], (least, moved_counts(c["guarantee"]["adjacency"]))):
            at_least(step["sensitivity"], needed, "sensitivity", 1e-12)
    elif code == 8:
        need(profile is None or profile["kind"] in OF_SCHEDULES["block"], f"{profile and profile['kind']}: not of one covariance")
    laws = noise.get("laws", [noise])
    need(constant is None or profile is not None, "moments without a profile")
    if profile and profile["kind"] == "symmetric-gaussian":
        least = of_user * square + coarse(laws[0], unit**2, (d + (constant is not None)) ** 2)
        at_least(profile["bound"], sqrt(least), "bound", 1e-12)
    need(all(law == laws[0] for law in laws), "noise of the window: its laws differ")
    if code == 8:
        need({k: v for k, v in noise.items() if k != "grid"} == facts["noise"], "noise of the covariance")
        need((facts["sketch_rows"] is not None) == (noise["kind"] == "jl-sketch"), "a sketch without its noise, or the reverse")
    wishart = (profile or {}).get("profile", profile or {})
    need(wishart.get("kind") != "wishart" or wishart["dim"] == d, "profile.dim is not d")
    kind, schedule = laws[0]["kind"], {}
    if code == 11:
        need(of_user == 1, "a window of users with several rows")
        schedule = check_schedule(public)
        check_span(f, laws[0], public)
        check_place(schedule, public, facts["noise"], laws[0])
        check_window(schedule, c, a, d, theorem)
    if kind == "wishart" and code == 11:
        on_grid([v for e, v in enumerate(values) if e // d != e % d], laws[0])
    elif code == 8 or kind == "symmetric-gaussian" and schedule["kind"] in ("block", "tree"):
        on_grid(values[d * d :] if kind == "jl-sketch" else values, laws[0])


def check_low_rank(values, f, c):
    """Factors, what A was multiplied by, and what a shifted row moves of both steps."""
    fields(f, "parameters", {"m": "n", "n": "n", "k": "n", "range": "."})
    m, n, k, drawn = f["m"], f["n"], f["k"], f["range"]
    laws, profile = c["noise"].get("laws", [c["noise"]]), c["guarantee"]["profile"]
    need(len(laws) == 1 + (drawn is not None) and {law["kind"] for law in laws} == {"rounded-gaussian"}, "noise of a low-rank approximation")
    need(same(c["public"].get("n"), n) and same(c["public"].get("m"), m), "public: m or n differ from the file")
    if drawn is not None:
        check_range(drawn, c)
    need(max(m, n) < 2**32 and k <= 2**24, "m, n or k beyond their limits")
    sizes = [m * k, n * k, m * k, m * drawn["k"] if drawn else 0]
    need(len(values) == sum(sizes), "shape: length of the payload")
    if profile is None:
        return
    shift = check_setting(c["public"], c["guarantee"]["adjacency"])
    encoder, sigma = values[(m + n) * k : (2 * m + n) * k], mpf(laws[-1]["sigma"])
    step = shift * max(norm(encoder[i * k : (i + 1) * k]) for i in range(m)) + sqrt(mpf(n * k)) * mpf(2) ** laws[-1]["grid"] / sigma
    if drawn is None:
        need(profile["kind"] == "gaussian", "profile of a projection")
        at_least(mpf(profile["sensitivity"]) / mpf(profile["sigma"]), step, "sensitivity over sigma: the encoder moves further: it")
    else:
        check_drawn(profile, drawn["k"], laws[0], shift, step)


def check_drawn(profile, k, law, shift, later):
    """The profile of a range sketch, with the rounding to the grid of its noise and what comes later."""
    need(profile["kind"] == "chi-mixture-gaussian" and profile["k"] == k, f"profile.k is not {k}")
    rounding = sqrt(mpf(k)) * mpf(2) ** law["grid"]
    mu = rounding * sqrt(1 + min(shift / rounding, mpf(10) ** 15)) / mpf(law["sigma"])
    at_least(profile["later_mu"], sqrt(mu**2 + later**2), "later_mu")


def check_setting(public, a):
    """Sizes and bounds of a low-rank problem; the shift of a row."""
    need(a["kind"] == "row-shift", "low rank under another adjacency than row-shift")
    m, n, rank, more = (public.get(name) for name in ("m", "n", "rank", "oversampling"))
    need(all(type(x) is int for x in (m, n, rank, more)), "public: m, n, rank and oversampling")
    need(max(m, n) < 2**32 and 1 <= rank and 2 <= more and rank + more <= min(m, n, 2**24), "m, n, rank or oversampling beyond their limits")
    bound, shift = public.get("row_bound"), a["l2"]
    need(type(bound) is float and all(2.0**-400 <= x <= 2.0**400 for x in (bound, shift)) and bound <= 2.0**40 * shift, "row_bound or l2")
    return mpf(shift)
