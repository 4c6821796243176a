// Variant "tile": SerialGemm on a grid of parts of C, one per thread. Operands of bfloat16 are
// copied into float32 for it.

#include <algorithm>
#include <type_traits>

#include "kernels/cast/bfloat16.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gemm/column_sums.h"
#include "kernels/gemm/gemm_grid.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/gemm/serial_gemm.h"
#include "kernels/workspace/scratch.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// Below this, starting threads costs more than it saves.
constexpr double kSerialFlops = 1e6;

// Rows `pitch` elements apart.
template <typename T>
struct Matrix {
  T* data;
  int64_t pitch;
};
template <typename T>
Matrix<T> MatrixOf(const Tensor& tensor) {
  return {tensor.data<std::remove_const_t<T>>(), tensor.RowPitch()};
}

template <typename T>
struct Product {
  Matrix<const T> a, b;
  Matrix<T> c;
  SerialEpilogue<T> epilogue;
};

// Calls copy(row) for all rows of a matrix, in parallel.
template <class Copy>
void ForEachRow(const Shape& shape, const Copy& copy) {
  const int64_t grain = 1 + kCopyGrain / std::max<int64_t>(1, shape[1]);
  ParallelFor(0, shape[0], grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) copy(row);
  });
}
// A dense copy of a matrix of bfloat16.
Matrix<float> Widened(const Tensor& from, float* memory) {
  const int64_t columns = from.shape()[1], pitch = from.RowPitch();
  ForEachRow(from.shape(), [&](int64_t row) {
    Widen(from.data<Bfloat16>() + row * pitch, columns, memory + row * columns);
  });
  return {memory, columns};
}

class TileGemm : public Gemm {
 public:
  TileGemm(Device device, const GemmSpec& spec)
      : device_(device), spec_(spec), threads_(NumThreads()) {
    DispatchFloating(WideOf(spec.dtype), [&]<typename T>(T) {
      thread_bytes_ = SerialGemmScratchBytes<T>(spec.m, spec.n, spec.k);
    });
  }

  absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                   const EpilogueOperands& operands, Workspace workspace) override {
    GemmSizes sizes;
    DTNN_RETURN_IF_ERROR(CheckGemmCall(spec_, device_, a, b, c, operands, &sizes));
    DTNN_RETURN_IF_ERROR(CheckGemmWorkspace(spec_, workspace, workspace_bytes()));
    if (IsHalf(spec_.dtype)) {
      MultiplyWidened(sizes, a, b, c, operands, workspace);
      return absl::OkStatus();
    }
    DispatchFloating(spec_.dtype, [&]<typename T>(T) {
      Multiply<T>(sizes,
                  {MatrixOf<const T>(a), MatrixOf<const T>(b), MatrixOf<T>(c),
                   PointersOf<T>(spec_.epilogue, operands)},
                  workspace.data());
    });
    return absl::OkStatus();
  }
  size_t workspace_bytes() const override { return Divide(nullptr).bytes; }
  std::string_view variant() const override { return "tile"; }

 private:
  struct Memory {
    std::byte* threads;
    float *a, *b, *c, *addend;  // copies of operands of 16 bits
    size_t bytes;
  };
  Memory Divide(std::byte* workspace) const {
    const bool copies = IsHalf(spec_.dtype), copies_c = copies && !spec_.wide_result;
    const auto size = [](bool copied, int64_t rows, int64_t columns) {
      return copied ? rows * columns : 0;
    };
    ScratchDivider divider(workspace);
    Memory memory;
    memory.threads = divider.Take<std::byte>(int64_t(threads_) * int64_t(thread_bytes_));
    memory.a = divider.Take<float>(size(copies, spec_.m, spec_.k));
    memory.b = divider.Take<float>(size(copies, spec_.k, spec_.n));
    memory.c = divider.Take<float>(size(copies_c, spec_.m, spec_.n));
    memory.addend = divider.Take<float>(size(copies_c && spec_.epilogue.add, spec_.m, spec_.n));
    memory.bytes = divider.bytes();
    return memory;
  }

  // In float32 within copies, rounded once.
  void MultiplyWidened(const GemmSizes& sizes, const Tensor& a, const Tensor& b, const Tensor& c,
                       const EpilogueOperands& operands, Workspace workspace) const {
    const Memory memory = Divide(workspace.data());
    const Matrix<float> wide_a = Widened(a, memory.a), wide_b = Widened(b, memory.b);
    Product<float> product = {{wide_a.data, wide_a.pitch}, {wide_b.data, wide_b.pitch}, {}, {}};
    const Epilogue& epilogue = spec_.epilogue;
    product.epilogue.scale = epilogue.scale ? operands.scale.data<float>() : nullptr;
    product.epilogue.bias = epilogue.bias ? operands.bias.data<float>() : nullptr;
    product.epilogue.relu = epilogue.relu;
    if (spec_.wide_result) {
      product.c = MatrixOf<float>(c);
      if (epilogue.add) {
        const Matrix<const float> addend = MatrixOf<const float>(operands.addend);
        product.epilogue.addend = addend.data, product.epilogue.addend_ld = addend.pitch;
      }
      return Multiply<float>(sizes, product, memory.threads);
    }
    if (epilogue.add) {
      const Matrix<float> addend = Widened(operands.addend, memory.addend);
      product.epilogue.addend = addend.data, product.epilogue.addend_ld = addend.pitch;
    }
    product.c = spec_.accumulate ? Widened(c, memory.c) : Matrix<float>{memory.c, sizes.n};
    Multiply<float>(sizes, product, memory.threads);
    ForEachRow(c.shape(), [&](int64_t row) {
      Round(memory.c + row * sizes.n, sizes.n, c.data<Bfloat16>() + row * c.RowPitch());
    });
  }

  template <typename T>
  void Multiply(const GemmSizes& sizes, const Product<T>& product, std::byte* scratch) const {
    const double flops = 2.0 * double(sizes.m) * double(sizes.n) * double(sizes.k);
    const int64_t threads = flops < kSerialFlops ? 1 : std::min(threads_, NumThreads());
    const GemmGrid grid = ChooseGemmGrid(sizes.m, sizes.n, threads);
    ParallelFor(0, grid.row_parts * grid.column_parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t row = part / grid.column_parts * grid.rows;
        const int64_t column = part % grid.column_parts * grid.columns;
        MultiplyPart<T>(row, std::min(grid.rows, sizes.m - row), column,
                        std::min(grid.columns, sizes.n - column), sizes.k, product,
                        {scratch + size_t(part) * thread_bytes_, thread_bytes_});
      }
    });
  }

  template <typename T>
  void MultiplyPart(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t k,
                    const Product<T>& product, Workspace scratch) const {
    const auto& [a, b, c, epilogue] = product;
    const T* from_a = a.data + row * (spec_.transpose_a ? 1 : a.pitch);
    const T* from_b = b.data + column * (spec_.transpose_b ? b.pitch : 1);
    T* to = c.data + row * c.pitch + column;
    if (spec_.epilogue == Epilogue()) {
      SerialGemm(spec_.transpose_a, spec_.transpose_b, rows, columns, k, from_a, a.pitch, from_b,
                 b.pitch, spec_.accumulate, to, c.pitch, scratch);
    } else {
      SerialGemm(spec_.transpose_a, spec_.transpose_b, rows, columns, k, from_a, a.pitch, from_b,
                 b.pitch, spec_.accumulate, to, c.pitch, scratch, epilogue.At(row, column));
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
