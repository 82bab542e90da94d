# SPDX-License-Identifier: MIT
"""The arithmetic of bench.py and of instructions.py, on made-up samples."""
import os
import tempfile
import types
import unittest

import bench
import cells
import figures
import instructions
import measure
import peers
import tables


def samples(*rates):
    return [{"round": number, "rate": rate}
            for number, rate in enumerate(rates)]


def rig_of(rounds):
    return types.SimpleNamespace(rounds=rounds, samples=[], peers=None)


class Tables(unittest.TestCase):
    def test_median_of_odd_and_even(self):
        self.assertEqual(tables.median([9, 1, 5]), 5)
        self.assertEqual(tables.median([4, 1, 9, 2]), 3)
        with self.assertRaises(ValueError):
            tables.median([])

    def test_spread_is_median_and_both_ends(self):
        self.assertEqual(tables.spread([3.0, 1.0, 2.0]), (2.0, 1.0, 3.0))

    def test_ratios_are_of_one_round(self):
        """Twice as fast in each round, while the machine halves its speed."""
        self.assertEqual(
            tables.ratios(samples(200, 100, 50), samples(100, 50, 25)),
            [2, 2, 2])

    def test_ratio_of_a_round_that_one_misses(self):
        theirs = samples(100, 50, 25)
        del theirs[1]
        self.assertEqual(tables.ratios(samples(200, 1, 75), theirs), [2, 3])

    def test_two_samples_of_a_round_are_a_mistake(self):
        with self.assertRaises(AssertionError):
            tables.ratios(samples(1) + samples(2), samples(1))

    def test_ratio_text(self):
        self.assertEqual(tables.ratio_text([2, 1, 4]), "2.00 (1.00-4.00)")
        self.assertEqual(tables.ratio_text([1.5]), "1.50")
        self.assertEqual(tables.ratio_text([]), "-")

    def test_sizes_there_and_back(self):
        for text in ("512", "1536", "4k", "64k", "1m", "3g"):
            self.assertEqual(tables.size_text(tables.size_of(text)), text)

    def test_markdown(self):
        self.assertEqual(tables.markdown(("a", "b"), [(1, "x|y")]),
                         "| a | b |\n|---|---|\n| 1 | x/y |\n")

    def test_part_is_replaced_between_its_markers(self):
        old = "head\n<!-- begin x -->\nold\n<!-- end x -->\ntail\n"
        new = "head\n<!-- begin x -->\nnew\n<!-- end x -->\ntail\n"
        self.assertEqual(tables.replace_part(old, "x", "new\n"), new)
        self.assertEqual(tables.replace_part(new, "x", "new"), new)

    def test_part_without_a_marker_changes_no_file(self):
        text = "<!-- begin x -->\n<!-- end x -->\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            with self.assertRaises(tables.NoMarker):
                tables.write_parts(path, {"x": "new", "y": "new"})
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), text)

    def test_page_has_all_markers(self):
        with open(os.path.join(bench.DOCS, "PERFORMANCE.md"),
                  encoding="utf-8") as file:
            text = file.read()
        for name in ("machine", "instructions") + bench.PARTS:
            tables.replace_part(text, name, "")


class Cells(unittest.TestCase):
    def test_default_choice_is_part_of_all(self):
        every, few = set(cells.every_cell()), cells.default_cells()
        self.assertEqual(len(every), 4 * 6 * 4 * 4 * 2)
        self.assertEqual(len(set(few)), len(few))
        self.assertLess(set(few), every)

    def test_filters(self):
        chosen = cells.parse_filters(["block=4k,64k", "depth=32"])
        self.assertEqual(chosen, {"block": {4096, 65536}, "depth": {32}})
        for bad in ("block", "blocks=none", "depth=x", "sync=flush",
                    "target=disk", "block=4q"):
            with self.assertRaises(cells.BadFilter, msg=bad):
                cells.parse_filters([bad])

    def test_pick_goes_beyond_the_default_choice_only_if_it_must(self):
        def pick(*words, full=False):
            return cells.pick(cells.parse_filters(words), full)
        self.assertEqual(
            pick("target=tmpfs", "block=64k"),
            [cells.usual("tmpfs", block=65536)])
        odd = pick("target=nbd", "block=128k", "depth=8", "sync=fua",
                   "streams=2")
        self.assertEqual(odd, [cells.Cell("nbd", 131072, 8, "fua", 2)])
        self.assertEqual(len(pick("target=nbd", full=True)), 192)
        self.assertEqual(pick("depth=7"), [])


class Rounds(unittest.TestCase):
    def test_order_turns_with_each_round(self):
        said = []

        def runs(name):
            return lambda: said.append(name) or {"rate": 1}
        found, _ = measure.side_by_side(
            rig_of(3), {name: runs(name) for name in "abc"}, part="x")
        self.assertEqual("".join(said), "abccbaabc")
        self.assertEqual([sample["round"] for sample in found["b"]],
                         [0, 1, 2])

    def test_no_peer_is_told_and_asked_once(self):
        asked = []

        def never():
            asked.append(1)
            raise peers.NoPeer("why")
        found, without = measure.side_by_side(
            rig_of(2), {"a": lambda: {"rate": 1}, "b": never})
        self.assertEqual((without, len(asked)), ({"b": "why"}, 1))
        self.assertEqual((len(found["a"]), found["b"]), (2, []))


class Peers(unittest.TestCase):
    def test_processor_time_of_a_write(self):
        self.assertEqual(peers.per_write_us(0.5, 1000000), 0.5)
        self.assertEqual(peers.per_write_us(-0.01, 10), 0)
        self.assertIsNone(peers.per_write_us(1, 0))

    def test_fio_sample(self):
        job = {"write": {"total_ios": 64000, "runtime": 500},
               "usr_cpu": 10.0, "sys_cpu": 30.0, "job_runtime": 1000}
        self.assertEqual(peers.fio_sample(job, "flush:32"), {
            "rate": 128000, "writes": 64000, "flushes": 2000,
            "cpu_us": 6.25})
        self.assertEqual(peers.fio_sample(job, "none")["flushes"], 0)
        job["write"]["total_ios"] = 0
        with self.assertRaises(peers.Trouble):
            peers.fio_sample(job, "none")

    def test_dd_rate(self):
        self.assertEqual(peers.dd_rate(
            "2+0 records out\n2000000 bytes (2.0 MB, 1.9 MiB) copied, "
            "0.5 s, 4.0 MB/s\n"), 4e6)
        with self.assertRaises(peers.Trouble):
            peers.dd_rate("2+0 records out")


class Figures(unittest.TestCase):
    def met(self, goal, values, at_least=True):
        return figures.Figure("w", goal, "x", values, at_least).row()[-1]

    def test_met_by_the_median(self):
        self.assertEqual(self.met(1.2, [1.0, 1.2, 9.0]), "yes")
        self.assertEqual(self.met(1.2, [1.3, 1.19, 1.0]), "**no**")
        self.assertEqual(self.met(64, [63.9], False), "yes")
        self.assertEqual(self.met(64, [64.1], False), "**no**")
        self.assertEqual(self.met(None, [1.0]), "-")
        self.assertEqual(self.met(1.2, []), "not measured")


class Instructions(unittest.TestCase):
    def test_within_five_percent_both_ways(self):
        recorded = {"a": 100.0, "b": 100.0, "c": 100.0, "d": 100.0}
        lines, wrong = instructions.compare(
            {"a": 104.9, "b": 105.1, "c": 95.1, "d": 94.9}, recorded)
        self.assertEqual(wrong, ["b", "d"])
        self.assertTrue(lines[0].startswith("ok"))
        self.assertIn("+5.10 %", lines[1])
        self.assertIn("--record", lines[3])

    def test_a_case_on_one_side_only_fails(self):
        _, wrong = instructions.compare({"a": 1.0}, {"b": 1.0})
        self.assertEqual(wrong, ["a", "b"])

    def test_list_there_and_back(self):
        builds = {"gcc-1": {"writer:4k:32:none": 1.5}, "x": {"b": 2.0}}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "list")
            instructions.write_list(path, builds)
            self.assertEqual(instructions.read_list(path), builds)
            with open(path, "a", encoding="utf-8") as file:
                file.write("two words\n")
            with self.assertRaises(instructions.Trouble):
                instructions.read_list(path)

    def test_only_threads_of_streams_count(self):
        text = "fn=(1) stream_main\n"
        self.assertEqual(instructions.of_streams(
            [(1000, ""), (5, text), (7, text)]), 12)
        with self.assertRaises(instructions.Trouble):
            instructions.of_streams([(1000, "fn=(1) main\n")])

    def test_record_has_every_case(self):
        cases = {"writer:%s:%d:%s" % case[:3]
                 for case in instructions.WRITER_CASES}
        cases |= {"verifier:" + block
                  for block in instructions.VERIFIER_CASES}
        for build, found in instructions.read_list(
                instructions.LIST).items():
            self.assertEqual(set(found), cases, build)


def main():
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromModule(__import__(__name__))
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun else 1
