"""The table of kernel classes: built in, and a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from made import kernel, report

from profrx.timeline import timeline_metrics
from profrx.timeline.classes import classify, library
from profrx_parsers.errors import UsageError


@pytest.mark.parametrize(
    ("name", "kind", "library"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "communication", "nccl"),
        ("flash_fwd_splitkv_kernel<cutlass::bfloat16_t>", "attention", "attention"),
        ("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NTT", "matmul", "cublas"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_SE", "matmul", "cublas"),
        ("at::native::vectorized_elementwise_kernel<4,AddFunctor>", "elementwise", "framework"),
        ("triton_poi_fused_add_gelu_3", "fused-elementwise", "triton"),
        ("my_stencil", "other", "own"),
    ],
)
def test_known_kernels(name: str, kind: str, library: str) -> None:
    assert classify([name]) == [(kind, library)]


def test_own_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("pattern,class,library\n^my_,matmul,mine\n")
    kernels = timeline_metrics(report(launches=[kernel(0, 10, name="my_stencil")]), classes=path)[
        "kernel"
    ].to_pylist()
    assert (kernels[0]["class"], kernels[0]["library"]) == ("matmul", "mine")


@pytest.mark.parametrize("text", ["name\nx\n", "pattern,class,library\n(,a,b\n"])
def test_a_broken_table_is_a_usage_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        classify(["k"], path)
    assert caught.value.code == "kernel-classes"


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>", "PyTorch"),
        ("volta_sgemm_32x128_nn", "cuBLAS or CUTLASS"),
        ("void cub::CUB_200_NS::DeviceRadixSortOnesweepKernel<cub::Policy, unsigned int>", "CUB or Thrust"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "NCCL"),
        ("void my_scan<cub::Sum, at::native::Functor>(float *)", None),
        ("triton_poi_fused_add_gelu_3", None),
        ("my_gemm", None),
        ("", None),
        (None, None),
    ],
)
def test_whose_kernel_it_is(name: str | None, owner: str | None) -> None:
    assert library([name]) == [owner]
