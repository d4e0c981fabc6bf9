"""kgrade db: backups and checks of a database that is in use, damaged, or not there."""

import os
import sqlite3
import subprocess
import tempfile
import threading

from common import KGRADE, TIMEOUT_S, Case, main, run

PAGE = 4096


class Database(Case):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kgrade-test-")
        self.addCleanup(self.folder.cleanup)
        self.path = self.at("grades.db")
        self.copy = self.at("copy.db")

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def connect(self, path=None):
        db = sqlite3.connect(path or self.path, timeout=60, isolation_level=None)
        self.addCleanup(db.close)
        return db

    def fill(self, rows=500):
        """As kgraded has it: WAL, in use, the newest rows not in the file itself."""
        db = self.connect()
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL) STRICT")
        db.execute("CREATE INDEX t_b ON t (b)")
        db.execute("BEGIN")
        db.executemany("INSERT INTO t (b) VALUES (?)", [(f"row {i}" * 20,) for i in range(rows)])
        db.execute("COMMIT")
        return db

    def overwrite(self, offset, data, path=None):
        with open(path or self.path, "r+b") as f:
            f.seek(offset)
            f.write(data)

    def assert_only(self, *names):
        self.assertEqual(sorted(os.listdir(self.folder.name)), sorted(names))


class Backup(Database):
    def test_of_a_database_in_use(self):
        db = self.fill()
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO t (b) VALUES ('not committed')")
        result = self.run_ok("db", "backup", self.path, self.copy)
        self.assertIn(self.copy, result.stdout)
        db.execute("COMMIT")
        self.assert_only("grades.db", "grades.db-wal", "grades.db-shm", "copy.db")
        self.assertEqual(os.stat(self.copy).st_mode & 0o777, 0o600)
        # One file is all there is to it.
        copy = self.connect(self.copy)
        self.assertEqual(copy.execute("SELECT count(*) FROM t").fetchone(), (500,))
        self.assertEqual(copy.execute("PRAGMA journal_mode").fetchone(), ("delete",))
        self.run_ok("db", "check", self.copy)

    def test_of_one_moment_while_it_is_written(self):
        db = self.fill(0)
        stop = threading.Event()

        def write():
            other = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            i = 0
            while not stop.is_set():
                i += 1
                other.execute("BEGIN IMMEDIATE")
                other.executemany("INSERT INTO t (b) VALUES (?)", [(f"{i}",)] * 10)
                other.execute("COMMIT")
            other.close()

        writer = threading.Thread(target=write)
        writer.start()
        seen = set()
        try:
            for i in range(5):
                path = self.at(f"copy{i}.db")
                self.run_ok("db", "backup", self.path, path)
                groups = self.connect(path).execute("SELECT count(*) FROM t GROUP BY b").fetchall()
                self.assertEqual(set(groups) - {(10,)}, set())
                seen.add(len(groups))
        finally:
            stop.set()
            writer.join()
        # It did go on meanwhile.
        self.assertGreaterEqual(db.execute("SELECT count(*) FROM t").fetchone()[0], 10 * max(seen))
        self.assertGreater(len(seen), 1)

    def test_after_a_crash(self):
        """The newest rows are in the write-ahead log alone, and nobody has the database open."""
        script = (
            "import sqlite3, os, sys\n"
            "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
            "db.execute('PRAGMA journal_mode = WAL')\n"
            "db.execute('CREATE TABLE t (a INTEGER)')\n"
            "db.execute('INSERT INTO t VALUES (7)')\n"
            "os.kill(os.getpid(), 9)\n"
        )
        subprocess.run(["python3", "-c", script, self.path], check=False)
        self.assertTrue(os.path.getsize(self.path + "-wal"))
        self.run_ok("db", "check", self.path)
        self.run_ok("db", "backup", self.path, self.copy)
        self.assertEqual(self.connect(self.copy).execute("SELECT a FROM t").fetchone(), (7,))

    def test_json(self):
        self.fill()
        report = self.run_json("db", "backup", self.path, self.copy, "--json")
        size = os.path.getsize(self.copy)
        self.assertEqual(report, {"database": self.path, "backup": self.copy, "bytes": size})

    def test_nothing_is_overwritten(self):
        self.fill()
        for make in (lambda: open(self.copy, "w").close(), lambda: os.symlink("none", self.copy)):
            make()
            result = run("db", "backup", self.path, self.copy)
            self.assert_exit(result, 2)
            self.assertIn("file_exists", result.stderr)
            self.assert_only("grades.db", "grades.db-wal", "grades.db-shm", "copy.db")
            os.unlink(self.copy)

    def test_no_such_database(self):
        result = run("db", "backup", self.path, self.copy)
        self.assert_exit(result, 2)
        self.assertIn("file_unreadable", result.stderr)
        self.assert_only()
        self.assert_exit(run("db", "backup", self.folder.name, self.copy), 2)

    def test_no_such_folder(self):
        self.fill()
        result = run("db", "backup", self.path, self.at("none/copy.db"))
        self.assert_exit(result, 3)
        self.assertIn("backup_failed", result.stderr)

    def test_of_a_damaged_database(self):
        self.fill().close()
        self.overwrite(3 * PAGE, b"\x5a" * PAGE)
        result = run("db", "backup", self.path, self.copy)
        self.assert_exit(result, 1)
        self.assertIn("store_damaged", result.stderr)
        self.assertIn("latest backup", result.stderr)
        self.assertFalse(os.path.exists(self.copy))
        self.assertFalse([n for n in os.listdir(self.folder.name) if "partial" in n])

    def test_no_room(self):
        self.fill(20000).close()
        limit = f"ulimit -f 64; trap '' XFSZ; exec {KGRADE} db backup {self.path} {self.copy}"
        result = subprocess.run(["sh", "-c", limit], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assert_exit(result, 3)
        self.assertIn("backup_failed", result.stderr)
        self.assertFalse([n for n in os.listdir(self.folder.name) if n.startswith("copy")])


class Check(Database):
    def test_sound(self):
        db = self.fill()
        self.assertIn("sound", self.run_ok("db", "check", self.path).stdout)
        report = self.run_json("db", "check", self.path, "--json")
        self.assertEqual(report["ok"], True)
        self.assertEqual(report["problems"], [])
        self.assertEqual(report["database"], self.path)
        db.execute("INSERT INTO t (b) VALUES ('still in use')")

    def contents(self):
        with open(self.path, "rb") as f:
            return f.read()

    def assert_damaged(self):
        before = self.contents()
        result = run("db", "check", self.path)
        self.assert_exit(result, 1)
        self.assertIn("store_damaged", result.stderr)
        self.assertEqual(self.contents(), before)
        return result

    def test_damaged(self):
        self.fill().close()
        self.overwrite(3 * PAGE, b"\x5a" * PAGE)
        self.assertTrue(self.assert_damaged().stdout)
        report = self.run_json("db", "check", self.path, "--json", status=1)
        self.assertEqual(report["ok"], False)
        self.assertTrue(report["problems"])

    def test_an_index_that_lacks_a_row(self):
        self.fill(10).close()
        db = self.connect()
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_schema WHERE name = 't_b'")
        db.execute("INSERT INTO t (b) VALUES ('not in the index')")
        db.execute("PRAGMA writable_schema = RESET")
        db.close()
        self.assert_damaged()

    def test_cut_short(self):
        self.fill().close()
        os.truncate(self.path, 5 * PAGE)
        self.assert_damaged()

    def test_not_a_database(self):
        for content in (b"", b"not a database, but long enough to have a header of one" * 100):
            with open(self.path, "wb") as f:
                f.write(content)
            self.assert_damaged()

    def test_not_there(self):
        self.assert_exit(run("db", "check", self.path), 2)
        self.assert_only()

    def test_json_says_nothing_when_it_cannot_look(self):
        result = run("db", "check", self.path, "--json")
        self.assert_exit(result, 2)
        self.assertEqual(result.stdout, "")

    def test_locked(self):
        """Something has the database to itself: said after a while, and not called damage."""
        db = self.connect()
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("CREATE TABLE t (a INTEGER)")
        db.execute("BEGIN EXCLUSIVE")
        result = run("db", "check", self.path)
        self.assert_exit(result, 3)
        self.assertIn("locked", result.stderr)


if __name__ == "__main__":
    main()
