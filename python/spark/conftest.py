"""A standalone cluster on this machine: one master, two workers, processes of their own."""

import os
import secrets
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pyspark
import pytest
from pyspark.sql import SparkSession

HOST = "127.0.0.1"


def free_port():
    with socket.socket() as held:
        held.bind((HOST, 0))
        return held.getsockname()[1]


class Cluster:
    """Processes of Spark, and where they write."""

    def __init__(self, folder: Path):
        self.folder, self.home, self.processes = folder, Path(pyspark.__file__).parent, []
        self.active = None
        self.logs, self.events, self.local = folder / "logs", folder / "events", folder / "local"
        for made in (self.logs, self.events, self.local, folder / "conf", folder / "work"):
            made.mkdir()
        secret = secrets.token_hex(16)
        self.settings = {
            "spark.authenticate": "true",
            "spark.authenticate.secret": secret,
            "spark.network.crypto.enabled": "true",
            "spark.io.encryption.enabled": "true",
            "spark.eventLog.enabled": "true",
            # As text, so that a search finds what is there.
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{self.events}",
            "spark.local.dir": str(self.local),
            "spark.ui.enabled": "false",
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.python.worker.reuse": "true",
            "spark.executorEnv.RAYON_NUM_THREADS": "1",
        }
        lines = [f"{name} {value}" for name, value in self.settings.items()]
        (folder / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join(
                f"-D{name}={value}"
                for name, value in self.settings.items()
                if name.startswith(("spark.authenticate", "spark.network"))
            ),
            "SPARK_WORKER_DIR": str(folder / "work"),
        }
        port = free_port()
        self.master = f"spark://{HOST}:{port}"
        self.start("Master", "--host", HOST, "--port", str(port), "--webui-port", str(free_port()))
        self.wait("Master", "I have been elected leader")
        # Hosts of their own: a task is speculated on another host only.
        for host in (HOST, "127.0.0.2"):
            self.worker(host)
        self.wait("Master", "Registering worker", 2)

    def start(self, kind, *arguments, host=HOST):
        log = open(self.logs / f"{kind}-{len(self.processes)}.log", "w")
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}"]
        self.processes.append(
            subprocess.Popen(
                [*command, *arguments],
                env={**self.environment, "SPARK_LOCAL_IP": host},
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
            )
        )

    def worker(self, host):
        ports = ["--webui-port", str(free_port())]
        self.start("Worker", "--host", host, "--cores", "1", "--memory", "1g", *ports, self.master, host=host)

    def wait(self, kind, words, times=1):
        end = time.monotonic() + 180
        while time.monotonic() < end:
            logs = "".join(path.read_text() for path in self.logs.glob(f"{kind}-*.log"))
            if logs.count(words) >= times:
                return
            time.sleep(0.2)
        raise RuntimeError(f"{kind} never said {words!r}: {logs[-2000:]}")

    def executors(self):
        """Processes that run tasks, of this cluster alone."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    command = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                ours = self.master.split(":")[-1].encode() in command or str(self.folder).encode() in command
                if b"CoarseGrainedExecutorBackend" in command and ours:
                    found.append(int(entry.name))
        return found

    def stop(self):
        self.end_session()
        for process in reversed(self.processes):
            process.kill()
            process.wait()

    def session(self, master=None, **settings):
        """The session with these settings; the one before it ends where it has others."""
        wanted = (master, tuple(sorted(settings.items())))
        if self.active is not None and self.active[0] == wanted:
            return self.active[1]
        self.end_session()
        os.environ.update(
            {name: self.environment[name] for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_IP")}
        )
        builder = SparkSession.builder.master(master or self.master).appName("dps")
        for name, value in {**self.settings, **settings}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        self.active = wanted, session
        return session

    def end_session(self):
        if self.active is not None:
            self.active[1].stop()
        self.active = None


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


@pytest.fixture
def spark(cluster):
    return cluster.session()


D, FILES, ROWS = 6, 2, 900


@pytest.fixture
def data(tmp_path):
    """Two Parquet files of three row groups, an identifier among their columns."""
    folder, random = tmp_path / "data", np.random.default_rng(5)
    folder.mkdir()
    for number in range(FILES):
        values = random.uniform(-1, 1, (ROWS, D))
        names = [f"x{j}" for j in range(D)]
        table = pa.table(
            {"id": np.arange(ROWS)}
            | dict(zip(names, values.T))
            | {"items": [[int(i) for i in random.integers(0, 99, 9)] + [100 + number] for _ in range(ROWS)]}
        )
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=300)
    return folder
