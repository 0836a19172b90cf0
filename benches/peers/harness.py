"""What the peer scripts share: cases in child processes, timing on a quiet machine, one JSON line a measurement.

A script says `topic(...)`, marks its cases with `@case()`, times with `bench` and reports with `emit`; it ends with `main()`.
`python bench_X.py` runs every case, each in its own child process (clean peak memory, thread counts set in the
environment before any import); `python bench_X.py CASE` runs one.
"""
import os, sys, json, time, subprocess, statistics
from importlib.metadata import version as ver
HERE = os.path.dirname(os.path.abspath(__file__))
ENVS = os.environ.get("PEERS_ENVS", os.path.join(HERE, "envs"))
MAIN, DPL = os.path.join(ENVS, "main/bin/python"), os.path.join(ENVS, "diffprivlib/bin/python")
CASES = {}
TOPIC = None

def topic(name):
    """names what the script measures; every line it prints says so"""
    global TOPIC
    TOPIC = name

def case(threads=(1, 2), py=MAIN, timeout=3000):
    def deco(fn):
        CASES[fn.__name__] = (fn, threads, py, timeout)
        return fn
    return deco

def rss(field="VmHWM"):
    for l in open("/proc/self/status"):
        if l.startswith(field + ":"):
            return round(int(l.split()[1]) / 1024, 1)

def reset_peak():                       # peak RSS counts from here on (inputs already resident are included)
    try: open("/proc/self/clear_refs", "w").write("5")
    except OSError: pass

_HZ = os.sysconf("SC_CLK_TCK")
_STATE = {"foreign": 0.0, "dirty": 0, "contended": False}

def _busy():                            # CPU seconds used by everyone on the machine, stolen time included
    f = open("/proc/stat").readline().split()[1:]
    return sum(int(f[i]) for i in (0, 1, 2, 5, 6, 7)) / _HZ

def _own():
    t = os.times(); return t[0] + t[1] + t[2] + t[3]

def _wait_quiet(limit=240.0, tol=0.1):
    """wait until other processes use less than `tol` cores over two quarter-second windows"""
    end = time.perf_counter() + limit; ok = 0
    while ok < 2:
        b, o, w = _busy(), _own(), time.perf_counter()
        time.sleep(0.25)
        f = ((_busy() - b) - (_own() - o)) / (time.perf_counter() - w)
        ok = ok + 1 if f < tol else 0
        if time.perf_counter() > end: return False
    return True

def bench(fn, reps=7, warm=1, inner=1, limit=900.0):
    """`reps` timed repetitions, keeping only those during which the rest of the machine was quiet. If a one-thread
    case has waited 150 s in vain, a busy other core is accepted (contended = "other core busy") so long as this
    process itself kept 97% of its core."""
    import gc
    limit = min(limit, float(os.environ.get("BENCH_LIMIT", limit)))
    gc.collect(); reset_peak()
    for _ in range(warm): fn()
    kept, dirty, fmax, cpu, start, waited, one = [], [], 0.0, [], time.perf_counter(), 0.0, os.environ.get("BENCH_THREADS", "1") == "1"
    _STATE["contended"] = False
    while len(kept) < reps:
        relaxed = one and waited > 150
        w = time.perf_counter(); _wait_quiet(min(30, limit / 4), 1.1 if relaxed else 0.1); waited += max(0.0, time.perf_counter() - w - 0.5)
        b, o, w, grp = _busy(), _own(), time.perf_counter(), []
        while len(kept) + len(grp) < reps and (not grp or time.perf_counter() - w < 0.4):
            t = time.perf_counter()
            for _ in range(inner): fn()
            grp.append((time.perf_counter() - t) / inner)
        wall = time.perf_counter() - w; own = _own() - o
        f = max(0.0, ((_busy() - b) - own) / wall); cpu.append((own, wall))
        if f < 0.08 + 0.03 / wall: kept += grp; fmax = max(fmax, f)
        elif relaxed and f < 1.1 and own / wall > 0.97 - 0.02 / wall: kept += grp; fmax = max(fmax, f); _STATE["contended"] = "other core busy"
        else: dirty += grp; waited += wall
        if time.perf_counter() - start > limit:
            need = reps - len(kept)
            if need > 0: kept += sorted(dirty)[:need]; _STATE["contended"] = "kept busy repetitions"
            break
    _STATE["foreign"], _STATE["dirty"], _STATE["cpu"] = fmax, len(dirty), sum(a for a, _ in cpu) / sum(w for _, w in cpu)
    return kept

def emit(lib, params, times, work, unit, topic=None, lib_version=None, has_rss=True, **extra):
    m = statistics.median(times) if times else None
    th = int(os.environ.get("BENCH_THREADS", "1"))
    print(json.dumps({"topic": topic or TOPIC, "lib": lib, "version": lib_version or ver(lib), "params": params, "threads": th,
        "seconds_median": m, "throughput": (work / m) if m and work is not None else None, "unit": unit, "peak_rss_mb": rss() if has_rss else None,
        "seconds_min": min(times) if times else None, "seconds_max": max(times) if times else None, "reps": len(times),
        "other_cpu_cores": round(_STATE["foreign"], 3), "reps_discarded_busy": _STATE["dirty"], "own_cpu_over_wall": round(_STATE.get("cpu", 0.0), 2), "contended": _STATE["contended"], "extra": extra}, default=float), flush=True)

def note(**kw):
    print(json.dumps({"topic": TOPIC, "note": kw}, default=float), flush=True)

def main():
    if len(sys.argv) >= 2 and sys.argv[1] in CASES:
        CASES[sys.argv[1]][0](); return
    pick = sys.argv[1:] and sys.argv[1].rstrip("*")
    for name, (fn, threads, py, timeout) in CASES.items():
        if pick and not name.startswith(pick): continue
        for t in threads:
            env = dict(os.environ, BENCH_THREADS=str(t), PYTHONHASHSEED="0", PYTHONWARNINGS="ignore")
            for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"):
                env[v] = str(t)
            try:
                p = subprocess.run([py, os.path.abspath(sys.argv[0]), name], env=env, capture_output=True, text=True, timeout=timeout)
                sys.stdout.write(p.stdout); sys.stdout.flush()
                if p.returncode:
                    print(json.dumps({"topic": TOPIC, "error": name, "threads": t, "rc": p.returncode, "stderr": p.stderr[-1500:]}), flush=True)
            except subprocess.TimeoutExpired as e:
                print(json.dumps({"topic": TOPIC, "error": name, "threads": t, "timeout_s": timeout}), flush=True)
