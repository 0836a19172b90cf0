"""Equal seeds and a deterministic key give the bits of the command line, and so of Rust."""

import csv

import numpy as np
import pytest

import dps
from conftest import ONE, PERSON, vectors

KEY = 11


@pytest.fixture
def table(tmp_path, rows):
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    return path


def attribute(beta=1):
    return ["--adjacency", "attribute", "--beta", beta, "--bound", 1]


def test_vectors(tmp_path, rows, table, command):
    out = tmp_path / "out.dps"
    common = ["release", "sketch", table, "--out", out, "-k", 5, "--seed", 3, *attribute()]
    test = ["--insecure-test-noise", KEY, "--force"]
    command(*common, "--epsilon", 8, "--delta", 1e-6, "--noise", "gaussian", *test)
    assert vectors().release(rows, insecure_test_noise=KEY).to_bytes() == out.read_bytes()
    written = tmp_path / "written.dps"
    vectors().write(written, rows, insecure_test_noise=KEY)
    assert written.read_bytes() == out.read_bytes()
    command(*common, "--epsilon", 8, "--delta", 0, "--noise", "staircase", *test)
    mechanism = vectors(noise="staircase", delta=0)
    assert mechanism.release(rows, insecure_test_noise=KEY).to_bytes() == out.read_bytes()
    command(*common, "--epsilon", 8, "--delta", 0, "--noise", "laplace", "--store", "f32", *test)
    vectors(noise="laplace", delta=0).write(
        written, rows, store="f32", replace=True, insecure_test_noise=KEY
    )
    assert written.read_bytes() == out.read_bytes()
    budget = ["--epsilon", 8, "--delta", 1e-6, "--noise", "gaussian"]
    command(*common, *budget, "--store", "compact", *test)
    vectors().write(written, rows, store="compact", replace=True, insecure_test_noise=KEY)
    assert written.read_bytes() == out.read_bytes()
    # Read, a compact release stays one, and differs by half a step of its grid at most.
    compact, whole = dps.Release.open(written), vectors().release(rows, insecure_test_noise=KEY)
    assert compact.to_bytes() == out.read_bytes()
    sigma = whole.certificate["noise"]["sigma"]
    assert 0 < np.abs(compact.to_numpy() - whole.to_numpy()).max() <= sigma / 16
    with pytest.raises(dps.errors.ParameterError, match="store"):
        vectors().write(written, rows, store="f16", replace=True)


def test_groups(tmp_path, rows, table, command):
    out = tmp_path / "out.dps"
    common = ["release", "sketch", table, "--out", out, "--grid", "3x4/2", *attribute()]
    budget = ["--epsilon", 8, "--delta", 1e-6, "--noise", "gaussian"]
    command(*common, *budget, "--insecure-test-noise", KEY)
    mechanism = vectors(family=dps.Groups.grid(3, 4, cell=2), k=None, seed=None)
    assert mechanism.release(rows, insecure_test_noise=KEY).to_bytes() == out.read_bytes()


def test_signs(tmp_path, rows, table, command):
    out = tmp_path / "out.dps"
    options = ["-k", 12, "--seed", 3, *attribute(), "--epsilon", 4, "--delta", 0]
    command("release", "signs", table, "--out", out, *options, "--insecure-test-noise", KEY)
    mechanism = dps.Signs(d=12, bits=12, adjacency=ONE, bound=1, epsilon=4, delta=0, seed=3)
    assert mechanism.release(rows, insecure_test_noise=KEY).to_bytes() == out.read_bytes()


def test_covariances(tmp_path, rows, table, command):
    person = ["--adjacency", "replace-row", "--norm-bound", 1, "--epsilon", 1, "--delta", 1e-6]
    for name, options, parameters in [
        ("gaussian", [], {}),
        ("jl", ["--noise", "jl", "--sketch-rows", 30], {"noise": "jl", "sketch_rows": 30}),
    ]:
        out = tmp_path / f"{name}.dps"
        given = [*person, *options, "--insecure-test-noise", KEY]
        command("release", "covariance", table, "--out", out, *given)
        mechanism = dps.Covariance(d=12, adjacency=PERSON, epsilon=1, delta=1e-6, **parameters)
        release = mechanism.release(rows, insecure_test_noise=KEY)
        assert release.to_bytes() == out.read_bytes(), name


def test_sets(tmp_path, command):
    sets = [["a", "b", f"c{i}"] for i in range(30)]
    path, out = tmp_path / "sets.txt", tmp_path / "out.dps"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows(sets)
    options = ["--adjacency", "set-items", "--alpha", 1, "--min-size", 3, "--epsilon", 2]
    common = ["release", "minhash", path, "--out", out, *options, "--delta", 1e-6, "--seed", 3]
    command(*common, "--separator", "tab", "--no-header", "--insecure-test-noise", KEY)
    adjacency = dps.Adjacency.set_items(alpha=1, min_size=3)
    mechanism = dps.Sets(adjacency=adjacency, epsilon=2, delta=1e-6, seed=3)
    assert mechanism.release(sets, insecure_test_noise=KEY).to_bytes() == out.read_bytes()


def test_the_command_line_reads_what_python_wrote(tmp_path, rows, command):
    path = tmp_path / "out.dps"
    release = vectors().release(rows)
    release.save(path)
    assert "holds together" in command("verify", path)
    assert np.array_equal(dps.Release.open(path).to_numpy(), release.to_numpy())
    with pytest.raises(dps.errors.FileAccessError):
        release.save(path)
    release.save(path, replace=True)


def test_test_noise_is_said_in_the_certificate(rows):
    release = vectors().release(rows, insecure_test_noise=KEY)
    with pytest.raises(dps.errors.NotAcceptedError) as caught:
        release.verify()
    assert caught.value.exception == "test-noise"
    release.verify(accept=["test-noise"])
