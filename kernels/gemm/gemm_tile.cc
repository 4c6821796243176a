// Variant "tile": SerialGemm on a grid of parts of C, one per thread.

#include <algorithm>

#include "kernels/gemm/column_sums.h"
#include "kernels/gemm/gemm_grid.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/gemm/serial_gemm.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// Below this, starting threads costs more than it saves.
constexpr double kSerialFlops = 1e6;

class TileGemm : public Gemm {
 public:
  TileGemm(Device device, const GemmSpec& spec)
      : device_(device), spec_(spec), threads_(NumThreads()) {
    DispatchFloating(spec.dtype, [&]<typename T>(T) {
      thread_bytes_ = SerialGemmScratchBytes<T>(spec.m, spec.n, spec.k);
    });
  }

  absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                   const EpilogueOperands& operands, Workspace workspace) override {
    GemmSizes sizes;
    DTNN_RETURN_IF_ERROR(CheckGemmCall(spec_, device_, a, b, c, operands, &sizes));
    if (workspace.size() < workspace_bytes()) {
      return InvalidArgument("gemm ", spec_.ToString(), ": a workspace of ", workspace.size(),
                             " bytes, expected ", workspace_bytes());
    }
    DispatchFloating(spec_.dtype,
                     [&]<typename T>(T) { Multiply<T>(sizes, a, b, c, operands, workspace); });
    return absl::OkStatus();
  }
  size_t workspace_bytes() const override { return size_t(threads_) * thread_bytes_; }
  std::string_view variant() const override { return "tile"; }

 private:
  template <typename T>
  void Multiply(const GemmSizes& sizes, const Tensor& a, const Tensor& b, const Tensor& c,
                const EpilogueOperands& operands, Workspace workspace) const {
    const double flops = 2.0 * double(sizes.m) * double(sizes.n) * double(sizes.k);
    const int64_t threads = flops < kSerialFlops ? 1 : std::min(threads_, NumThreads());
    const GemmGrid grid = ChooseGemmGrid(sizes.m, sizes.n, threads);
    ParallelFor(0, grid.row_parts * grid.column_parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t row = part / grid.column_parts * grid.rows;
        const int64_t column = part % grid.column_parts * grid.columns;
        MultiplyPart<T>(row, std::min(grid.rows, sizes.m - row), column,
                        std::min(grid.columns, sizes.n - column), sizes.k, a, b, c, operands,
                        workspace.subspan(size_t(part) * thread_bytes_, thread_bytes_));
      }
    });
  }

  template <typename T>
  void MultiplyPart(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t k,
                    const Tensor& a, const Tensor& b, const Tensor& c,
                    const EpilogueOperands& operands, Workspace scratch) const {
    const int64_t lda = a.RowPitch(), ldb = b.RowPitch(), ldc = c.RowPitch();
    const T* from_a = a.data<T>() + row * (spec_.transpose_a ? 1 : lda);
    const T* from_b = b.data<T>() + column * (spec_.transpose_b ? ldb : 1);
    T* to = c.data<T>() + row * ldc + column;
    if (spec_.epilogue == Epilogue()) {
      SerialGemm(spec_.transpose_a, spec_.transpose_b, rows, columns, k, from_a, lda, from_b, ldb,
                 spec_.accumulate, to, ldc, scratch);
    } else {
      SerialGemm(spec_.transpose_a, spec_.transpose_b, rows, columns, k, from_a, lda, from_b, ldb,
                 spec_.accumulate, to, ldc, scratch,
                 PointersOf<T>(spec_.epilogue, operands).At(row, column));
    }
  }

  const Device device_;
  const GemmSpec spec_;
  const int threads_;
  size_t thread_bytes_ = 0;  // of the scratch of one part: there are no more parts than threads
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gemm>> CreateTileGemm(DeviceContext& context, const GemmSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckCpu("tile", context, spec));
  return WithColumnSums(context, spec, std::make_unique<TileGemm>(context.device(), spec));
}

}  // namespace dtnn
