"""Bare names and canonical ids, on names as the tools print them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profrx_parsers.names import kernel_id, short_name
from profrx_parsers.ncu._container import walk
from profrx_parsers.ncu._results import scan
from profrx_parsers.problems import ProblemLog
from profrx_parsers.source import open_source
from profrx_parsers.wire import decode_text


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("vecAdd(const float *, const float *, float *, int)", "vecAdd"),
        ("void window_sum<(int)9>(const float *, float *, unsigned long)", "window_sum"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(T3)", "reduce_kernel"),
        ("ns::(anonymous namespace)::bar<x>(y)", "bar"),
        (
            "void unnamed>::cunn_SoftMaxForwardReg<float, unnamed>::Epilogue, 4>(T3 *, T5)",
            "cunn_SoftMaxForwardReg",
        ),
        ("main::{lambda(int)#1}::operator()(int) const", "operator()"),
        ("void ns::T::operator()<int>(int)", "operator()"),
        ("volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn"),
        ("scale(float*, float) [clone .kd]", "scale"),
        ("_Z6vecAddPKfS0_Pfi.kd", "vecAdd"),
        ("_ZN2ns3fooIfEEvPf", "foo"),
        ("copy_blocked[v1,cw51cXT](Array<long long, 1, C, mutable, aligned>)", "copy_blocked"),
        ("void f<&g(int)>(int)", "f"),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", "Cijk_Ailk_Bljk_SB_MT64x64x16"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short


@pytest.mark.parametrize(
    "spellings",
    [
        ("void f<(int)4>(const float *)", "void f<4>(float const*)", "f<4>(float const*) [clone .kd]"),
        (
            "a::<unnamed>::k(int)",
            "a::(anonymous namespace)::k(int)",
            "a::(anonymous namespace)::k(int) [clone .kd]",
        ),
        ("void g<(bool)1, (unsigned long)2>(T *)", "void g<true, 2ul>(T*)"),
        ("h([lambda(int) (instance 1)])", "h({lambda(int)#1})"),
        ("void k<A<B<int> > >(int)", "void k<A<B<int>>>(int)"),
    ],
)
def test_ids_are_equal_over_spellings(spellings: tuple[str, ...]) -> None:
    assert len({kernel_id(one) for one in spellings}) == 1


def test_ids_keep_different_kernels_apart() -> None:
    names = [
        "f<4>(int)",
        "f<5>(int)",
        "g<4>(int)",
        "n::f<4>(int)",
        "f<4>(float)",
        "{lambda(int)#1}",
        "{lambda(int)#2}",
    ]
    assert len({kernel_id(one) for one in names}) == len(names)


@given(st.text(max_size=60))
def test_any_text_has_a_name(name: str) -> None:
    assert isinstance(short_name(name), str)
    assert isinstance(kernel_id(name), str)


@given(st.text(alphabet="ab<>(),:&* _[]{}'\"ZNL0123", max_size=80))
def test_unbalanced_names(name: str) -> None:
    short_name(name)
    assert kernel_id(kernel_id(name)) == kernel_id(kernel_id(kernel_id(name)))


def test_short_names_equal_the_function_names_stored_in_public_reports(corpus: Path) -> None:
    """Nsight Compute stores the bare name beside the demangled one."""
    compared = 0
    with (corpus / "manifest.csv").open(encoding="utf-8") as file:
        names = [row["local_name"] for row in csv.DictReader(file) if row["local_name"].endswith(".ncu-rep")]
    for name in names:
        data = open_source(corpus / "ncu" / name)[0].data()
        results, _ = scan(data, walk(data, ProblemLog(), name).items, ProblemLog())
        for result in results:
            full, bare = (decode_text(data, result.spans(part)[-1]) for part in ("demangled", "function"))
            if full:
                assert short_name(full) == bare
                compared += 1
    assert compared > 80
