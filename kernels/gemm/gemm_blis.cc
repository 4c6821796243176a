// Variant "blis": calls of BLIS on parts of C, the epilogue as a second pass over each part. Any
// spec on a CPU.
//
// BLIS's own threads wait for each other in busy loops, many times per product, and stand still
// when another program takes a core; parts that do not depend on each other do not. Which of BLIS's
// kernels runs depends on the size of a call, so the parts do not depend on the number of threads.

#include <algorithm>

#include "kernels/elementwise/operands.h"
#include "kernels/gemm/blis_gemm.h"
#include "kernels/gemm/blis_setup.h"
#include "kernels/gemm/column_sums.h"
#include "kernels/gemm/gemm_variants.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

template <typename T>
void Apply(const SerialEpilogue<T>& epilogue, int64_t rows, int64_t columns, T* c, int64_t ldc) {
  for (int64_t i = 0; i < rows; ++i, c += ldc) {
    for (int64_t j = 0; j < columns; ++j) {
      T value = c[j];
      if (epilogue.scale != nullptr) value *= epilogue.scale[j];
      if (epilogue.bias != nullptr) value += epilogue.bias[j];
      if (epilogue.addend != nullptr) value += epilogue.addend[i * epilogue.addend_ld + j];
      c[j] = epilogue.relu && value < 0 ? T(0) : value;
    }
  }
}

// About eight parts along the longer side, none thinner than 64.
int64_t PartOf(int64_t size) { return RoundUp(std::max<int64_t>(64, size / 8), 32); }

class BlisGemmVariant : public Gemm {
 public:
  BlisGemmVariant(Device device, const GemmSpec& spec) : device_(device), spec_(spec) {}

  absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                   const EpilogueOperands& operands, Workspace) override {
    GemmSizes sizes;
    DTNN_RETURN_IF_ERROR(CheckGemmCall(spec_, device_, a, b, c, operands, &sizes));
    DispatchFloating(spec_.dtype, [&]<typename T>(T) {
      const bool by_rows = sizes.m >= sizes.n;
      const int64_t longer = std::max(sizes.m, sizes.n), part = PartOf(longer);
      ParallelFor(0, longer, part, [&](int64_t begin, int64_t end) {
        for (; begin < end; begin += part) {
          const int64_t size = std::min(part, end - begin);
          if (by_rows) {
            MultiplyPart<T>(begin, size, 0, sizes.n, sizes.k, a, b, c, operands);
          } else {
            MultiplyPart<T>(0, sizes.m, begin, size, sizes.k, a, b, c, operands);
          }
        }
      });
    });
    return absl::OkStatus();
  }
  std::string_view variant() const override { return "blis"; }

 private:
  template <typename T>
  void MultiplyPart(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t k,
                    const Tensor& a, const Tensor& b, const Tensor& c,
                    const EpilogueOperands& operands) const {
    const int64_t lda = a.RowPitch(), ldb = b.RowPitch(), ldc = c.RowPitch();
    T* to = c.data<T>() + row * ldc + column;
    BlisSerialGemm(spec_.transpose_a, spec_.transpose_b, rows, columns, k,
                   a.data<T>() + row * (spec_.transpose_a ? 1 : lda), lda,
                   b.data<T>() + column * (spec_.transpose_b ? ldb : 1), ldb, spec_.accumulate, to,
                   ldc);
    if (spec_.epilogue == Epilogue()) return;
    Apply(PointersOf<T>(spec_.epilogue, operands).At(row, column), rows, columns, to, ldc);
  }

  const Device device_;
  const GemmSpec spec_;
};

absl::StatusOr<std::unique_ptr<Gemm>> CreateBlisGemm(DeviceContext& context, const GemmSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckCpu("blis", context, spec));
  DTNN_RETURN_IF_ERROR(CheckFloating("gemm variant blis", spec.dtype));
  InitBlis();
  return WithColumnSums(context, spec, std::make_unique<BlisGemmVariant>(context.device(), spec));
}

const LinkedGemmVariant blis({"blis", CreateBlisGemm});

}  // namespace
}  // namespace dtnn
