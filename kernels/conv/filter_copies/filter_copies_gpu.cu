#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/conv/filter_copies/filter_copies_gpu.h"
#include "kernels/conv/gpu/transposition.h"
#include "kernels/gpu/runner.h"
#include "kernels/operands/operand.h"
#include "kernels/transfers/transfers.h"
#include "tensor/status_macros.h"

namespace dtnn {

// The work of a block: a tile that it transposes, or, with no rows, elements that stay in order.
struct CopyPiece {
  int64_t from, to;  // elements of the arenas
  int64_t rows, columns;
  int64_t from_row, to_column;
};
constexpr int64_t kPieceNumbers = sizeof(CopyPiece) / sizeof(int64_t);

std::vector<CopyPiece> PiecesOf(int64_t size, std::span<const FilterPlace> filters) {
  constexpr int64_t kSide = conv::TransposedTile::kSide, kInOrder = kSide * kSide;
  std::vector<CopyPiece> pieces;
  int64_t done = 0;
  const auto keep_order = [&](int64_t end) {
    for (; done < end; done += kInOrder) {
      pieces.push_back({done, done, 0, std::min(kInOrder, end - done), 0, 0});
    }
    done = end;
  };
  for (const FilterPlace& filter : filters) {
    keep_order(filter.offset);
    const auto shape =
        conv::Transposition::OfReversal(filter.channels, filter.taps, filter.filters);
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t row = 0; row < shape.rows; row += kSide) {
        for (int64_t column = 0; column < shape.columns; column += kSide) {
          pieces.push_back({done + b * shape.from_batch + row * shape.from_row + column,
                            done + b * shape.to_batch + column * shape.to_column + row,
                            std::min(kSide, shape.rows - row),
                            std::min(kSide, shape.columns - column), shape.from_row,
                            shape.to_column});
        }
      }
    }
    done += shape.size();
  }
  keep_order(size);
  return pieces;
}

template <typename To>
struct FilterCopiesKernel {
  static constexpr uint32_t kThreads = conv::TransposedTile::kThreads;
  static constexpr gpu::Cooperation kCooperation = gpu::Cooperation::kBlock;

  int64_t count, size;
  const CopyPiece* pieces;
  const float* from;
  To* to;

  void Declare(gpu::Accesses& accesses) {
    accesses.Reads(pieces, count);
    accesses.Reads(from, size);
    accesses.Writes(to, size);
  }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    const CopyPiece piece = pieces[thread.block_index().x];
    const float* const x = from + piece.from;
    To* const y = to + piece.to;
    if (piece.rows > 0) {
      conv::TransposedTile::Run(thread, int(piece.rows), int(piece.columns), x, piece.from_row, y,
                                piece.to_column, /*accumulate=*/false);
    } else {
      KeepOrder(int(thread.thread_index().x), int(piece.columns), x, y);
    }
  }
  // Several are read before the first is written, which the compiler may not decide: it does not
  // know that x and y are different memory.
  DTNN_HOST_DEVICE static void KeepOrder(int first, int end, const float* x, To* y) {
    constexpr int kAtOnce = 8, kStep = int(kThreads);
    for (int i = first; i < end; i += kAtOnce * kStep) {
      float values[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k) {
        if (i + k * kStep < end) values[k] = x[i + k * kStep];
      }
      for (int k = 0; k < kAtOnce; ++k) {
        if (i + k * kStep < end) y[i + k * kStep] = To(values[k]);
      }
    }
  }
};

class FilterCopiesGpu : public Cast {
 public:
  FilterCopiesGpu(const GpuRunner& runner, DType to, int64_t size, Tensor pieces)
      : runner_(runner), to_(to), size_(size), pieces_(std::move(pieces)) {}

  absl::Status Run(const Tensor& x, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckOperand("copies of filters", "x", x, runner_.device(),
                                      DType::kFloat32, Shape{size_}, Pitch::kNone));
    DTNN_RETURN_IF_ERROR(CheckOperand("copies of filters", "y", y, runner_.device(), to_,
                                      Shape{size_}, Pitch::kNone));
    return to_ == DType::kFloat16 ? Launch<Float16>(x, y) : Launch<Bfloat16>(x, y);
  }

 private:
  template <typename To>
  absl::Status Launch(const Tensor& x, const Tensor& y) const {
    const int64_t count = pieces_.shape()[0];
    return runner_.context().stream().Launch(gpu::KernelOf(
        "copies of the parameters", {uint32_t(count)}, {conv::TransposedTile::kThreads},
        conv::TransposedTile::kBytes<To>,
        FilterCopiesKernel<To>{count, size_, reinterpret_cast<const CopyPiece*>(pieces_.raw_data()),
                               x.data<float>(), y.data<To>()}));
  }

  GpuRunner runner_;
  DType to_;
  int64_t size_;
  Tensor pieces_;  // (pieces, kPieceNumbers) of int64
};

absl::StatusOr<std::unique_ptr<Cast>> CreateFilterCopiesGpu(DeviceContext& context, DType to,
                                                            int64_t size,
                                                            std::span<const FilterPlace> filters) {
  const std::vector<CopyPiece> pieces = PiecesOf(size, filters);
  DTNN_ASSIGN_OR_RETURN(
      const Tensor host,
      Tensor::Allocate(Device::Cpu(), DType::kInt64, Shape{int64_t(pieces.size()), kPieceNumbers}));
  std::memcpy(host.raw_data(), pieces.data(), pieces.size() * sizeof(CopyPiece));
  DTNN_ASSIGN_OR_RETURN(Tensor device, ToDevice(context, host));
  return std::make_unique<FilterCopiesGpu>(GpuRunner(context), to, size, std::move(device));
}

}  // namespace dtnn
