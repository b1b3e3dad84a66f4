"""Runs `wrongturn check` or `wrongturn replicate` over recorded runs on Spark and merges the results.

The program is shipped to the executors. Each task runs it over one input split and returns the partial state of the
split and, if findings are wanted, one line of JSON per run. `wrongturn merge` combines the states into the report that
one process would print over everything. See README.md.
"""

import argparse
import hashlib
import heapq
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyspark import SparkFiles, StorageLevel, TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

ENDINGS = tuple(
    f".{name}{packed}" for name in ("json", "jsonl", "ndjson", "traj", "eval") for packed in ("", ".gz", ".zst")
)

# Rows of a task: ("state", split, JSON) once, and ("run", split, JSON) for each run.
OUTPUT = T.StructType(
    [
        T.StructField("kind", T.StringType(), False),
        T.StructField("split", T.StringType(), False),
        T.StructField("payload", T.StringType(), False),
    ]
)

COST = "struct<steps: bigint, duration_ns: bigint, input_tokens: bigint, output_tokens: bigint>"
FINDING = (
    "struct<id: string, mode: string, `where`: array<bigint>, message: string, evidence: string, "
    f"cost: {COST}>"
)
RECORD = (
    "trace string, position bigint, file string, model string, domain string, reward double, "
    f"verdicts map<string, struct<detected: boolean, score: double, findings: array<{FINDING}>>>"
)


# ---- On the executors ----------------------------------------------------------------------------------------------


def program(name):
    """Returns the path of a shipped program."""
    path = SparkFiles.get(name)
    os.chmod(path, 0o755)
    return path


class Task:
    """Runs the program over one split."""

    def __init__(self, kind, options, rows, keep_states, kill_once):
        self.kind, self.options, self.rows = kind, options, rows
        self.keep_states, self.kill_once = keep_states, kill_once

    def command(self, inputs, split, folder):
        name = "check" if self.kind == "scan" else "replicate"
        command = [program("wrongturn"), name, *inputs, "--partial", f"{folder}/state.json", "--split", split]
        command += ["--out", f"{folder}/rows.jsonl"] if self.rows else []
        return [*command, "--threads", "1", "--no-report", *self.options]

    def run(self, inputs, split, lines=None, cwd=None):
        """Runs the program over files, or over `-` with these lines."""
        with tempfile.TemporaryDirectory(prefix="wrongturn-") as folder:
            with open(f"{folder}/errors", "w+b") as errors:
                running = subprocess.Popen(
                    self.command(inputs, split, folder),
                    stdin=subprocess.PIPE if lines is not None else subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    cwd=cwd,
                )
                try:
                    for line in lines or ():
                        running.stdin.write(line)
                    if lines is not None:
                        running.stdin.close()
                except BrokenPipeError:
                    pass
                status = running.wait()
                errors.seek(0)
                message = errors.read()[-2000:].decode(errors="replace")
            # 3: some inputs could not be read; the state lists them.
            if status not in (0, 3):
                raise Failed(status, message)
            state = Path(folder, "state.json").read_text()
            self.leave(split, state)
            yield "state", split, state.rstrip("\n")
            if self.rows:
                with open(f"{folder}/rows.jsonl") as rows:
                    for row in rows:
                        yield "run", split, row.rstrip("\n")

    def leave(self, split, state):
        """Keeps the state of this attempt with --keep-states, and kills the first attempt with --kill-once."""
        context = TaskContext.get()
        if self.keep_states:
            name = f"{hashlib.sha256(split.encode()).hexdigest()[:16]}-{context.taskAttemptId()}"
            part = Path(self.keep_states, f".{name}")
            part.write_text(state)
            part.rename(Path(self.keep_states, f"{name}.json"))
        if self.kill_once and context.partitionId() == 0 and context.attemptNumber() == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def run_files(self, files, cwd=None):
        """Runs the program over files. If it fails, names the file at fault."""
        split = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more, {digest(files)}"
        try:
            yield from list(self.run(files, split, cwd=cwd))
        except Failed as failed:
            for file in files if len(files) > 1 else ():
                try:
                    list(self.run([file], file, cwd=cwd))
                except Failed as alone:
                    raise RuntimeError(f"{file}: {alone}") from None
            raise RuntimeError(f"{', '.join(files)}: {failed}") from None

    def in_place(self, groups):
        """Reads files that every executor can open."""
        for files in groups:
            yield from self.run_files(files)

    def fetched(self, root):
        """Reads files whose content Spark delivers."""

        def run(pairs):
            with tempfile.TemporaryDirectory(prefix="wrongturn-") as folder:
                files = []
                for uri, content in pairs:
                    name = uri[len(root) :].lstrip("/") if uri.startswith(root) else uri.split(":", 1)[-1].lstrip("/")
                    target = Path(folder, name)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                    files.append(name)
                if files:
                    yield from self.run_files(sorted(files), cwd=folder)

        return run

    def records(self, batches):
        """Reads lines, one run each."""
        import pyarrow

        blocks = set()

        def lines():
            for batch in batches:
                values, files, starts = (column.to_pylist() for column in batch.columns)
                blocks.update(zip(files, starts))
                yield "".join(f"{value}\n" for value in values).encode()

        first = next(stream := lines(), None)
        if first is None:
            return
        # The program needs the name of the split at its start, and the name is known only after the last block.
        with tempfile.TemporaryFile(prefix="wrongturn-") as held:
            held.write(first)
            for part in stream:
                held.write(part)
            held.seek(0)
            names = [f"{file}:{start}" for file, start in sorted(blocks)]
            split = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more, {digest(names)}"
            try:
                found = list(self.run(["-"], split, lines=iter(lambda: held.read(1 << 20), b"")))
            except Failed as failed:
                raise RuntimeError(f"{', '.join(sorted({file for file, _ in blocks}))}: {failed}") from None
        kinds, splits, payloads = zip(*found)
        yield pyarrow.RecordBatch.from_arrays(
            [pyarrow.array(column) for column in (kinds, splits, payloads)], names=OUTPUT.names
        )


class Failed(Exception):
    def __init__(self, status, message):
        how = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
        super().__init__(f"{how}: {message.strip()}")


def digest(names):
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def merge(one, other):
    """Merges two states."""
    with tempfile.TemporaryDirectory(prefix="wrongturn-") as folder:
        Path(folder, "one.json").write_text(one)
        Path(folder, "other.json").write_text(other)
        command = [program("wrongturn"), "merge", "one.json", "other.json", "--partial", "both.json"]
        ended = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        if ended.returncode != 0:
            raise RuntimeError(f"merge: {ended.stderr.decode(errors='replace').strip()}")
        return Path(folder, "both.json").read_text()


# ---- On the driver -------------------------------------------------------------------------------------------------


def listing(spark, paths):
    """Returns the inputs below paths of any store as (URI, size), sorted."""
    jvm, conf = spark._jvm, spark._jsc.hadoopConfiguration()
    found = {}
    for path in paths:
        path = jvm.org.apache.hadoop.fs.Path(path)
        store = path.getFileSystem(conf)
        matches = store.globStatus(path)
        if not matches:
            sys.exit(f"error: {path}: no such path")
        for match in matches:
            files = store.listFiles(match.getPath(), True)
            while files.hasNext():
                status = files.next()
                uri = status.getPath().toString()
                if match.isFile() or uri.endswith(ENDINGS):
                    found[uri] = status.getLen()
    return sorted(found.items())


def units(files):
    """Groups files that belong together: the parts of a tau2 directory, the result of a trial and its run."""
    names = {uri for uri, _ in files}
    together = {}
    for uri, size in files:
        folder = uri.rsplit("/", 1)[0]
        above = folder.rsplit("/", 1)[0]
        if folder.endswith("/simulations") and f"{above}/results.json" in names:
            folder, uri_folder = above, above
        elif uri.endswith("/results.json") and any(name.startswith(f"{folder}/simulations/") for name in names):
            uri_folder = folder
        else:
            uri_folder = uri
        unit = together.setdefault(uri_folder, [0, []])
        unit[0] += size
        unit[1].append(uri)
    return list(together.values())


def groups(files, count):
    """Divides files into `count` groups of about equal size, always in the same way."""
    loads = [(0, number) for number in range(count)]
    members = [[] for _ in range(count)]
    for size, names in sorted(units(files), key=lambda unit: (-unit[0], unit[1])):
        load, number = heapq.heappop(loads)
        members[number] += names
        heapq.heappush(loads, (load + size, number))
    return [sorted(names) for names in members if names]


def local(uri):
    """Returns the path of a `file:` URI."""
    return "/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri


def fetch(spark, uri, target):
    """Copies a file from a store to this machine."""
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    path = spark._jvm.org.apache.hadoop.fs.Path(uri)
    store = path.getFileSystem(spark._jsc.hadoopConfiguration())
    store.copyToLocalFile(False, path, spark._jvm.org.apache.hadoop.fs.Path(str(target)), True)


def findings(output):
    """Returns one row per finding. Later versions may add columns."""
    record = F.from_json("payload", RECORD).alias("r")
    verdicts = output.where("kind = 'run'").select("split", record).select("split", "r.*", F.explode("r.verdicts"))
    one = verdicts.withColumnsRenamed({"key": "detector", "value": "verdict"}).withColumn(
        "finding", F.explode("verdict.findings")
    )
    return one.select(
        "split", "file", "position", "trace", "model", "domain", "reward", "detector", "finding.mode",
        F.col("finding.id").alias("finding"),
        F.col("finding")["where"][0].alias("first"),
        F.col("finding")["where"][1].alias("last"),
        "finding.message", "finding.evidence",
        F.col("finding.cost.steps").alias("steps"),
        F.col("finding.cost.duration_ns").alias("duration_ns"),
        F.col("finding.cost.input_tokens").alias("input_tokens"),
        F.col("finding.cost.output_tokens").alias("output_tokens"),
    )


def report(spark, state, binary, root, in_place, out):
    """Renders the merged state, for which the files of the worst runs are read again."""
    Path(out).mkdir(parents=True, exist_ok=True)
    out = Path(out).resolve()
    out.joinpath("state.json").write_text(state)
    with tempfile.TemporaryDirectory(prefix="wrongturn-") as folder:
        if not in_place:
            for name in {run["file"] for run in json.loads(state)["state"].get("worst", ())} - {"-"}:
                fetch(spark, f"{root}/{name}", Path(folder, name))
        command = [str(binary), "merge", str(out / "state.json"), "--html", str(out / "report.html")]
        command += ["--json", str(out / "summary.json"), "--csv", str(out / "csv")]
        ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        out.joinpath("report.txt").write_bytes(ended.stdout)
        return ended.returncode


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", help="files, directories or globs of any store that Hadoop can read")
    parser.add_argument("--kind", choices=["scan", "replication"], default="scan")
    parser.add_argument("--read", choices=["auto", "in-place", "fetched", "records"], default="auto",
                        help="in-place: executors open the files, on one machine or a shared disk; fetched: whole files through "
                        "Hadoop; records: lines through Hadoop, one run each; auto: in-place for file:, else fetched")
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--options", default="", help="further options of the program, in one argument")
    parser.add_argument("--bin", default="target/release/wrongturn", help="the program")
    parser.add_argument("--out", required=True, help="local directory for the merged state and the reports")
    parser.add_argument("--findings", help="write findings as Parquet to this path of any store (only scans)")
    parser.add_argument("--keep-states", help="keep the state of every attempt in this shared directory")
    parser.add_argument("--kill-once", action="store_true", help="kill the first attempt of the first task, to test retries")
    parser.add_argument("--master", help="default: from spark-submit, or local[2] with four attempts")
    return parser.parse_args()


def main():
    options = arguments()
    # On one machine, workers use the packages of the driver.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable if options.master is None else "python3")
    began = time.monotonic()
    builder = SparkSession.builder.appName("wrongturn")
    if options.master or "PYSPARK_GATEWAY_PORT" not in os.environ:
        builder = builder.master(options.master or "local[2,4]")
    spark = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    started = time.monotonic()
    context = spark.sparkContext
    context.addFile(str(Path(options.bin).resolve()))
    if options.keep_states:
        Path(options.keep_states).mkdir(parents=True, exist_ok=True)
    keep = options.keep_states and str(Path(options.keep_states).resolve())
    # Lines of runs are needed only for findings.
    rows = options.kind == "scan" and options.findings is not None
    task = Task(options.kind, shlex.split(options.options), rows, keep, options.kill_once)
    files = listing(spark, options.paths)
    names = [uri for uri, _ in files]
    root = os.path.commonpath([name.rsplit("/", 1)[0] for name in names]).replace(":/", "://", 1)
    root = root if names[0].startswith(root) else root.replace("://", ":/", 1)
    read = options.read
    if read == "auto":
        read = "in-place" if all(name.startswith("file:") for name in names) else "fetched"
    if read == "in-place":
        split = groups([(local(uri), size) for uri, size in files], options.partitions)
        rdd = context.parallelize(split, len(split)).mapPartitions(task.in_place)
        output = spark.createDataFrame(rdd, OUTPUT, verifySchema=False)
    elif read == "fetched":
        pairs = context.binaryFiles(",".join(names), options.partitions)
        pairs = pairs.coalesce(options.partitions) if pairs.getNumPartitions() > options.partitions else pairs
        output = spark.createDataFrame(pairs.mapPartitions(task.fetched(root)), OUTPUT, verifySchema=False)
    else:
        total = sum(size for _, size in files)
        spark.conf.set("spark.sql.files.maxPartitionBytes", max(total // options.partitions + 1, 1))
        spark.conf.set("spark.sql.files.openCostInBytes", 0)
        lines = spark.read.text(names).select("value", "_metadata.file_path", "_metadata.file_block_start")
        output = lines.mapInArrow(task.records, OUTPUT)
    # Computed once, for both states and findings.
    output.persist(StorageLevel.DISK_ONLY)
    states = output.where("kind = 'state'").select("payload").rdd.map(lambda row: row[0])
    state = states.treeReduce(merge, depth=2)
    merged = time.monotonic()
    if rows:
        findings(output).write.mode("overwrite").parquet(options.findings)
    wrote = time.monotonic()
    status = report(spark, state, Path(options.bin).resolve(), root, read == "in-place", options.out)
    ended = time.monotonic()
    print(
        f"{len(files)} files in {output.rdd.getNumPartitions()} partitions, {read}: start of Spark {started - began:.1f} s, "
        f"tasks and merge {merged - started:.1f} s, findings {wrote - merged:.1f} s, report {ended - wrote:.1f} s",
        file=sys.stderr,
    )
    spark.stop()
    return status


if __name__ == "__main__":
    sys.exit(main())
