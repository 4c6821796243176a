// Runs a test on every instruction set that our kernels are compiled for and this CPU has.

#ifndef DTNN_KERNELS_ELEMENTWISE_SIMD_TARGETS_H_
#define DTNN_KERNELS_ELEMENTWISE_SIMD_TARGETS_H_

#include <cstdint>

#include "gtest/gtest.h"
#include "hwy/highway.h"

namespace dtnn::testing {

template <typename F>
void ForEachSimdTarget(F&& f) {
  const int64_t supported = hwy::SupportedTargets();
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
    if (target != HWY_SCALAR && (supported & target) == 0) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::GetChosenTarget().Update(target);
    f();
  }
  hwy::GetChosenTarget().Update(supported);
}

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_ELEMENTWISE_SIMD_TARGETS_H_
