#include "kernels/pixel_product/pixel_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/cast/bfloat16.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gemm/serial_gemm.h"
#include "kernels/pixel_product/pixel_product_gpu.h"
#include "kernels/pixel_product/stored_product.h"
#include "kernels/workspace/scratch.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// Below this, a thread more costs more than it saves.
constexpr double kSerialFlops = 1e6;
// Rows of a part of a matrix are a multiple of this, and of 16 bits at most so many, since a thread
// holds what it multiplies in a wide type.
constexpr int64_t kRows = 16, kMostHalfRows = 256;

template <typename T>
struct Rows {
  T* data;
  int64_t pitch;
};

// `rows` rows in the type that products are computed in, times `factor`: where they are if that
// changes nothing, or else in `memory`.
template <typename T>
Rows<const Wide<T>> Load(const T* from, int64_t rows, int64_t columns, int64_t pitch,
                         Wide<T> factor, Wide<T>* memory) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    if (factor == 1) return {from, pitch};
  }
  for (int64_t row = 0; row < rows; ++row) {
    Wide<T>* const to = memory + row * columns;
    if constexpr (std::is_same_v<T, Bfloat16>) {
      Widen(from + row * pitch, columns, to);
      for (int64_t i = 0; i < columns; ++i) to[i] *= factor;
    } else {
      for (int64_t i = 0; i < columns; ++i) to[i] = from[row * pitch + i] * factor;
    }
  }
  return {memory, columns};
}

// Each thread computes some rows of one matrix after the other.
class PixelProductCpu : public PixelProduct {
 public:
  explicit PixelProductCpu(const PixelProductSpec& spec) : spec_(spec), threads_(NumThreads()) {
    const int64_t of_x = spec.x.height * spec.x.width, of_y = spec.y.height * spec.y.width,
                  depth = spec.x.channels / spec.heads;
    DispatchFloating(WideOf(spec.dtype), [&]<typename T>(T) {
      const auto bytes = [&](int64_t m, int64_t n, int64_t k) {
        return std::max(SerialGemmScratchBytes<T>(m, n, k), SerialGemmScratchBytes<T>(n, m, k));
      };
      gemm_bytes_ =
          std::max({bytes(of_x, of_y, depth), bytes(of_x, depth, of_y), bytes(of_y, depth, of_x)});
      const bool rows_are_pixels = spec.format == TensorFormat::kNHWC;
      bool scores = true;  // the first of the three kinds
      for (auto [m, n, k] : {std::array{of_x, of_y, depth}, std::array{of_x, depth, of_y},
                             std::array{of_y, depth, of_x}}) {
        if (!rows_are_pixels) std::swap(m, n);
        const Copies copies = CopiesOf(m, n, k, /*factor_of_a=*/scores == rows_are_pixels);
        thread_bytes_ = std::max(thread_bytes_, Divide<T>(nullptr, copies).bytes);
        scores = false;
      }
    });
  }

  absl::Status Scores(const Tensor& x, const Tensor& y, const Tensor& s, bool accumulate,
                      Workspace workspace) override {
    return Run(PixelProductKind::kScores, {x, y, s}, accumulate, workspace);
  }
  absl::Status Weigh(const Tensor& s, const Tensor& y, const Tensor& x, bool accumulate,
                     Workspace workspace) override {
    return Run(PixelProductKind::kWeigh, {x, y, s}, accumulate, workspace);
  }
  absl::Status Gather(const Tensor& s, const Tensor& x, const Tensor& y, bool accumulate,
                      Workspace workspace) override {
    return Run(PixelProductKind::kGather, {x, y, s}, accumulate, workspace);
  }
  size_t workspace_bytes() const override { return size_t(threads_) * thread_bytes_; }

 private:
  // Elements of the matrices of a product that a thread copies.
  struct Copies {
    int64_t a, b, c;
  };
  Copies CopiesOf(int64_t m, int64_t n, int64_t k, bool factor_of_a) const {
    const int64_t rows = MostRows(m);
    if (IsHalf(spec_.dtype)) return {rows * k, k * n, rows * n};
    if (spec_.factor == 1) return {0, 0, 0};
    return factor_of_a ? Copies{rows * k, 0, 0} : Copies{0, k * n, 0};
  }
  int64_t MostRows(int64_t m) const { return IsHalf(spec_.dtype) ? std::min(m, kMostHalfRows) : m; }
  template <typename W>
  struct Memory {
    std::byte* gemm;
    W *a, *b, *c;  // copies of operands
    size_t bytes;
  };
  template <typename W>
  Memory<W> Divide(std::byte* block, const Copies& copies) const {
    ScratchDivider divider(block);
    Memory<W> memory;
    memory.gemm = divider.Take<std::byte>(int64_t(gemm_bytes_));
    memory.a = divider.Take<W>(copies.a);
    memory.b = divider.Take<W>(copies.b);
    memory.c = divider.Take<W>(copies.c);
    memory.bytes = divider.bytes();
    return memory;
  }

  absl::Status Run(PixelProductKind kind, const PixelMatrices& operands, bool accumulate,
                   Workspace workspace) {
    DTNN_RETURN_IF_ERROR(CheckPixelProduct(spec_, Device::Cpu(), operands));
    if (workspace.size() < workspace_bytes()) {
      return InvalidArgument(kPixelProduct, ": a workspace of ", workspace.size(),
                             " bytes, expected ", workspace_bytes());
    }
    DispatchCpuFloating(spec_.dtype, [&]<typename T>(T) {
      Multiply(StoredProduct<T>::Of(spec_, kind, operands, accumulate), workspace.data());
    });
    return absl::OkStatus();
  }

  template <typename T>
  void Multiply(const StoredProduct<T>& product, std::byte* workspace) const {
    using W = Wide<T>;
    const double flops = 2.0 * double(product.m) * double(product.n) * double(product.k);
    const int64_t matrices = product.samples * product.heads;
    // Matrices are divided where there are fewer than threads.
    const int64_t wanted = flops < kSerialFlops || matrices == 0
                               ? 1
                               : (std::min(threads_, NumThreads()) + matrices - 1) / matrices;
    const int64_t rows = std::min(RoundUp((product.m + wanted - 1) / wanted, kRows),
                                  RoundUp(MostRows(product.m), kRows)),
                  parts = (product.m + rows - 1) / rows;
    const auto grain = int64_t(std::clamp(kSerialFlops * double(parts) / flops, 1.0, 1e9));
    const Copies copies = CopiesOf(product.m, product.n, product.k, product.factor_of_a);
    ParallelForWithScratch(
        matrices * parts, grain, threads_, [&](int thread, int64_t begin, int64_t end) {
          const Memory<W> memory = Divide<W>(workspace + size_t(thread) * thread_bytes_, copies);
          for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i % parts * rows;
            MultiplyRows(product, i / parts, row, std::min(rows, product.m - row), memory);
          }
        });
  }

  template <typename T>
  void MultiplyRows(const StoredProduct<T>& product, int64_t matrix, int64_t row, int64_t rows,
                    const Memory<Wide<T>>& memory) const {
    using W = Wide<T>;
    const int64_t sample = matrix / product.heads, head = matrix % product.heads, n = product.n,
                  k = product.k;
    const bool ta = product.transpose_a, tb = product.transpose_b;
    const W factor = W(product.factor);
    const Rows<const W> a =
        Load<T>(product.a.Begin(sample, head) + row * (ta ? 1 : product.a.pitch), ta ? k : rows,
                ta ? rows : k, product.a.pitch, product.factor_of_a ? factor : 1, memory.a);
    const Rows<const W> b = Load<T>(product.b.Begin(sample, head), tb ? n : k, tb ? k : n,
                                    product.b.pitch, product.factor_of_a ? 1 : factor, memory.b);
    T* const to = product.c.Begin(sample, head) + row * product.c.pitch;
    const std::span<std::byte> scratch = {memory.gemm, gemm_bytes_};
    if constexpr (std::is_same_v<T, W>) {
      SerialGemm(ta, tb, rows, n, k, a.data, a.pitch, b.data, b.pitch, product.accumulate, to,
                 product.c.pitch, scratch);
    } else {
      if (product.accumulate) Load<T>(to, rows, n, product.c.pitch, 1, memory.c);
      SerialGemm(ta, tb, rows, n, k, a.data, a.pitch, b.data, b.pitch, product.accumulate, memory.c,
                 n, scratch);
      for (int64_t r = 0; r < rows; ++r) Round(memory.c + r * n, n, to + r * product.c.pitch);
    }
  }

  const PixelProductSpec spec_;
  const int threads_;
  size_t gemm_bytes_ = 0, thread_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PixelProduct>> CreatePixelProduct(DeviceContext& context,
                                                                 const PixelProductSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating(kPixelProduct, context.device(), spec.dtype));
  for (const ImageExtents& image : {spec.x, spec.y}) {
    if (image.height < 1 || image.width < 1 || image.channels != spec.x.channels ||
        spec.heads < 1 || image.channels < 1 || image.channels % spec.heads != 0) {
      return InvalidArgument(kPixelProduct, ": images of ", ToString(spec.x), " and ",
                             ToString(spec.y), ", expected the same channels, which ", spec.heads,
                             " heads divide evenly");
    }
  }
  if (!std::isfinite(spec.factor)) {
    return InvalidArgument(kPixelProduct, ": factor ", spec.factor, ", expected a finite number");
  }
  if (context.device().is_cpu()) return std::make_unique<PixelProductCpu>(spec);
  return CreatePixelProductGpu(context, spec);
}

}  // namespace dtnn
