"""CSV files of all generations: headers, damage, times, pivoting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx_parsers import open_report
from profrx_parsers.columns import EXTRA
from profrx_parsers.errors import InputError
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Wanted
from profrx_parsers.rocm import headers
from profrx_parsers.rocm.csvread import convert, open_csv, read_csv
from profrx_parsers.rocm.dispatches import read_dispatches
from profrx_parsers.rocm.names import clean
from profrx_parsers.rocm.sysinfo import parse_date
from profrx_parsers.rocm.times import split_time


def codes(log: ProblemLog) -> dict[str, int]:
    return {p.code: p.count for p in log}


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        (
            "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,vgpr,sgpr,fbar,sig,obj",
            "dispatches",
        ),
        (
            "Kind,Agent_Id,Queue_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp",
            "dispatches",
        ),
        (
            "Guid,Kind,Agent_Id,Dispatch_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Lds_Block_Size",
            "dispatches",
        ),
        ("Correlation_Id,Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value", "counters"),
        ("Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp", "api"),
        (
            "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp",
            "copies",
        ),
        ("Name,Calls,TotalDurationNs,AverageNs,Percentage", "stats"),
        (
            "Sample_Timestamp,Exec_Mask,Dispatch_Id,Instruction,Instruction_Comment,Correlation_Id",
            "pc-samples",
        ),
        ("CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source", "att"),
        ("Dispatch_ID,Kernel_Name", "dispatches"),
        ("ID,Process ID,Kernel Name,Metric Name,Metric Unit,Metric Value", None),
        ("a,b,c", None),
    ],
)
def test_a_header_says_what_the_table_is(header: str, kind: str | None) -> None:
    assert headers.kind_of(header.split(",")) == kind


def test_join_leftovers_are_told_from_counters_that_end_in_a_number() -> None:
    header = ["obj", "obj_18", "Kernel_ID", "Kernel_ID_7", "SQC_DCACHE_REQ", "SQC_DCACHE_REQ_READ_16", "SQ_WAVES",
              "SQ_WAVES_LT_64", "SQ_WAVES_13", "TCC_HIT[12]"]  # fmt: skip
    assert headers.leftovers(header) == {"obj_18", "Kernel_ID_7", "SQ_WAVES_13"}


def test_accumulators_are_named_after_the_level_counter_of_their_pass() -> None:
    header = ["Kernel_ID", "SQ_LEVEL_WAVES", "SQ_ACCUM_PREV_HIRES", "Kernel_ID_1", "SQ_ACCUM_PREV_HIRES_7",
              "SQ_INST_LEVEL_LDS", "TCC_EA0_RDREQ_LEVEL_sum", "Kernel_ID_2", "SQ_IFETCH_LEVEL", "SQ_LEVEL_WAVES_2",
              "SQ_ACCUM_PREV_HIRES_8"]  # fmt: skip
    named = headers.accumulators(header)
    assert named["SQ_ACCUM_PREV_HIRES"] == "SQ_LEVEL_WAVES_ACCUM"
    assert named["SQ_ACCUM_PREV_HIRES_7"] == "SQ_INST_LEVEL_LDS_ACCUM"
    assert "SQ_ACCUM_PREV_HIRES_8" not in named, "two level counters in one pass: it could be either"


def test_suffixes_of_one_kernel_are_the_same_kernel() -> None:
    spellings = ["f(int)", "f(int) [clone .kd]", "f(int) (.kd)", "f(int).kd", '"f(int).kd"']
    assert clean(pa.array(spellings)).to_pylist() == ["f(int)"] * 5


def test_times_keep_every_nanosecond_and_lose_damaged_ones() -> None:
    words = pa.array(["41551790928449.54", "1071040913789950", "1.62068E+14", "", "-5", "x"])
    whole, fraction, damaged = split_time(words)
    assert whole.to_pylist() == [41551790928449, 1071040913789950, None, None, None, None]
    assert fraction[0] == pytest.approx(0.54)
    assert damaged == 1


def test_a_header_with_more_columns_than_the_rows_is_refused_loudly(fixtures: Path) -> None:
    """An early rocprofv2 release wrote a header of 21 columns over rows of 19."""
    report = open_report(fixtures / "rocm" / "v2" / "ragged.csv")
    assert len(report.table("launches")) == 0
    found = {p.code: p.count for p in report.problems}
    assert found["csv-ragged-rows"] == 2
    assert "rocm-no-dispatches" in found


def test_bad_cells_are_missing_not_zero() -> None:
    log = ProblemLog()
    got = convert(pa.array(["1", "2.5e3", "N/A", "", "abc", " 7 "]), pa.float64(), log, "x")
    assert got.to_pylist() == [1.0, 2500.0, None, None, None, 7.0]
    assert codes(log) == {"csv-bad-number": 1}


def test_one_bad_counter_cell_costs_one_value() -> None:
    log = ProblemLog()
    text = b"Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp,SQ_WAVES\n0,f,10,20,8\n1,f,30,40,oops\n"
    rows = read_dispatches(open_csv(text, "x.csv"), log)
    assert rows.counters["SQ_WAVES"].to_pylist() == [8.0, None]
    assert rows.facts["duration"].to_pylist() == [10.0, 10.0]
    assert codes(log) == {"csv-bad-number": 1}


def test_byte_order_mark_crlf_quotes_and_missing_last_newline() -> None:
    text = b'\xef\xbb\xbf"Dispatch_ID","Kernel_Name","SQ_WAVES"\r\n"0","f<a, b>(int)","8"\r\n"1","g","9"'
    rows = read_dispatches(open_csv(text, "x.csv"), ProblemLog())
    assert rows.facts["kernel"].to_pylist() == ["f<a, b>(int)", "g"]
    assert rows.counters["SQ_WAVES"].to_pylist() == [8.0, 9.0]


def test_spans_that_end_before_they_start_have_no_duration() -> None:
    log = ProblemLog()
    text = b"Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp\n0,f,10,10\n1,f,30,20\n2,f,30,41\n"
    rows = read_dispatches(open_csv(text, "x.csv"), log)
    assert rows.facts["duration"].to_pylist() == [None, None, 11.0]
    assert codes(log) == {"rocm-no-duration": 2}


def test_no_text_at_all_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        open_csv(b"\n\n", "x.csv")
    assert caught.value.code == "input-damaged-header"


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_make_the_reader_fail(body: bytes) -> None:
    text = b"Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp,SQ_WAVES,TCC_HIT[0]\n" + body
    rows = read_dispatches(open_csv(text, "x.csv"), ProblemLog())
    assert all(len(c) == rows.rows for c in [*rows.facts.values(), *rows.counters.values()])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(["A", "B", "C"]), st.integers(0, 10**9)),
        min_size=1,
        max_size=40,
    )
)
def test_pivoting_keeps_every_first_value(cells: list[tuple[int, str, int]]) -> None:
    lines = [f"{d},k,{name},{value}" for d, name, value in cells]
    text = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\n" + "\n".join(lines)
    rows = read_dispatches(open_csv(text.encode(), "x.csv"), ProblemLog())
    expected: dict[tuple[int, str], int] = {}
    for d, name, value in cells:
        expected.setdefault((d, name), value)
    order = list(dict.fromkeys(d for d, _, _ in cells))
    assert rows.facts["dispatch"].to_pylist() == order
    for name in {n for _, n, _ in cells}:
        assert rows.counters[name].to_pylist() == [expected.get((d, name)) for d in order]


def test_only_wanted_counters_are_decoded(fixtures: Path) -> None:
    folder = fixtures / "rocm" / "compute-wide"
    report = open_report(folder, Wanted(metrics=frozenset({"TCC_HIT_sum"})))
    counters = {
        n for n in report.extras[EXTRA].numbers if not n.startswith(("agent.", "launch.", "roofline."))
    }
    assert counters == {"TCC_HIT_sum", "TCC_HIT_avr", "TCC_HIT_min", "TCC_HIT_max"}


def test_columns_of_equal_names_are_read_once() -> None:
    table = read_csv(open_csv(b"a,a\n1,2\n", "x"), ProblemLog(), lambda name: pa.float64())
    assert table.to_pydict() == {"a": [1.0]}


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Tue Dec  2 10:04:36 2025 (UTC)", "2025-12-02T10:04:36+00:00"),
        ("Mon 30 Sep 2024 10:44:38 PM  (UTC)", "2024-09-30T22:44:38+00:00"),
        ("Thu 21 Mar 2024 04:16:46 PM  (CDT)", None),
        ("Wed Sep 28 20:40:30 2022 ()", None),
        ("Thu Jul 99 21:33:20 2025 (UTC)", None),
        ("Thu Jul 21:33:20 (UTC)", None),
        (None, None),
    ],
)
def test_capture_dates(text: str | None, iso: str | None) -> None:
    assert parse_date(text) == iso


def test_nan_is_no_number_of_waves() -> None:
    got = convert(pa.array(["nan", "-nan", "inf"]), pa.float64(), ProblemLog(), "x")
    assert not np.isfinite(np.array(got.to_pylist(), dtype=float)).any()
    assert got.null_count == 3


def test_tables_exported_from_rocpd_spell_their_columns_differently(tmp_path: Path) -> None:
    """`rocpd2csv`: a Guid first, other capitals, a duration; agents by type index."""
    (tmp_path / "out_kernel_trace.csv").write_text(
        '"Guid","Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
        '"Correlation_Id","Start_Timestamp","End_Timestamp","Duration","Lds_Block_Size","Scratch_Size","Vgpr_Count",'
        '"Accum_Vgpr_Count","Sgpr_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X",'
        '"Grid_Size_Y","Grid_Size_Z"\n'
        '"a-b","KERNEL_DISPATCH","GPU 1",1,2,3,1,7,"f(int)",9,100,160,60,512,16,24,8,32,64,2,1,6400,4,1\n'
    )
    (tmp_path / "out_agent_info.csv").write_text(
        '"Node_Id","Logical_Node_Id","Agent_Type","Num_Xcc","Cu_Count","Wave_Front_Size","Name"\n'
        '0,0,"CPU",1,64,0,"A CPU"\n4,1,"GPU",1,104,64,"gfx90a"\n'
    )
    report = open_report(tmp_path)
    row = report.table("launches").to_pylist()[0]
    assert (row["duration_ns"], row["registers_per_thread"], row["shared_static_bytes"]) == (60, 32, 512)
    assert (row["grid_x"], row["grid_y"], row["block_x"], row["local_bytes_per_thread"]) == (100, 2, 64, 16)
    assert report.table("devices").column("arch").to_pylist() == ["gfx90a"]
    assert report.extras[EXTRA].numbers["launch.work_items"].to_pylist() == [25600]
